/** A process in which one cost is measured. */
import { serveProbe } from '../probe.ts'
import { measureCosts } from './cost.ts'

serveProbe(measureCosts)
