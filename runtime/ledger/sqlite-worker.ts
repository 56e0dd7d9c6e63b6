/** The embedded store's own thread, so that a disk that takes its time stops nobody else. */
import { parentPort, workerData } from 'node:worker_threads'
import { Fault } from '../core/errors.ts'
import type { WorkerOptions } from './sqlite-protocol.ts'
import { serve } from './sqlite-serve.ts'

if (parentPort === null) throw new Fault('internal', 'expected to run as a worker')
serve(parentPort, workerData as WorkerOptions)
