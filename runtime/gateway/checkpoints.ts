/**
 * Checkpoints as a gateway keeps them: at its start the store is compared with the last one outside, and from then on a
 * new one is signed whenever something has changed. Each is outside and durable before the gateway's stream speaks of
 * it, so a store is never ahead of the file: one that is has lost its file, and one that is behind was rolled back.
 */
import {
  type Checkpoint,
  checkpointOf,
  openCheckpoint,
  signCheckpoint,
} from '../audit/checkpoint.ts'
import type { CheckpointFile } from '../audit/checkpoint-file.ts'
import type { GatewaySigner } from '../audit/signer.ts'
import { Fault } from '../core/errors.ts'
import { eventHash } from '../core/events.ts'
import { sha256 } from '../core/ids.ts'
import type { Ledger, Note } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { Head, StreamId } from '../core/records.ts'
import { type Clock, nowSeconds, type Seconds } from '../core/time.ts'
import { type Act, lastAct, noteAct } from './acts.ts'

const ACT = 'checkpoint'

const NOT_OURS =
  'the last checkpoint outside the store is not one that this gateway signed: expected its own file, or none'

export interface CheckpointDeps {
  readonly ledger: Ledger
  readonly signer: GatewaySigner
  readonly clock: Clock
  readonly file: CheckpointFile
  /** The operator knows that the store is an older one; an event says so. */
  readonly acceptRollback?: boolean
}

export interface Checkpoints {
  /** Signs and keeps a checkpoint, unless nothing has changed since the last; one call at a time. Throws Fault. */
  write(): Promise<void>
}

/**
 * Compares the store with the last checkpoint outside. Throws Fault `ledger_corrupt`, naming the stream, where the store
 * is an older one and nobody accepts that, and always where the file is not this gateway's; `clock_untrusted` where the
 * clock stands before it; `store_unavailable` where the file cannot be written.
 */
export async function openCheckpoints(deps: CheckpointDeps): Promise<Checkpoints> {
  const { ledger, file, signer } = deps
  if (file.last === undefined) return new Writer(deps, undefined, await lastAct(ledger, ACT))
  const jws = await file.last()
  const last = jws === undefined ? undefined : openCheckpoint(jws, signer)
  if (jws !== undefined && last === undefined) throw corrupt(NOT_OURS)
  const recorded = await lastAct(ledger, ACT)
  const older = lostFile(last, recorded) ?? (last && (await rolledBack(ledger, last)))
  if (older !== undefined && !deps.acceptRollback) {
    const hint = 'if it was put back on purpose, start once with --accept-rollback'
    throw corrupt(`${older.why}; ${hint}`)
  }
  const clockBehind = last === undefined ? undefined : clockBefore(last, nowSeconds(deps.clock))
  if (clockBehind !== undefined && !deps.acceptRollback) {
    throw new Fault('clock_untrusted', `${clockBehind.why}; ${CLOCK_HINT}`, { retryable: false })
  }
  await file.make()
  const writer = new Writer(deps, last, recorded)
  const accepted = older ?? clockBehind
  if (accepted === undefined) return writer
  const data = { act: 'accept_rollback', checkpoint: writer.number, ...accepted.note }
  await noteAct(ledger, data, nowSeconds(deps.clock))
  // The next start has this one to compare with.
  await writer.write()
  return writer
}

interface Older {
  readonly why: string
  readonly note: Note['data']
}

const CLOCK_HINT = 'set it, or if it was ahead then, start once with --accept-rollback'

/** What had expired by the last checkpoint would be good again. */
function clockBefore({ number, iat }: Checkpoint, now: Seconds): Older | undefined {
  if (now >= iat - LIMITS.clockStepMs / 1000) return undefined
  const why = `the clock stands ${iat - now} seconds before checkpoint ${number} was signed`
  return { why, note: { clock: now, signed: iat } }
}

/** The store speaks of a checkpoint that the file does not have. */
function lostFile(last: Checkpoint | undefined, recorded: Act | undefined): Older | undefined {
  const number = numberOf(recorded)
  if (number <= (last?.number ?? 0)) return undefined
  const has = last === undefined ? 'none' : `${last.number} as its last`
  return {
    why: `the log has a checkpoint ${number} and the file of checkpoints has ${has}`,
    note: { missing: number },
  }
}

/** The first stream that does not have what the checkpoint saw in it. */
async function rolledBack(ledger: Ledger, last: Checkpoint): Promise<Older | undefined> {
  const heads: readonly (Head & { stream: StreamId })[] = [
    { stream: 'gateway', ...last.gateway },
    ...last.heads,
  ]
  for (const { stream, seq, hash } of heads) {
    const [event] = await ledger.events(stream, seq - 1, 1)
    if (event?.hash === hash && eventHash(event.body) === hash) continue
    const found = event === undefined ? 'ends before it' : 'has another event there'
    const why = `checkpoint ${last.number} saw event ${seq} of stream ${stream}, and the store ${found}`
    return { why, note: { stream, seq } }
  }
  return undefined
}

const numberOf = (act: Act | undefined): number => {
  const number = act?.data.number
  return typeof number === 'number' ? number : 0
}

const corrupt = (why: string): Fault => new Fault('ledger_corrupt', why, { retryable: false })

const stateOf = ({ gateway, open, root }: Checkpoint, seq = gateway.seq): string =>
  [seq, open, root].join(' ')

/** What a next checkpoint would be of if nothing but this one's own event came after it. */
const stateAfter = (of: Checkpoint, ownSeq: number | undefined): string | undefined =>
  ownSeq === of.gateway.seq + 1 ? stateOf(of, ownSeq) : undefined

class Writer implements Checkpoints {
  /** Of the last one that anybody knows of. */
  number: number
  readonly #deps: CheckpointDeps
  /** What stands in the log if nothing but the last checkpoint's own event has been written since. */
  #unchanged: string | undefined

  constructor(deps: CheckpointDeps, last: Checkpoint | undefined, recorded: Act | undefined) {
    this.#deps = deps
    this.number = Math.max(last?.number ?? 0, numberOf(recorded))
    if (last !== undefined && numberOf(recorded) === last.number) {
      this.#unchanged = stateAfter(last, recorded?.seq)
    }
  }

  async write(): Promise<void> {
    const { ledger, signer, clock, file } = this.#deps
    // Where each instance appends to a log of its own, another may have taken the next number.
    if (file.last === undefined) this.number = numberOf(await lastAct(ledger, ACT))
    const number = this.number + 1
    const streams = await ledger.heads('unsealed')
    const at = { number, gateway: signer.gateway, now: nowSeconds(clock) }
    const claims = checkpointOf(streams, at)
    if (claims === undefined || stateOf(claims) === this.#unchanged) return
    const jws = signCheckpoint(claims, signer)
    await file.append(jws)
    // It is out there: the number is taken, whatever becomes of the event.
    this.number = number
    const { root, open } = claims
    const act = { act: ACT, number, root, open, jws: sha256(jws) }
    const { seq } = await noteAct(ledger, act, nowSeconds(clock))
    this.#unchanged = stateAfter(claims, seq)
  }
}
