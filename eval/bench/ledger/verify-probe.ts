/** A process that verifies one log, so that its size is that of the verifier and of the making of lines. */
import { serveProbe } from '../probe.ts'
import { measureVerify } from './verify.ts'

serveProbe(measureVerify)
