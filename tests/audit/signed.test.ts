import { createPublicKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { receiptClaims, receiptOf } from '../../runtime/audit/receipts.ts'
import { sealOf, signSeal } from '../../runtime/audit/seal.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { receiptIdOf } from '../../runtime/core/ids.ts'
import { parseJws, verifyJws } from '../../runtime/core/jws.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import { receiptSchema, sealSchema } from '../../runtime/core/receipt.ts'
import { later } from '../../runtime/core/time.ts'
import { closeSubtree } from '../../runtime/ledger/closing.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { accepted, fixedClock, NOW, paySubmitted, startChain, startRun } from '../support/ledger.ts'
import { bodyOf, collect, signer } from './log.ts'

async function paid() {
  const ledger = createMemoryLedger({ organisation: 'acme' })
  const chain = await startChain(ledger)
  const { id } = await paySubmitted(ledger, chain.leaf)
  const input = { payment: id, amount: minor(900), railReference: 'rail-1', now: later(NOW, 3) }
  const { payment } = accepted(await ledger.execute('settle', input))
  return { ledger, payment, ...chain }
}

describe('a receipt', () => {
  it('is signed over what was settled, and over the leaf’s log at that point', async () => {
    const { run, payment, leaf } = await paid()
    const jws = parseJws(receiptOf(run, payment, signer) ?? '', 'receipt+jwt')
    if (!jws) throw new Error('expected a receipt')
    expect(verifyJws(jws, createPublicKey(signer.key))).toBe(true)
    expect(jws.header).toEqual({ alg: 'EdDSA', typ: 'receipt+jwt', kid: 'gate-1' })
    expect(receiptSchema.parse(jws.claims)).toEqual({
      iss: 'gate',
      jti: receiptIdOf(payment.id),
      iat: NOW + 3,
      payment: payment.id,
      run: run.id,
      node: leaf.id,
      payee: 'grocer',
      account: run.bindings.grocer,
      amount: 900,
      currency: 'INR',
      quote: leaf.quote,
      rail: 'simulated',
      railReference: 'rail-1',
      head: { stream: leaf.id, ...payment.endHead },
    })
  })

  it('is the same text whenever it is asked for', async () => {
    const { run, payment } = await paid()
    const again = structuredClone(payment)
    expect(receiptOf(run, again, signer)).toBe(receiptOf(run, payment, signer))
  })

  it('names no account in clear', async () => {
    const { run, payment } = await paid()
    expect(JSON.stringify(receiptClaims(run, payment, 'gate'))).not.toContain(payment.account)
  })

  it('exists for settled payments only', async () => {
    const { run, payment } = await paid()
    for (const state of ['reserved', 'submitted', 'unknown', 'released'] as const) {
      expect(receiptOf(run, { ...payment, state }, signer)).toBeUndefined()
    }
  })

  it('is refused rather than signed over a record that is not whole', async () => {
    const { run, payment } = await paid()
    const { endHead, ...headless } = payment
    expect(() => receiptOf(run, headless, signer)).toThrow()
    expect(() => receiptOf({ ...run, bindings: {} }, payment, signer)).toThrow()
  })
})

describe('a seal', () => {
  it('is signed over the closed root’s head and what was spent below it', async () => {
    const { ledger, run, root } = await paid()
    accepted(await closeSubtree(ledger, root.id, 'op', fixedClock))
    const account = await ledger.account(root.id)
    if (!account) throw new Error('expected an account')
    const jws = parseJws(signSeal(run, account, signer, NOW), 'seal+jwt')
    if (!jws) throw new Error('expected a seal')
    expect(verifyJws(jws, createPublicKey(signer.key))).toBe(true)
    expect(sealSchema.parse(jws.claims)).toEqual(sealOf(run, account, 'gate', NOW))
    expect(jws.claims).toMatchObject({
      spent: 900,
      ceiling: 100_000,
      mandate: run.mandateDigest,
      head: { stream: root.id, ...account.head },
    })
  })
})

describe('an export', () => {
  it('holds every event of every stream once, however long a stream is', async () => {
    const ledger = createMemoryLedger({ organisation: 'acme' })
    const { run, root } = await startRun(ledger)
    for (let i = 0; i < LIMITS.pageItems * 2 + 3; i += 1) {
      await ledger.execute('note', { stream: root.id, type: 'read', data: { i }, now: NOW })
    }
    const lines = await collect(exportLog(ledger))
    expect(verifyExport(lines)).toMatchObject({ ok: true, events: LIMITS.pageItems * 2 + 5 })
    const ofRun = await collect(exportLog(ledger, run.id))
    expect(ofRun).toHaveLength(lines.length - 1)
  })

  it('ends where the log ended when it began', async () => {
    const { ledger, leaf } = await paid()
    const before = (await collect(exportLog(ledger))).length
    const lines: string[] = []
    for await (const line of exportLog(ledger)) {
      lines.push(line)
      await ledger.execute('note', {
        stream: leaf.id,
        type: 'read',
        data: { i: lines.length },
        now: NOW,
      })
    }
    expect(lines).toHaveLength(before)
    expect(verifyExport(lines).ok).toBe(true)
  })

  it('is empty for a run that does not exist', async () => {
    const { ledger } = await paid()
    expect(await collect(exportLog(ledger, 'run_none'))).toEqual([])
  })

  it('holds no word of an outsider', async () => {
    const { ledger, payment } = await paid()
    const lines = await collect(exportLog(ledger))
    for (const text of ['Rice, 1 kg', payment.account, 'token of', payment.nonce]) {
      expect(lines.join('\n')).not.toContain(text)
    }
    expect(lines.map((line) => bodyOf(line).org)).toEqual(lines.map(() => 'acme'))
  })
})
