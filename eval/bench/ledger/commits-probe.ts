/** A process with one store and one file of bare commits. */
import { serveProbe } from '../probe.ts'
import { measureCommits } from './commits.ts'

serveProbe(measureCommits)
