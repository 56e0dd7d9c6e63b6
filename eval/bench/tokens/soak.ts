/**
 * A long time in the life of a pool: what its process takes at most, and whether what is left after each worker is replaced
 * rises. The process's own peak is asked of the system, so nothing that comes and goes between two looks is missed.
 */
import { systemClock } from '../../../runtime/core/clock.ts'
import { createTokenEngine, type TokenPool } from '../../../runtime/tokens/pool.ts'
import { checkProof } from '../../../runtime/tokens/proof.ts'
import type { PoolStats } from '../../../runtime/tokens/worker-pool.ts'
import { slope } from '../timing.ts'
import { leafAt, leafClaims, proofAt, REQUEST, ROOT_KEYS } from './chains.ts'

export interface SoakOrder {
  readonly depth: number
  readonly calls: number
  /** Verifications before a worker is replaced, where a short soak must see it happen; absent: the product's own. */
  readonly recycleCount?: number
}

/** How large the process was at its smallest; of that, what V8 kept for the objects of the thread that asks. */
export interface Floor {
  readonly calls: number
  readonly bytes: number
  readonly heapBytes: number
}

export interface Soak {
  readonly calls: number
  readonly peakBytes: number
  readonly recycled: number
  /** Smallest resident size from one replacement of every worker to the next. */
  readonly floors: readonly Floor[]
  /** By how much the floors rise with each call, without and with the heap of the thread that asks. */
  readonly drift: { readonly bytes: number; readonly withHeapBytes: number }
  /** What the library's memory and its thread's heap take in one worker, at the end. */
  readonly workerBytes: number
  /** By how much both grow with each call until their worker is replaced. */
  readonly workerBytesPerCall: number
  readonly callsPerSecond: number
}

const WORKERS = 2
const AT_ONCE = 4
const LOOK_EVERY = 20
/** By then each new worker has answered, and with that said its size. */
const SETTLE_CALLS = 60

/** What was seen of the process as the calls went on. */
class Looks {
  readonly #floors: Floor[] = []
  readonly #growth = { calls: 0, bytes: 0 }
  #recycled = 0
  #lowest: Floor | undefined
  #stretch = { of: '', from: 0, fromBytes: 0, calls: 0, bytes: 0 }

  look(calls: number, { recycled, memoryBytes, workers }: PoolStats): void {
    const { rss, heapTotal } = process.memoryUsage()
    const seen: Floor = { calls, bytes: rss, heapBytes: heapTotal }
    this.#grow(calls, { recycled, memoryBytes, workers })
    if (recycled >= this.#recycled + WORKERS) {
      this.#recycled += WORKERS
      // What was lowest before anything was replaced is the size of a start, and no floor.
      if (this.#lowest !== undefined) this.#floors.push(this.#lowest)
      this.#lowest = seen
      return
    }
    if (this.#lowest !== undefined && seen.bytes < this.#lowest.bytes) this.#lowest = seen
  }

  /** Counts only stretches of the same workers: from when each new one has said its size to before the next comes. */
  #grow(
    calls: number,
    { recycled, workers, memoryBytes }: Pick<PoolStats, 'recycled' | 'workers' | 'memoryBytes'>,
  ): void {
    const of = `${recycled} ${workers}`
    if (of !== this.#stretch.of) {
      this.#growth.calls += this.#stretch.calls
      this.#growth.bytes += this.#stretch.bytes
      this.#stretch = { of, from: calls + SETTLE_CALLS, fromBytes: 0, calls: 0, bytes: 0 }
    } else if (calls >= this.#stretch.from) {
      const { from, fromBytes } = this.#stretch
      const start = fromBytes === 0 ? { from: calls, fromBytes: memoryBytes } : { from, fromBytes }
      this.#stretch = {
        of,
        ...start,
        calls: calls - start.from,
        bytes: memoryBytes - start.fromBytes,
      }
    }
  }

  /** The last round's lowest, too. */
  get floors(): readonly Floor[] {
    return this.#lowest === undefined ? this.#floors : [...this.#floors, this.#lowest]
  }

  get workerBytesPerCall(): number {
    const { calls, bytes } = this.#stretch
    return (this.#growth.bytes + bytes) / (this.#growth.calls + calls)
  }
}

export async function measureSoak({ depth, calls, recycleCount }: SoakOrder): Promise<Soak> {
  const engine = await createTokenEngine({
    rootKeys: ROOT_KEYS,
    clock: systemClock(),
    workers: WORKERS,
    ...(recycleCount !== undefined && { limits: { recycleCount } }),
  })
  try {
    const looks = new Looks()
    const started = performance.now()
    await verifyOften(engine, { depth, calls, looks })
    const seconds = (performance.now() - started) / 1000
    const { floors, workerBytesPerCall } = looks
    return {
      calls,
      // Kilobytes on Linux, and of this process alone: threads are in it, children are not.
      peakBytes: process.resourceUsage().maxRSS * 1024,
      recycled: engine.stats().recycled,
      workerBytes: engine.stats().memoryBytes / WORKERS,
      floors,
      drift: {
        bytes: slope(floors.map(({ calls, bytes, heapBytes }) => [calls, bytes - heapBytes])),
        withHeapBytes: slope(floors.map(({ calls, bytes }) => [calls, bytes])),
      },
      workerBytesPerCall,
      callsPerSecond: calls / seconds,
    }
  } finally {
    await engine.close()
  }
}

interface Verifying {
  readonly depth: number
  readonly calls: number
  readonly looks: Looks
}

async function verifyOften(engine: TokenPool, { depth, calls, looks }: Verifying): Promise<void> {
  const token = leafAt(depth)
  const proof = proofAt(depth, token)
  engine.recognise(leafClaims(depth).holder)
  let [begun, done] = [0, 0]
  const next = async () => {
    while (begun < calls) {
      begun += 1
      const checked = checkProof(proof)
      if (!checked.ok) throw new Error('expected the proof to hold')
      const verdict = await engine.verify(token, REQUEST, checked.holder)
      if (!verdict.ok || verdict.token.authorised !== true) throw new Error('expected a permit')
      done += 1
      if (done % LOOK_EVERY === 0) looks.look(done, engine.stats())
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
}
