/** A process that holds the pool of which the throughput is measured. */
import { serveProbe } from '../probe.ts'
import { measureThroughput } from './throughput.ts'

serveProbe(measureThroughput)
