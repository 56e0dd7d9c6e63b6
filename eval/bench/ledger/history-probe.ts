/** A process that fills two stores with a past, bit by bit, and then pays in both. */
import { serveProbe } from '../probe.ts'
import { carryOutHistory } from './history.ts'

serveProbe(carryOutHistory)
