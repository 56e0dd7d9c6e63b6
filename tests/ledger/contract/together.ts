/**
 * What every store must hold to when many act at once, on one instance or several. Each claim is a function, so that
 * broken stores can be shown to fail it.
 */
import { describe, expect, it } from 'vitest'
import { eventHash, parseEvent } from '../../../runtime/core/events.ts'
import type { PaymentId } from '../../../runtime/core/ids.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { minor } from '../../../runtime/core/money.ts'
import type { NodeRecord } from '../../../runtime/core/records.ts'
import {
  accepted,
  addChild,
  aProof,
  aReserve,
  aRun,
  aSubmit,
  NOW,
  startChain,
  startRun,
} from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

const times = <T>(n: number, make: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, (_, i) => make(i)))

const okCount = (results: readonly { ok: boolean }[]): number =>
  results.filter(({ ok }) => ok).length

async function leavesOf(bench: Bench, root: NodeRecord, ceiling: number): Promise<NodeRecord[]> {
  const split = (i: number) => addChild(bench.ledger(), root, `l${i}`, { ceiling, fanOut: 1_000 })
  return times(bench.many, split)
}

/** The sums over a run are what its payments say. */
async function sums(ledger: Ledger, run: NodeRecord['run']) {
  const tree = await ledger.tree(run)
  const sum = (field: 'reserved' | 'spent') =>
    tree.reduce((total, { account }) => total + account[field], 0)
  for (const { account } of tree) {
    const { ceiling, available, reserved, spent, allotted } = account
    expect(available + reserved + spent + allotted).toBe(ceiling)
  }
  return { reserved: sum('reserved'), spent: sum('spent') }
}

async function leavesOfOneRun(bench: Bench): Promise<void> {
  const { run, root } = await startRun(bench.ledger())
  const leaves = await leavesOf(bench, root, 10)
  const reserved = await times(leaves.length, (i) =>
    bench.instance(i).execute('reserve', aReserve(leaves[i] ?? root, { nonce: `n${i}` })),
  )
  expect(okCount(reserved)).toBe(leaves.length)
  expect(await sums(bench.ledger(), run.id)).toEqual({ reserved: leaves.length * 10, spent: 0 })
  const settled = await times(leaves.length, async (i) => {
    const result = reserved[i]
    const payment = result?.ok ? result.payment.id : ('pay_none' as const)
    const input = { payment, amount: minor(7), railReference: `r${i}`, now: NOW }
    return bench.instance(i + 1).execute('settle', input)
  })
  expect(okCount(settled)).toBe(leaves.length)
  expect(await sums(bench.ledger(), run.id)).toEqual({ reserved: 0, spent: leaves.length * 7 })
}

async function oneLeaf(bench: Bench): Promise<void> {
  const { run, root } = await startRun(bench.ledger())
  const leaf = await addChild(bench.ledger(), root, 'leaf', { ceiling: (bench.many / 2) * 10 })
  const results = await times(bench.many, (i) => {
    const input = aReserve(leaf, { amount: 10, nonce: `n${i}`, quoteJti: `q${i}` })
    const id: PaymentId = `pay_${i}`
    return bench.instance(i).execute('reserve', { ...input, payment: { ...input.payment, id } })
  })
  expect(okCount(results)).toBe(bench.many / 2)
  const refused = results.flatMap((result) => (result.ok ? [] : [result.code]))
  expect(new Set(refused)).toEqual(new Set(['insufficient']))
  const total = (bench.many / 2) * 10
  expect(await sums(bench.ledger(), run.id)).toEqual({ reserved: total, spent: 0 })
  const events = await bench.ledger().events(leaf.id, 0, 1_000)
  events.forEach(({ seq, body, hash }, i) => {
    expect(seq).toBe(i + 1)
    expect(hash).toBe(eventHash(body))
    if (i > 0) expect(parseEvent(body).prev).toBe(events[i - 1]?.hash)
  })
}

async function oneQuote(bench: Bench): Promise<void> {
  const { root } = await startRun(bench.ledger())
  const leaves = await leavesOf(bench, root, 10)
  const claim = { merchant: 'shop', quoteJti: 'the same' }
  const results = await times(leaves.length, (i) =>
    bench.instance(i).execute('reserve', aReserve(leaves[i] ?? root, claim)),
  )
  expect(okCount(results)).toBe(1)
}

async function oneMandate(bench: Bench): Promise<void> {
  const input = { ...aRun(), token: 't', nodes: 3, now: NOW }
  const results = await times(20, (i) => bench.instance(i).execute('createRun', input))
  expect(results.filter((result) => result.ok && result.created)).toHaveLength(1)
  expect(okCount(results)).toBe(20)
  expect(await bench.types('gateway')).toEqual(['run_created'])
}

async function oneProof(bench: Bench): Promise<void> {
  const { leaf } = await startChain(bench.ledger())
  const results = await times(20, (i) => {
    const proof = { ...aProof(leaf, 'same'), attempt: `attempt-${i}` }
    const note = { stream: leaf.id, type: 'read', data: { i }, proof, now: NOW } as const
    return bench.instance(i).execute('note', note)
  })
  expect(okCount(results)).toBe(1)
  expect(await bench.types(leaf.id)).toEqual(['opened', 'read'])
}

async function freeze(bench: Bench): Promise<void> {
  const { root } = await startRun(bench.ledger())
  const leaves = (await leavesOf(bench, root, 10)).slice(0, 40)
  await times(leaves.length, async (i) =>
    accepted(await bench.instance(i).execute('reserve', aReserve(leaves[i] ?? root))),
  )
  const submit = (leaf: NodeRecord, i: number) =>
    bench.instance(i).execute('submit', aSubmit(leaf, `n${i}`))
  const early = leaves.slice(0, leaves.length / 2).map(submit)
  const act = { node: root.id, state: 'frozen', by: 'op', now: NOW } as const
  const acknowledged = bench.instance(1).execute('setStanding', act)
  const late = leaves.slice(leaves.length / 2).map(submit)
  const { onTheirWay } = accepted(await acknowledged)
  const won = (await Promise.all([...early, ...late])).flatMap((result) =>
    result.ok ? [result.payment.id] : [],
  )
  expect([...onTheirWay].sort()).toEqual(won.sort())
}

async function feed(bench: Bench): Promise<void> {
  const { run, root, planner } = await startChain(bench.ledger())
  await times(24, async (i) => {
    const own = bench.instance(i)
    const leaf = await addChild(own, i % 4 ? root : planner, `f${i}`, { ceiling: 10 })
    accepted(await bench.instance(i + 1).execute('reserve', aReserve(leaf, { nonce: `n${i}` })))
  })
  const heads = await bench.ledger().heads(run.id)
  const count = heads.reduce((sum, { head }) => sum + head.seq, 1)
  await expect
    .poll(() => lengthOf(bench.instance(1), run.id), { timeout: bench.patienceMs })
    .toBe(count)
  const entries = await bench.instance(2).feed(run.id, 0, 1_000)
  const seen = new Set<string>([run.mandateDigest])
  entries.forEach(({ position, stream, hash, body }, i) => {
    expect(position).toBe(i + 1)
    if (stream !== 'gateway') expect(seen).toContain(parseEvent(body).prev)
    seen.add(hash)
  })
  expect(seen.size).toBe(count + 1)
}

const lengthOf = async (ledger: Ledger, run: NodeRecord['run']): Promise<number> =>
  (await ledger.feed(run, 0, 1_000)).length

export const CLAIMS: { readonly [claim: string]: (bench: Bench) => Promise<void> } = {
  'reserve and settle on leaves of one run, and the sums are exact': leavesOfOneRun,
  'reserve on one leaf, and it ends exactly at its ceiling': oneLeaf,
  'claim one quote, and one has it': oneQuote,
  'post one mandate, and it makes one run': oneMandate,
  'use one proof, and one is believed': oneProof,
  'submit while the root is frozen, and each is on its way or refused': freeze,
  'add to one feed, and it has each event once, behind what it follows': feed,
}

export function togetherContract(bench: Bench): void {
  describe('many at once', () => {
    it.each(Object.entries(CLAIMS))('%s', (_claim, holds) => holds(bench), 60_000)
  })
}
