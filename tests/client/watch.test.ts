/** Following one's own node: what is told of it, when it ends, and how often it is asked for. */
import { describe, expect, it } from 'vitest'
import { ClientError } from '../../runtime/client/errors.ts'
import { watchNode } from '../../runtime/client/watch.ts'
import { minor } from '../../runtime/core/money.ts'
import type { OwnNode, OwnPayment } from '../../runtime/core/wire.ts'

const leaf: OwnNode = {
  ...{ node: 'nd_leaf', run: 'run_one', kind: 'leaf', state: 'live', currency: 'INR' },
  payees: [{ id: 'shop', name: 'The shop' }],
  amount: { least: minor(1), most: minor(10) },
  ...{ ceiling: minor(10), available: minor(10), reserved: minor(0), spent: minor(0) },
  ...{ allotted: minor(0), expiresAtSeconds: 1_800_000_000, needsPerson: {}, payments: [] },
}
const paying = (payment: Partial<OwnPayment>, node: Partial<OwnNode> = {}): OwnNode => ({
  ...leaf,
  ...node,
  payments: [{ id: 'pay_one', node: 'nd_leaf', payee: 'shop', verdict: 'allow', ...payment }],
})
const held = (state: 'open' | 'approved' | 'refused' | 'expired', node: Partial<OwnNode> = {}) =>
  paying({ verdict: 'hold', hold: { id: 'hold_one', state, expiresAtSeconds: 9 } }, node)
const failing = (code: string, advice: 'retry' | 'stop', retryAfterSeconds?: number) =>
  new ClientError('no', { status: 503, code, advice, retryAfterSeconds })

/** What is told when these are read one after another, the last for ever, and what is waited in between. */
async function watched(readings: readonly (OwnNode | Error)[], most = 40) {
  const told: OwnNode[] = []
  const waits: number[] = []
  const stop = new AbortController()
  let reads = 0
  const read = async () => {
    const reading = readings[Math.min(reads, readings.length - 1)] ?? leaf
    reads += 1
    if (reading instanceof Error) throw reading
    return reading
  }
  const sleep = async (ms: number) => {
    waits.push(ms)
    if (waits.length >= most) stop.abort()
  }
  const nodes = watchNode(read, { sleep, signal: stop.signal })
  for await (const node of nodes) told.push(node)
  return { told, waits, reads, isStopped: stop.signal.aborted }
}

describe('what is told', () => {
  it('is each change once, from the first on, up to the end of the payment', async () => {
    const steps = [leaf, held('open'), held('approved')]
    const { told, reads } = await watched([
      leaf,
      leaf,
      held('open'),
      held('open'),
      held('approved'),
    ])
    expect([told, reads]).toEqual([steps, 5])
    const [sent, done] = [paying({ state: 'submitted' }), paying({ state: 'settled' })]
    expect((await watched([sent, sent, done])).told).toEqual([sent, done])
  })

  it.each([
    ['a settled payment', paying({ state: 'settled' })],
    ['a released one', paying({ state: 'released' })],
    ['a refusal', paying({ verdict: 'deny', code: 'insufficient' })],
    ['a person’s yes', held('approved')],
    ['a person’s no', held('refused')],
    ['a question that nobody answered', held('expired')],
    ['a question of a leaf that is closed', held('open', { state: 'closed' })],
    ['a leaf whose time is over before it paid', { ...leaf, state: 'expired' as const }],
    ['a looker, which has no payment', { ...leaf, kind: 'looker' as const }],
    ['a planner that is closed', { ...leaf, kind: 'planner' as const, state: 'closed' as const }],
  ])('ends with %s', async (_, node) => {
    expect(await watched([node])).toMatchObject({ told: [node], reads: 1, isStopped: false })
  })

  it.each([
    [
      'a payment without the rail’s last word, whatever became of its leaf',
      paying({ state: 'unknown' }, { state: 'expired' }),
    ],
    ['one that its payer has to agree to', paying({ state: 'awaiting_payer' })],
    ['an open question, though the leaf is frozen', held('open', { state: 'frozen' })],
    ['a leaf that has not paid', leaf],
    ['a planner', { ...leaf, kind: 'planner' as const }],
    ['a planner that is closing', { ...leaf, kind: 'planner' as const, state: 'closing' as const }],
  ])('does not end with %s', async (_, node) => {
    expect(await watched([node])).toMatchObject({ told: [node], isStopped: true })
  })
})

describe('how often it is asked for', () => {
  it('is ever more seldom while nothing changes, and soon again once something has', async () => {
    const { waits } = await watched([...Array(8).fill(leaf), held('open')], 12)
    expect(waits).toEqual([
      ...[500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000],
      ...[500, 1_000, 2_000, 4_000],
    ])
  })

  it('is as a busy gateway advises, up to a minute', async () => {
    const readings = [
      failing('unavailable', 'retry', 5),
      failing('unavailable', 'retry', 999_999),
      leaf,
    ]
    const { waits, told } = await watched(readings, 3)
    expect([waits[0], waits[1], told]).toEqual([5_000, 60_000, [leaf]])
  })

  it('is not at all where the watching was ended before', async () => {
    let reads = 0
    const read = async () => {
      reads += 1
      return leaf
    }
    for await (const _ of watchNode(read, { signal: AbortSignal.abort() })) throw new Error('told')
    expect(reads).toBe(0)
  })

  it('ends by its signal in the middle of a wait, quietly', async () => {
    const stop = new AbortController()
    for await (const _ of watchNode(async () => leaf, { signal: stop.signal })) {
      setImmediate(() => stop.abort())
    }
    expect(stop.signal.aborted).toBe(true)
  })
})

describe('a failure', () => {
  it('that passes is not told', async () => {
    const down = failing('unavailable', 'retry')
    const done = paying({ state: 'settled' })
    expect((await watched([leaf, down, down, done])).told).toEqual([leaf, done])
  })

  it('that does not pass is thrown, at once or after eight in a row', async () => {
    const down = failing('unavailable', 'retry')
    await expect(watched([leaf, down])).rejects.toBe(down)
    await expect(watched([...Array(7).fill(down), leaf], 9)).resolves.toMatchObject({
      told: [leaf],
    })
    const twice = [...Array(7).fill(down), leaf, ...Array(7).fill(down), held('approved')]
    await expect(watched(twice)).resolves.toMatchObject({ told: [leaf, held('approved')] })
    const over = failing('expired', 'stop')
    await expect(watched([leaf, over])).rejects.toBe(over)
    const bug = new TypeError('a bug')
    await expect(watched([bug])).rejects.toBe(bug)
  })
})
