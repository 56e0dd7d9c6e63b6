/** A process with a stand-in for Firestore and a ledger over it. */
import { serveProbe } from '../probe.ts'
import { measureRoots } from './roots.ts'

serveProbe(measureRoots)
