/** The suite `tokens`: what it costs to believe a token, to make one, to do so for long, and to do so under fire. */
import {
  type Ask,
  atLeast,
  atMost,
  type Figure,
  inTurn,
  MEBI,
  ratio,
  type Suite,
} from '../figure.ts'
import { askOnce } from '../probe.ts'
import { quantile, type Rounds, slope } from '../timing.ts'
import type { CostOrder, Costs } from './cost.ts'
import type { Soak, SoakOrder } from './soak.ts'
import type { Throughput, ThroughputOrder } from './throughput.ts'
import { measureUnderFire } from './under-fire.ts'

const COST = new URL('./cost-probe.ts', import.meta.url)
const THROUGHPUT = new URL('./throughput-probe.ts', import.meta.url)
const SOAK = new URL('./soak-probe.ts', import.meta.url)

const DEPTHS = [1, 2, 4, 8]
/** Of the leaf that bounds are about: a purchase below three planners and the root. */
const DEPTH = 4

/** Hundreds of calls before the first that counts: until then it is the compiler that is measured. */
const rounds = (quick: boolean): Rounds =>
  quick ? { warm: 4, batches: 2, size: 2 } : { warm: 300, batches: 30, size: 10 }

const costOf = (order: CostOrder) => askOnce<CostOrder, Costs>(COST, order)

export async function verifyFigures({ quick, tell }: Ask): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  const points: (readonly [depth: number, ms: number])[] = []
  for (const depth of DEPTHS) {
    tell(`verifying at depth ${depth}`)
    const [ours, parse] = await costOf({ kind: 'verify', depth, rounds: rounds(quick) })
    if (ours !== undefined) points.push([depth, ours])
    const figure: Figure = {
      name: `verify at depth ${depth}, to the library's parse`,
      value: ratio(ours, parse),
      unit: 'times',
      note: `${ours?.toFixed(2)} ms: parse, signatures, grammar, chain, proof, authorise; parse alone ${parse?.toFixed(2)} ms`,
    }
    figures.push(depth === DEPTH ? atMost(2.2, figure) : figure)
  }
  return [...figures, { name: 'each further link', value: slope(points), unit: 'ms' }]
}

export async function poolFigures({ quick, tell }: Ask): Promise<readonly Figure[]> {
  tell('verifying through the pool')
  const [ours, parse] = await costOf({ kind: 'pool', depth: DEPTH, rounds: rounds(quick) })
  const figure: Figure = {
    name: `verify through the pool at depth ${DEPTH}, to the library's parse`,
    value: ratio(ours, parse),
    unit: 'times',
    note: `${ours?.toFixed(2)} ms, one call at a time; parse alone ${parse?.toFixed(2)} ms`,
  }
  return [atMost(2.8, figure)]
}

export async function throughputFigures({ quick, tell }: Ask): Promise<readonly Figure[]> {
  tell('two workers beside two processes')
  const order = quick
    ? { depth: DEPTH, warm: 8, rounds: 1, calls: 8 }
    : { depth: DEPTH, warm: 200, rounds: 7, calls: 200 }
  const { pool, poolWithProof, bare, recycled } = await askOnce<ThroughputOrder, Throughput>(
    THROUGHPUT,
    order,
  )
  const against = `the library's two processes ${bare.toFixed(0)} a second`
  return [
    atLeast(0.85, {
      name: 'two workers, to two processes of the library alone',
      value: ratio(pool, bare),
      unit: 'times',
      note: `${pool.toFixed(0)} a second, ${against}; ${recycled} workers replaced meanwhile`,
    }),
    {
      name: 'the same with a proof checked in the asking thread',
      value: ratio(poolWithProof, bare),
      unit: 'times',
      note: `${poolWithProof.toFixed(0)} a second: that thread is a third one for the cores`,
    },
  ]
}

export async function mintFigures({ quick, tell }: Ask): Promise<readonly Figure[]> {
  tell('minting a child')
  const [ours, parsed, whole, built] = await costOf({ kind: 'mint', rounds: rounds(quick) })
  const against = (name: string, theirs: number | undefined, about: string): Figure => ({
    name: `mint a leaf, to the library's ${name}`,
    value: ratio(ours, theirs),
    unit: 'times',
    note: `${ours?.toFixed(2)} ms from text to text; the library ${theirs?.toFixed(2)} ms ${about}`,
  })
  return [
    atMost(1.5, against('append', parsed, 'from a parent that it has parsed already')),
    against('parse and append', whole, 'from text, as ours'),
    against('append of a block built before', built, 'of signing and writing alone'),
  ]
}

export async function soakFigures({ quick, tell }: Ask): Promise<readonly Figure[]> {
  const order: SoakOrder = quick
    ? { depth: DEPTH, calls: 2_000, recycleCount: 200 }
    : { depth: DEPTH, calls: 50_000 }
  tell(`${order.calls} verifications through one pool`)
  const soak = await askOnce<SoakOrder, Soak>(SOAK, order)
  const { calls, peakBytes, recycled, floors, drift, workerBytes, workerBytesPerCall } = soak
  const inMebi = (bytes: number) => (bytes / MEBI).toFixed(0)
  return [
    atMost(512, {
      name: `peak size over ${calls} verifications`,
      value: peakBytes / MEBI,
      unit: 'MiB',
      note: `two workers of ${inMebi(workerBytes)} MiB each beside the process itself; ${recycled} were replaced`,
    }),
    atMost(2048, {
      name: 'drift of the size that is left after replacing',
      value: drift.bytes,
      unit: 'bytes a call',
      note: `MiB left, lowest of each round of replacements: ${floors.map(({ bytes, heapBytes }) => inMebi(bytes - heapBytes)).join(', ')}, without the heap of the thread that asks`,
    }),
    {
      name: 'the same with that heap',
      value: drift.withHeapBytes,
      unit: 'bytes a call',
      note: `${floors.map(({ heapBytes }) => inMebi(heapBytes)).join(', ')} MiB of it: V8 keeps ever more room for what lives shortly, up to a size of its own; what lives in it does not grow`,
    },
    {
      name: 'growth of a worker until it is replaced',
      value: workerBytesPerCall,
      unit: 'bytes a call',
      note: 'the library leaks some hundred times that; its memory is put back before it runs out',
    },
    { name: 'through the pool for long', value: soak.callsPerSecond, unit: 'a second' },
  ]
}

export async function underFireFigures({ quick, tell }: Ask): Promise<readonly Figure[]> {
  const order = quick ? { phases: 1, payments: 5 } : { phases: 4, payments: 120 }
  tell('paying under fire')
  const { calm, attacked, answers, attackSeconds } = await measureUnderFire(order)
  const statuses: Record<string, number> = {}
  for (const byStatus of Object.values(answers)) {
    for (const [status, n] of Object.entries(byStatus))
      statuses[status] = (statuses[status] ?? 0) + n
  }
  const answered = Object.entries(statuses).map(([status, n]) => `${n} with ${status}`)
  const ms = (values: readonly number[], share: number) => quantile(values, share).toFixed(0)
  return [
    atMost(3, {
      name: 'p99 of an honest payment under fire, to the same without',
      value: ratio(quantile(attacked, 0.99), quantile(calm, 0.99)),
      unit: 'times',
      note: `${ms(attacked, 0.99)} and ${ms(calm, 0.99)} ms (p50 ${ms(attacked, 0.5)} and ${ms(calm, 0.5)}); the attack of ${Object.keys(answers).length} kinds at once, at a lower priority for a core: in ${attackSeconds.toFixed(0)} s ${answered.join(', ')} (0: ended without an answer)`,
    }),
  ]
}

const PARTS = [
  verifyFigures,
  poolFigures,
  throughputFigures,
  mintFigures,
  soakFigures,
  underFireFigures,
]

export const TOKENS: Suite = {
  name: 'tokens',
  about: 'verifying and minting beside the library alone, for long, and under fire',
  measure: inTurn(PARTS),
}
