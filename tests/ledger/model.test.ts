/** Random commands, in any order and of any nonsense, against the reference: same answers, same sums, after each step. */
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { freshId, type PaymentId } from '../../runtime/core/ids.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { minor } from '../../runtime/core/money.ts'
import { type NodeRecord, reversedOf } from '../../runtime/core/records.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import {
  aChild,
  accepted,
  aPayment,
  aReserve,
  aSplit,
  aSubmit,
  NOW,
  startRun,
} from '../support/ledger.ts'
import { temporaryFolder, withoutThread } from '../support/sqlite.ts'
import { Reference } from './reference.ts'

const CEILING = 100

const place = fc.nat({ max: 7 })
const amount = fc.integer({ min: 0, max: 60 })

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ act: fc.constant('split'), on: place, amount, leaf: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('reserve'), on: place, amount }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('reserveAndSubmit'), on: place, amount }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('submit'), on: place }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('unknown'), on: place }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('settle'), on: place, amount }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constantFrom('time out', 'decline'), on: place }) },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constantFrom('frozen', 'live', 'revoked'), on: place }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('close'), on: place }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('resolve'), on: place, amount }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('reverse'), on: place, amount }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('regain'), on: place }) },
)

type Step = { act: string; on: number; amount?: number; leaf?: boolean }

/** Both ledgers, with the same nodes under the same numbers. */
class Pair {
  readonly ledger: Ledger
  readonly reference = new Reference(CEILING)
  readonly nodes: NodeRecord[]
  #refunds = 0

  constructor(ledger: Ledger, root: NodeRecord) {
    this.ledger = ledger
    this.nodes = [root]
  }

  /** What each of the two answers to one step. */
  async take({ act, on, amount = 0, leaf = false }: Step): Promise<[boolean, boolean]> {
    const { ledger, reference } = this
    const index = on % this.nodes.length
    const node = this.nodes[index]
    if (!node) throw new Error('expected a node')
    const payment = aPayment(node).id
    switch (act) {
      case 'split':
        return this.#split(index, node, leaf ? 'leaf' : 'planner', amount)
      case 'reserve':
      case 'reserveAndSubmit': {
        if (amount === 0) return [true, true]
        const submits = act === 'reserveAndSubmit'
        const nonce = submits ? { nonce: `nonce-${index}` } : {}
        const { ok } = await ledger.execute('reserve', aReserve(node, { amount, ...nonce }))
        // The nonce is always the same, so what was submitted is this very attempt's.
        const before = reference.at(index).payment
        if (submits && before?.wasSubmitted) return [ok, before.amount === amount]
        return [ok, reference.reserve(index, amount) && (!submits || reference.submit(index))]
      }
      case 'submit': {
        const { ok } = await ledger.execute('submit', aSubmit(node, `nonce-${index}`))
        return [ok, reference.submit(index)]
      }
      case 'unknown': {
        const input = { payment, reason: 'timeout', now: NOW }
        return [(await ledger.execute('markUnknown', input)).ok, reference.unknown(index)]
      }
      case 'settle': {
        const before = reference.places[index]?.payment?.state
        if (before === 'settled') return [true, true]
        const input = { payment, amount: minor(amount), railReference: 'r', now: NOW }
        return [(await ledger.execute('settle', input)).ok, reference.settle(index, amount)]
      }
      case 'time out':
      case 'decline': {
        const from = act === 'decline' ? 'submitted' : 'reserved'
        const input = { payment, from, reason: 'x', now: NOW } as const
        return [(await ledger.execute('release', input)).ok, reference.release(index, from)]
      }
      case 'resolve':
        return this.#resolve(index, payment, amount)
      case 'reverse': {
        this.#refunds += 1
        const input = { payment, id: `rfnd_${this.#refunds}`, kind: 'refunded', now: NOW } as const
        const result = await ledger.execute('reverse', { ...input, amount: minor(amount) })
        return [result.ok, reference.reverse(index, amount)]
      }
      case 'regain': {
        const reversedAmount = reversedOf((await ledger.payment(payment)) ?? {})
        const word = { payment, reversedAmount, evidence: 'e', by: 'op', attempt: freshId() }
        const result = await ledger.execute('regain', { ...word, now: NOW })
        return [result.ok, reference.regain(index)]
      }
      case 'close': {
        const result = await ledger.execute('close', { node: node.id, by: 'op', now: NOW })
        return [result.ok, reference.close(index)]
      }
      default: {
        const state = act as 'live' | 'frozen' | 'revoked'
        const input = { node: node.id, state, by: 'op', now: NOW }
        return [(await ledger.execute('setStanding', input)).ok, reference.stand(index, state)]
      }
    }
  }

  async #resolve(index: number, payment: PaymentId, amount: number): Promise<[boolean, boolean]> {
    const whole = this.reference.at(index).payment?.amount ?? 0
    const outcome = amount > 0 ? ('settled' as const) : ('released' as const)
    const word = { payment, outcome, amount: minor(amount > 0 ? amount : whole), evidence: 'e' }
    let ok = true
    for (const by of ['asha', 'bela']) {
      const said = { ...word, by, attempt: freshId(), now: NOW }
      ok &&= (await this.ledger.execute('resolve', said)).ok
    }
    return [ok, this.reference.resolve(index, amount)]
  }

  async #split(
    index: number,
    node: NodeRecord,
    kind: 'leaf' | 'planner',
    amount: number,
  ): Promise<[boolean, boolean]> {
    const child = aChild(node, `child-${this.nodes.length}`, { kind, ceiling: amount })
    const split = aSplit(child, { nodes: kind === 'planner' ? 3 : 0, fanOut: 1_000 })
    const result = await this.ledger.execute('split', split)
    if (!result.ok && result.code === 'node_limit') return [true, true]
    const expected = this.reference.split(index, kind, amount)
    if (result.ok) this.nodes.push(child)
    return [result.ok, expected]
  }

  /** Every balance of every node, as each of the two has it. */
  async compare(): Promise<void> {
    for (const [index, { id }] of this.nodes.entries()) {
      const expected = this.reference.at(index)
      const account = await this.ledger.account(id)
      const { ceiling, available, reserved, spent, allotted, reversed, state } = expected
      expect(account).toMatchObject({ ceiling, available, reserved, spent, allotted, reversed })
      expect((await this.ledger.standing(id)).state).toBe(state)
      expect(ceiling).toBe(available + reserved + spent + allotted)
      const below = this.reference.places.filter(({ parent }) => parent === index)
      expect(allotted).toBe(below.reduce((sum, child) => sum + child.ceiling, 0))
    }
  }
}

async function follow(ledger: Ledger, steps: readonly Step[]): Promise<void> {
  const { root } = await startRun(ledger, { ceiling: CEILING, nodes: 40 })
  const pair = new Pair(ledger, root)
  for (const step of steps) {
    const [answer, expected] = await pair.take(step)
    expect(answer, JSON.stringify(step)).toBe(expected)
    await pair.compare()
  }
  const lines: string[] = []
  for await (const line of exportLog(ledger)) lines.push(line)
  const verdict = verifyExport(lines)
  expect(verdict.broken).toBeUndefined()
  const sum = (field: 'available' | 'reserved' | 'spent') =>
    pair.reference.places.reduce((total, place) => total + place[field], 0)
  expect(verdict.runs[0]).toMatchObject({
    ceiling: CEILING,
    available: sum('available'),
    reserved: sum('reserved'),
    spent: sum('spent'),
  })
  const root0 = accepted(await ledger.execute('close', { node: root.id, by: 'op', now: NOW }))
  expect(root0.account.ceiling).toBe(CEILING)
}

describe('any sequence of commands keeps to the reference', () => {
  it('in memory', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        await follow(createMemoryLedger({ organisation: 'acme' }), steps)
      }),
      { numRuns: 150 },
    )
  })

  it('in the embedded store', async () => {
    const folder = await temporaryFolder()
    let file = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        file += 1
        const path = join(folder.path, `${file}.db`)
        const ledger = await openSqliteLedger({ path, organisation: 'acme', spawn: withoutThread })
        await follow(ledger, steps)
        await ledger.close()
      }),
      { numRuns: 8, endOnFailure: true },
    )
    await folder.remove()
  })
})
