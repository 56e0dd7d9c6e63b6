/**
 * How much two workers of the pool get done beside two processes that have the library alone and a core each. Turn and turn
 * about: while one side works the other is idle. Nothing is recycled on either side: the calls are fewer than that takes.
 */
import { systemClock } from '../../../runtime/core/clock.ts'
import { createTokenEngine, type TokenPool } from '../../../runtime/tokens/pool.ts'
import { checkProof } from '../../../runtime/tokens/proof.ts'
import { type Probe, startProbe } from '../probe.ts'
import { median } from '../timing.ts'
import type { BareOrder } from './bare-probe.ts'
import { leafAt, proofAt, REQUEST, ROOT_KEYS } from './chains.ts'

export interface ThroughputOrder {
  readonly depth: number
  readonly warm: number
  readonly rounds: number
  /** Calls of one side in one round. */
  readonly calls: number
}

/** Medians over the rounds, calls a second. */
export interface Throughput {
  readonly pool: number
  /** The pool again, where the asking thread also checks a proof before each call, as the gateway does. */
  readonly poolWithProof: number
  readonly bare: number
  readonly recycled: number
}

const WORKERS = 2
/** Calls that the pool is kept supplied with. */
const AT_ONCE = 8

const BARE = new URL('./bare-probe.ts', import.meta.url)

export async function measureThroughput(order: ThroughputOrder): Promise<Throughput> {
  const bare = Array.from({ length: WORKERS }, () => startProbe<BareOrder, void>(BARE))
  const engine = await createTokenEngine({
    rootKeys: ROOT_KEYS,
    clock: systemClock(),
    workers: WORKERS,
  })
  try {
    return await alternate(order, engine, bare)
  } finally {
    await engine.close()
    await Promise.all(bare.map((probe) => probe.close()))
  }
}

async function alternate(
  { depth, warm, rounds, calls }: ThroughputOrder,
  engine: TokenPool,
  bare: readonly Probe<BareOrder, void>[],
): Promise<Throughput> {
  const token = leafAt(depth)
  const proof = proofAt(depth, token)
  const checked = checkProof(proof)
  if (!checked.ok) throw new Error('expected the proof to hold')
  const { holder } = checked
  engine.recognise(holder)
  const call = async () => {
    const verdict = await engine.verify(token, REQUEST, holder)
    if (!verdict.ok || verdict.token.authorised !== true) throw new Error('expected a permit')
  }
  const sides = {
    pool: (total: number) => allOf(total, call),
    bare: (total: number) =>
      Promise.all(bare.map((probe) => probe.ask({ token, calls: total / WORKERS }))),
    poolWithProof: (total: number) =>
      allOf(total, () => {
        if (!checkProof(proof).ok) throw new Error('expected the proof to hold')
        return call()
      }),
  }
  const rates = { pool: [] as number[], bare: [] as number[], poolWithProof: [] as number[] }
  const names = ['pool', 'bare', 'poolWithProof'] as const
  for (const name of names) await sides[name](warm)
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      const started = performance.now()
      await sides[name](calls)
      rates[name].push((calls * 1000) / (performance.now() - started))
    }
  }
  return {
    pool: median(rates.pool),
    bare: median(rates.bare),
    poolWithProof: median(rates.poolWithProof),
    recycled: engine.stats().recycled,
  }
}

/** `total` calls, some of them always under way. */
async function allOf(total: number, call: () => Promise<void>): Promise<void> {
  let left = total
  const next = async () => {
    while (left > 0) {
      left -= 1
      await call()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
}
