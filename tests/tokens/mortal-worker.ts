/** The real worker, which ends at once when its task says `exit`: it listens first, because it is imported first. */
import './exit-on-demand.ts'
import '../../runtime/tokens/worker.ts'
