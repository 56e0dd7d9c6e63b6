/** What the verifier holds against made-up words of a rail, takings and draws: every hash is as it should be. */
import { beforeAll, describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { authorisationIdOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import { later } from '../../runtime/core/time.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { accepted, addChild, NOW, paySubmitted, startRun } from '../support/ledger.ts'
import { type Body, collect, forge } from './log.ts'

const why = (lines: readonly string[]) => verifyExport(lines).broken?.why

describe('draws in the log', () => {
  let lines: string[]

  beforeAll(async () => {
    const ledger = createMemoryLedger({ organisation: 'acme' })
    const { run, root } = await startRun(ledger)
    const pay = async (step: string, ceiling: number) =>
      paySubmitted(ledger, await addChild(ledger, root, step, { ceiling }))
    const [one, two] = [await pay('one', 700), await pay('two', 800)]
    const authorisation = authorisationIdOf(run.id, one.payee)
    const { nonce = '' } = one
    const asked = { authorisation, payment: one.id, amount: minor(1_500), key: 'k', nonce }
    accepted(await ledger.execute('askAuthorisation', { ...asked, nowMs: 0, now: NOW }))
    const held = { authorisation, amount: minor(1_500), reference: 'AUTH1', now: NOW }
    accepted(await ledger.execute('authorised', { ...held, untilSeconds: later(NOW, 3_600) }))
    for (const { id: payment, nonce = '' } of [one, two]) {
      accepted(await ledger.execute('draw', { authorisation, payment, nonce, now: NOW }))
    }
    const said = { awaits: 'capture', railReference: 'o1', railStatus: 'APPROVED' } as const
    const word = { payment: one.id, reason: 'awaits_capture', said, now: NOW }
    accepted(await ledger.execute('markUnknown', word))
    accepted(await ledger.execute('complete', { payment: one.id, now: NOW }))
    for (const to of ['voiding', 'voided'] as const) {
      const move = { authorisation, to, reason: 'run_over', now: NOW }
      accepted(await ledger.execute('moveAuthorisation', move))
    }
    lines = await collect(exportLog(ledger))
  })

  it('verify as they were written', () => {
    expect(why(lines)).toBeUndefined()
  })

  const typed = (type: string) => (body: Body) => body.type === type
  const second = (body: Body) => body.type === 'drawn' && body.data.total === 1_500
  it.each<readonly [string, (body: Body) => boolean, object, string]>([
    [
      'less was authorised than was drawn',
      typed('authorised'),
      { amount: 1_499 },
      'more is drawn than was authorised',
    ],
    [
      'more is held than was asked for',
      typed('authorised'),
      { amount: 1_501 },
      'more is authorised than was asked',
    ],
    [
      'a draw says that more had been taken',
      second,
      { total: 1_501 },
      'more is drawn than was authorised',
    ],
    [
      'a draw says that nothing had been taken',
      second,
      { total: 1 },
      'more is drawn than was authorised',
    ],
    ['another amount was drawn than was reserved', second, { amount: 799 }, 'draws another amount'],
    [
      'something was drawn from what nobody asked for',
      second,
      { authorisation: 'auth_x' },
      'draws from what nobody asked for',
    ],
    [
      'it was asked for another payee',
      typed('authorisation_asked'),
      { payee: 'stall' },
      'an authorisation for another payee',
    ],
    [
      'another one was voided',
      typed('authorisation_voided'),
      { authorisation: 'auth_x' },
      'authorisation_voided out of its order',
    ],
    [
      'the rail spoke of another payment',
      typed('rail_word'),
      { payment: 'pay_x' },
      'rail_word out of its order',
    ],
    [
      'it was taken under a standing that was never',
      typed('completing'),
      { standings: [1, 1, 9] },
      'completing while not live',
    ],
  ])('do not where %s', (_what, is, change, expected) => {
    const forged = forge(lines, (body) => void Object.assign(body.data, change), is)
    const found = why(forged)
    if (expected === 'completing while not live') expect(found).toBeDefined()
    else expect(found).toBe(expected)
  })
})
