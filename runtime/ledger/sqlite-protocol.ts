/** What passes between the embedded store's own thread and everybody else: plain data only. */
import { type CorruptRun, Fault, type FaultCode } from '../core/errors.ts'
import type { OrganisationId, RunId } from '../core/ids.ts'
import type { CommandName, Commands } from '../core/ledger.ts'
import type { ReadArgs, ReadName } from './reads.ts'

export interface WorkerOptions {
  readonly path: string
  readonly organisation: OrganisationId
  readonly lockMs: number
  readonly maxPages?: number
}

export type Request =
  | { [K in CommandName]: { kind: 'execute'; name: K; input: Commands[K]['input'] } }[CommandName]
  | { [K in ReadName]: { kind: 'read'; name: K; args: ReadArgs<K> } }[ReadName]
  | { kind: 'ping' }
  | { kind: 'close' }

export type Numbered = Request & { readonly id: number }

export type Failure =
  | {
      readonly fault: FaultCode
      readonly message: string
      readonly retryable: boolean
      readonly corrupt?: CorruptRun
    }
  | { readonly bug: string }

export type Outcome = { readonly value: unknown } | { readonly failure: Failure }

export interface Reply {
  readonly answers: readonly { readonly id: number; readonly outcome: Outcome }[]
  /** Runs whose feeds grew in what was just committed, with their last positions. */
  readonly grown: readonly (readonly [RunId, number])[]
}

/** The first message of a worker. */
export type Hello = { readonly ready: true } | { readonly failure: Failure }

export function failureOf(error: unknown): Failure {
  if (error instanceof Fault) {
    const { code, message, retryable, corrupt } = error
    return { fault: code, message, retryable, ...(corrupt === undefined ? {} : { corrupt }) }
  }
  return { bug: error instanceof Error ? (error.stack ?? error.message) : 'not an Error' }
}

export function errorOf(failure: Failure): Error {
  if ('bug' in failure) return new Error(`the ledger's worker failed: ${failure.bug}`)
  const { fault, message, ...options } = failure
  return new Fault(fault, message, options)
}
