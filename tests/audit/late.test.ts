/** What the verifier holds against a made-up later life of a payment: every hash is as it should be. */
import { beforeAll, describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { minor } from '../../runtime/core/money.ts'
import { closeSubtree } from '../../runtime/ledger/closing.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { accepted, fixedClock, NOW, paySubmitted, startChain } from '../support/ledger.ts'
import { type Body, bodyOf, collect, forge } from './log.ts'

const typed =
  (type: string) =>
  (body: Body): boolean =>
    body.type === type

const why = (lines: readonly string[]) => verifyExport(lines).broken?.why

describe('a resolution in the log', () => {
  let lines: string[]

  beforeAll(async () => {
    const ledger = createMemoryLedger({ organisation: 'acme' })
    const { leaf } = await startChain(ledger)
    const { id: payment } = await paySubmitted(ledger, leaf)
    accepted(await ledger.execute('markUnknown', { payment, reason: 'late', now: NOW }))
    accepted(await ledger.execute('markOverdue', { payment, attempt: 'a', now: NOW }))
    for (const by of ['asha', 'bela']) {
      const word = { payment, outcome: 'settled', amount: minor(900), evidence: 'e' } as const
      accepted(await ledger.execute('resolve', { ...word, by, attempt: by, now: NOW }))
    }
    lines = await collect(exportLog(ledger))
  })

  it('verifies as it was written', () => {
    expect(why(lines)).toBeUndefined()
  })

  it.each<readonly [string, string, (body: Body) => unknown, string]>([
    [
      'one person said it twice',
      'resolved',
      ({ data }) => Object.assign(data, { by: 'asha' }),
      'one operator proposed and resolved',
    ],
    [
      'the second said another amount',
      'resolved',
      ({ data }) => Object.assign(data, { amount: 901 }),
      'resolves what nobody proposed',
    ],
    [
      'more was proposed than was reserved',
      'proposed',
      ({ data }) => Object.assign(data, { amount: 1_001 }),
      'proposes more than was reserved',
    ],
    [
      'the money that moved is another',
      'settled',
      ({ data }) => Object.assign(data, { amount: 899 }),
      'settled as nobody resolved it',
    ],
    [
      'the settlement passes for the rail’s own word',
      'settled',
      ({ data }) => Reflect.deleteProperty(data, 'evidence'),
      'settled as nobody resolved it',
    ],
    [
      'nobody proposed anything',
      'proposed',
      (body) => Object.assign(body, { type: 'overdue', data: { payment: body.data.payment } }),
      'an alarm is raised twice',
    ],
  ])('is refused where %s', (_what, type, change, expected) => {
    expect(why(forge(lines, (body) => void change(body), typed(type)))).toBe(expected)
  })

  it('is refused where a rail’s word claims to be people’s', () => {
    const settledOnly = forge(
      lines,
      (body) => Object.assign(body, { type: 'operator', data: {} }),
      typed('resolved'),
    )
    expect(why(settledOnly)).toBe('settled as nobody resolved it')
  })
})

describe('late money in the log', () => {
  let lines: string[]

  beforeAll(async () => {
    const ledger = createMemoryLedger({ organisation: 'acme' })
    const { planner, leaf } = await startChain(ledger)
    const { id: payment } = await paySubmitted(ledger, leaf)
    const settle = { payment, amount: minor(900), railReference: 'r', now: NOW }
    accepted(await ledger.execute('settle', settle))
    accepted(await closeSubtree(ledger, planner.id, 'op', fixedClock))
    for (const id of ['a', 'b']) {
      const back = { payment, id, kind: 'refunded', amount: minor(400), now: NOW } as const
      accepted(await ledger.execute('reverse', back))
    }
    const word = { payment, reversedAmount: minor(800), evidence: 'e', by: 'op', attempt: 's' }
    accepted(await ledger.execute('regain', { ...word, now: NOW }))
    lines = await collect(exportLog(ledger))
  })

  it('verifies as it was written, after the end of its leaf', () => {
    expect(why(lines)).toBeUndefined()
  })

  it.each<readonly [string, string, (body: Body) => unknown, string]>([
    [
      'one refund is noted twice',
      'reversed',
      ({ data }) => Object.assign(data, { reversal: 'b' }),
      'one reversal is noted twice',
    ],
    [
      'more came back than was settled',
      'reversed',
      ({ data, balances }) => {
        data.amount = 901
        balances.reversed = 901
      },
      'more came back than was settled',
    ],
    [
      'more is regained than came back',
      'regained',
      ({ data }) => Object.assign(data, { amount: 801 }),
      'regained more than came back',
    ],
    [
      'a balance hides what came back',
      'reversed',
      ({ balances }) => Reflect.deleteProperty(balances, 'reversed'),
      'states reversed 0 where the events give 400',
    ],
  ])('is refused where %s', (_what, type, change, expected) => {
    expect(why(forge(lines, (body) => void change(body), typed(type)))).toMatch(expected)
  })

  it('is refused where it stays behind at a node that has ended', () => {
    const cut = ['returned', 'credited', 'returned', 'credited']
    const tail = (line: string) => {
      const { stream, seq, type } = bodyOf(line)
      const isLast = !lines.some((each) => {
        const other = bodyOf(each)
        return other.stream === stream && other.seq > seq && !cut.includes(other.type)
      })
      return isLast && cut.includes(type)
    }
    const short = lines.filter((line) => !tail(line))
    expect(lines.length - short.length).toBe(cut.length)
    expect(why(short)).toBe('money stays behind where a node has ended')
  })
})
