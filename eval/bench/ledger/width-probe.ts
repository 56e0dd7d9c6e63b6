/** A process with one store and trees of two widths in it. */
import { serveProbe } from '../probe.ts'
import { measureWidth } from './width.ts'

serveProbe(measureWidth)
