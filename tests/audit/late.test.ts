/** What the verifier holds against a made-up later life of a payment: every hash is as it should be. */
import { beforeAll, describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { minor } from '../../runtime/core/money.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { accepted, NOW, paySubmitted, startChain } from '../support/ledger.ts'
import { type Body, collect, forge } from './log.ts'

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
