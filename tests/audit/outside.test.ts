/** What the gateway's stream says of money that moved without us, as an auditor reads it. */
import { describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { type EventData, type EventType, eventBody, eventHash } from '../../runtime/core/events.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { MOVED } from '../ledger/contract/inbox.ts'
import { accepted, NOW } from '../support/ledger.ts'
import { collect } from './log.ts'

type Told = { [T in EventType]: readonly [type: T, data: EventData[T]] }[EventType]

/** A gateway's stream that says exactly this, chained and hashed as it must be. */
function streamOf(...told: readonly Told[]): string[] {
  let prev = 'A'.repeat(43)
  return told.map(([type, data], i) => {
    const of = { org: 'acme', stream: 'gateway', seq: i + 1, prev, at: NOW, type, data } as const
    const body = eventBody(of as never)
    prev = eventHash(body)
    return JSON.stringify({ hash: prev, body })
  })
}

const { id, object, rail, type, direction, amount, currency, status } = MOVED
const outside: Told = [
  'outside',
  { outside: id, rail, object, type, direction, amount, currency, status },
]
const known: Told = ['acknowledged', { outside: id, evidence: 'B'.repeat(43), by: 'operator:asha' }]

const why = (...told: readonly Told[]) => verifyExport(streamOf(...told)).broken?.why

describe('money from outside in the log', () => {
  it('is told and acknowledged, as the ledger writes it', async () => {
    const ledger = createMemoryLedger({ organisation: 'acme' })
    accepted(await ledger.execute('outside', { outside: MOVED, now: NOW }))
    const word = { outside: id, evidence: 'rent', by: 'operator:asha', attempt: 'a', now: NOW }
    accepted(await ledger.execute('acknowledge', word))
    expect(verifyExport(await collect(exportLog(ledger)))).toMatchObject({ ok: true, events: 2 })
    expect(why(outside, known)).toBeUndefined()
  })

  it('is told once, and acknowledged once, after it was told', () => {
    expect(why(outside, outside)).toBe('what moved outside is told twice')
    expect(why(outside, known, known)).toBe('acknowledged twice')
    expect(why(known)).toBe('acknowledges what nobody told')
    expect(why(known, outside)).toBe('acknowledges what nobody told')
  })

  it('is an event of the gateway alone', async () => {
    const [line = ''] = streamOf(outside)
    const body = (JSON.parse(line).body as string).replace('"stream":"gateway"', '"stream":"nd_x"')
    const forged = JSON.stringify({ hash: eventHash(body), body })
    expect(verifyExport([forged]).ok).toBe(false)
  })
})
