/** A process that is nothing but a pool at work, so that its size is the pool's. */
import { serveProbe } from '../probe.ts'
import { measureSoak } from './soak.ts'

serveProbe(measureSoak)
