/**
 * The token engine: the only door to the Biscuit library, which lives in worker threads and nowhere else. Every call
 * ends by its deadline with an answer or a Fault; no token can stop the service; no token or key is kept or logged.
 */
import type { TokenEngine } from '../core/engine.ts'
import { Fault, Rejected } from '../core/errors.ts'
import type { Clock } from '../core/time.ts'
import { createKnownHolders } from './known-holders.ts'
import type { Outcome, Task } from './messages.ts'
import { type AnyRootKeys, seedOf, setupOf } from './root-keys.ts'
import { POOL_LIMITS, type PoolLimits, type PoolStats, WorkerPool } from './worker-pool.ts'

/** Two, so that a token that hangs one worker leaves the other. */
const DEFAULT_WORKERS = 2

export interface TokenEngineOptions {
  /** Published ones verify and mint no root: that is then a Fault (`engine_failed`). */
  readonly rootKeys: AnyRootKeys
  readonly workers?: number
  readonly clock: Clock
  readonly limits?: Partial<PoolLimits>
  /** Another worker that speaks `messages.ts`: how tests make one that hangs or breaks. */
  readonly workerUrl?: URL
}

export interface TokenPool extends TokenEngine {
  stats(): PoolStats
}

/** The outcomes that are errors, thrown as what they are; the others are the caller's. */
function unwrap(outcome: Outcome): Exclude<Outcome, { kind: 'rejected' | 'fault' | 'broken' }> {
  switch (outcome.kind) {
    case 'rejected':
      throw new Rejected(outcome.code, outcome.message, outcome.claim)
    case 'fault':
      throw new Fault(outcome.code, outcome.message)
    case 'broken':
      throw new Fault('engine_failed', 'the token library broke')
    default:
      return outcome
  }
}

const mismatch = () => new Fault('engine_failed', 'the token worker answered another question')

/**
 * Starts the engine; resolves when every worker has verified and authorised a token of its own. Minting throws
 * Rejected for claims or parents that cannot be; all three calls throw Fault (`engine_timeout`, `engine_busy`,
 * `engine_failed`). Throws Fault `config_invalid` for keys that are not Ed25519 or ids given twice.
 */
export async function createTokenEngine(options: TokenEngineOptions): Promise<TokenPool> {
  const { rootKeys, clock, workers, limits, workerUrl } = options
  const known = createKnownHolders()
  const pool = new WorkerPool({
    size: workers ?? DEFAULT_WORKERS,
    url: workerUrl ?? new URL('./worker.ts', import.meta.url),
    setup: setupOf(rootKeys),
    limits: { ...POOL_LIMITS, ...limits },
    clock,
    isKnown: known.has,
  })
  await pool.start()
  const mint = async (task: Exclude<Task, { kind: 'verify' }>) => {
    const outcome = unwrap(await pool.run(task))
    if (outcome.kind !== 'minted') throw mismatch()
    known.add(task.claims.holder)
    return outcome.minted
  }
  return {
    async verify(token, request, holder) {
      const asked = { ...(request && { request }), ...(holder !== undefined && { holder }) }
      const task = { kind: 'verify', token, ...asked } as const
      const outcome = unwrap(await pool.run(task))
      if (outcome.kind !== 'verdict') throw mismatch()
      return outcome.verdict
    },
    recognise: known.add,
    mintRoot: (claims) => mint({ kind: 'mint_root', claims }),
    async mintChild(token, parentHolder, claims) {
      return mint({ kind: 'mint_child', token, holderSeed: seedOf(parentHolder), claims })
    },
    close: () => pool.close(),
    stats: () => pool.stats(),
  }
}
