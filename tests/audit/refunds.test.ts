/** What the verifier holds against made-up refunds and erasures: every hash is as it should be. */
import { beforeAll, describe, expect, it } from 'vitest'
import { exportLog, exportSides } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import type { RefundId } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import { eraseRun } from '../../runtime/ledger/erasing.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { accepted, fixedClock, NOW, paySubmitted, startChain } from '../support/ledger.ts'
import { aPersonalRun, endPersonalRun } from '../support/personal.ts'
import { type Body, bodyOf, collect, forge } from './log.ts'

const typed =
  (type: string) =>
  (body: Body): boolean =>
    body.type === type

const why = (lines: readonly string[]) => verifyExport(lines).broken?.why

describe('refunds in the log', () => {
  let lines: string[]

  beforeAll(async () => {
    const ledger = createMemoryLedger({ organisation: 'acme' })
    const { leaf } = await startChain(ledger)
    const { id: payment } = await paySubmitted(ledger, leaf)
    const settle = { payment, amount: minor(900), railReference: 'r', now: NOW }
    accepted(await ledger.execute('settle', settle))
    const told = { payment, id: 'simr_0', kind: 'refunded', amount: minor(100), now: NOW } as const
    accepted(await ledger.execute('reverse', told))
    const ask = (id: RefundId, amount: number) =>
      ledger.execute('refund', {
        ...{ payment, id, amount: minor(amount), by: 'op' },
        ...{ nonce: id, nowMs: NOW * 1000, now: NOW },
      })
    accepted(await ask('rfd_no', 800))
    accepted(
      await ledger.execute('refundFailed', { payment, refund: 'rfd_no', reason: 'x', now: NOW }),
    )
    accepted(await ask('rfd_a', 500))
    const end = { payment, refund: 'rfd_a', now: NOW } as const
    accepted(await ledger.execute('refundUnknown', { ...end, reason: 'late' }))
    accepted(
      await ledger.execute('refunded', { ...end, amount: minor(500), railReference: 'simr_1' }),
    )
    lines = await collect(exportLog(ledger))
  })

  it('verify as they were written', () => {
    expect(why(lines)).toBeUndefined()
  })

  const isLast = (body: Body) => body.type === 'refund_asked' && body.data.refund === 'rfd_a'
  it.each<readonly [string, (body: Body) => boolean, (body: Body) => unknown, string]>([
    [
      'more was asked for than was settled',
      isLast,
      ({ data }) => Object.assign(data, { amount: 801 }),
      'asks for more than was settled',
    ],
    [
      'one was asked for twice',
      isLast,
      ({ data }) => Object.assign(data, { refund: 'rfd_no' }),
      'one refund is asked for twice',
    ],
    [
      'another amount came than was asked for',
      typed('refunded'),
      ({ data }) => Object.assign(data, { amount: 499 }),
      'refunds another amount than was asked for',
    ],
    [
      'what failed was made after all',
      typed('refunded'),
      ({ data }) => Object.assign(data, { refund: 'rfd_no' }),
      'refunded out of its order',
    ],
    [
      'one word of the rail’s stands for two sums',
      typed('refunded'),
      ({ data }) => Object.assign(data, { reference: 'simr_0' }),
      'one reversal is noted twice',
    ],
    [
      'what nobody asked for failed',
      typed('refund_failed'),
      ({ data }) => Object.assign(data, { refund: 'rfd_z' }),
      'refund_failed out of its order',
    ],
    [
      'the money of it is not noted',
      typed('refunded'),
      ({ balances }) => Object.assign(balances ?? {}, { reversed: 100 }),
      'states reversed 100 where the events give 600',
    ],
  ])('are refused where %s', (_what, which, change, expected) => {
    expect(why(forge(lines, (body) => void change(body), which))).toBe(expected)
  })
})

describe('an erasure in the log', () => {
  let lines: string[]
  let sides: string[]

  beforeAll(async () => {
    const ledger = createMemoryLedger({ organisation: 'acme' })
    const run = await endPersonalRun(ledger, await aPersonalRun(ledger))
    sides = await collect(exportSides(ledger, [run.id]))
    accepted(await eraseRun(ledger, { run: run.id, by: 'op' }, fixedClock))
    lines = await collect(exportLog(ledger))
  })

  it('verifies, and a value that somebody kept from before is still one that the log commits to', () => {
    expect(verifyExport(lines).personal).toMatchObject({ values: 8, erased: 8, disclosed: 0 })
    const kept = verifyExport([...lines, ...sides])
    expect(kept.broken).toBeUndefined()
    expect(kept.personal).toMatchObject({ values: 8, erased: 0, disclosed: 8, erasedRuns: 1 })
  })

  it('is refused twice, or in another stream than its root’s', () => {
    const elsewhere = forge(
      lines,
      (body) =>
        Object.assign(body, {
          type: 'erased',
          data: { by: 'op', holds: 0, nodes: 0, payments: 0 },
        }),
      typed('held'),
    )
    expect(why(elsewhere)).toBe('a run is erased once, in the stream of its root')
  })

  it('is refused before the run had ended, or where it does not say of how much', () => {
    const erased = (data: object) => (body: Body) =>
      void Object.assign(body, { type: 'erased', data })
    const root = lines.map(bodyOf).find(typed('erased'))?.stream
    const whole = { by: 'op', holds: 0, nodes: 0, payments: 0 }
    const early = (body: Body) => body.type === 'closing' && body.stream === root
    expect(why(forge(lines, erased(whole), early))).toBe('erased before its run had ended')
    const half = forge(lines, erased({ by: 'op' }), typed('erased'))
    expect(why(half)).toBe('expected a whole number in nodes')
  })

  it('goes with no clear value that the log does not know of, nor with half of one', () => {
    const line = (side: object) => [...lines, JSON.stringify({ side })]
    const of = 'pay_none'
    expect(why(line({ of, what: 'account', salt: 's', value: 'v' }))).toBe(
      'the log knows of no such value',
    )
    expect(why(line({ of, what: 'account', salt: 's' }))).toBe(
      'expected four texts in a side record',
    )
    expect(why(line([]))).toBe('expected a side record')
  })
})
