import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../runtime/core/clock.ts'
import { minor } from '../../runtime/core/money.ts'
import type { RailOrder } from '../../runtime/core/rail.ts'
import { createRazorpayRail, registerRazorpayPayee } from '../../runtime/rails/razorpay.ts'
import { credentialsOf, impatientFor, knownOf, orderOf, railOf } from '../support/razorpay/rail.ts'
import { type RazorpayStandIn, startRazorpayStandIn } from '../support/razorpay-stand-in.ts'

const LAKH = 100_000 * 100

describe('a payout at Razorpay', () => {
  let standIn: RazorpayStandIn
  let bank: string
  let vpa: string
  beforeEach(async () => {
    standIn = await startRazorpayStandIn({ balance: 20 * LAKH })
    bank = standIn.accounts[0] ?? ''
    vpa = standIn.upi
  })
  afterEach(() => standIn.close())

  const bodies = () =>
    standIn.seen.filter(({ operation }) => operation === 'payout.create').map(({ body }) => body)

  it('is pending until the bank has it, and settled with the rail’s own id then', async () => {
    const rail = railOf(standIn)
    const order = orderOf({ account: bank })
    standIn.script({ on: 'payout.create', fault: 'pending' })
    const first = await rail.pay(order)
    expect(first).toEqual({
      kind: 'pending',
      awaits: 'rail',
      reference: expect.stringMatching(/^pout_[A-Za-z0-9]{14}$/),
      status: 'PROCESSING',
    })
    expect(await rail.lookup(order.key, knownOf(order, first))).toEqual(first)
    standIn.advance(3600)
    const settled = await rail.lookup(order.key, knownOf(order, first))
    expect(settled).toMatchObject({ kind: 'settled', amount: 125_000, status: 'PROCESSED' })
    expect(await rail.lookup(order.key)).toEqual(settled)
  })

  it('carries our key as header and reference, and says everything that Razorpay would assume', async () => {
    const order = orderOf({
      account: bank,
      note: '  two (2) "chairs", für  the office of the desk bazaar',
    })
    await railOf(standIn).pay(order)
    const sent = standIn.seen.find(({ operation }) => operation === 'payout.create')
    expect(sent?.headers['x-payout-idempotency']).toBe(order.key)
    expect(sent?.body).toEqual({
      account_number: standIn.accountNumber,
      fund_account_id: bank,
      amount: 125_000,
      currency: 'INR',
      mode: 'IMPS',
      purpose: 'payout',
      queue_if_low_balance: false,
      reference_id: order.key,
      narration: 'two 2 chairs f r the office of',
    })
  })

  it.each([
    ['UPI up to one lakh', 'upi', LAKH, 'UPI'],
    ['IMPS up to five lakh', 'bank', 5 * LAKH, 'IMPS'],
    ['RTGS above', 'bank', 5 * LAKH + 1, 'RTGS'],
  ])('goes by %s', async (_what, kind, amount, mode) => {
    const order = orderOf({ account: kind === 'upi' ? vpa : bank, amount: minor(amount) })
    expect(await railOf(standIn).pay(order)).toMatchObject({ kind: 'pending' })
    expect(bodies()).toMatchObject([{ mode, amount }])
  })

  it.each([
    [
      'more than UPI carries',
      () => ({ account: vpa, amount: minor(LAKH + 1) }),
      'account_takes_no_such_amount',
    ],
    ['an account that is not there', () => ({ account: 'fa_00000000000000' }), 'account_unknown'],
    ['less than a rupee', () => ({ account: bank, amount: minor(99) }), 'order_not_expressible'],
    ['another currency', () => ({ account: bank, currency: 'USD' }), 'order_not_expressible'],
    ['a key that no header takes', () => ({ account: bank, key: 'k' }), 'order_not_expressible'],
  ] as const)('is not sent for %s', async (_what, change, reason) => {
    const order = orderOf(change())
    expect(await railOf(standIn).pay(order)).toEqual({ kind: 'notSent', reason })
    expect(bodies()).toEqual([])
  })

  it('is not sent to an account that was deactivated', async () => {
    standIn.deactivate(bank)
    const outcome = await railOf(standIn).pay(orderOf({ account: bank }))
    expect(outcome).toEqual({ kind: 'notSent', reason: 'account_inactive' })
  })

  it('is not sent once asking for the account took all the time there was', async () => {
    standIn.script({ on: 'fundAccount.fetch', fault: 'hang' })
    const transport = impatientFor(({ method }) => method === 'GET')
    const outcome = await railOf(standIn, { transport }).pay(orderOf({ account: bank }))
    expect(outcome).toMatchObject({ kind: 'notSent' })
    expect(bodies()).toEqual([])
  })

  it('is declined where the balance is too low, which Razorpay calls a bad request, under this key and no other', async () => {
    const order = orderOf({ account: bank, amount: minor(21 * LAKH) })
    expect(await railOf(standIn).pay(order)).toEqual({
      kind: 'declined',
      reason: 'refused_by_rail',
    })
    const creates = standIn.seen.filter(({ operation }) => operation === 'payout.create')
    expect(creates.map(({ headers }) => headers['x-payout-idempotency'])).toEqual([order.key])
    expect(standIn.book()).toEqual({ totals: {}, payments: 0, refunds: 0 })
  })

  it('is not called declined where Razorpay refused and then could not say that it has none', async () => {
    standIn.script({ on: 'payout.list', fault: 'html502Before' })
    const order = orderOf({ account: bank, amount: minor(21 * LAKH) })
    expect(await railOf(standIn).pay(order)).toMatchObject({ kind: 'unknown' })
  })

  it('that failed is declined with a documented reason, and gives the money back', async () => {
    const rail = railOf(standIn)
    standIn.script({ on: 'payout.create', fault: 'decline' })
    const order = orderOf({ account: bank })
    const first = await rail.pay(order)
    expect(await rail.lookup(order.key, knownOf(order, first))).toEqual({
      kind: 'declined',
      reason: 'bank_account_invalid',
      status: 'FAILED',
    })
  })

  it('that was processed and then reversed is settled, and all of it came back by one id', async () => {
    const rail = railOf(standIn)
    const order = orderOf({ account: bank })
    const first = await rail.pay(order)
    const known = knownOf(order, await rail.lookup(order.key, knownOf(order, first)))
    standIn.advance(3 * 24 * 3600)
    standIn.comeBack(order.key)
    const { reference } = known
    const found = await rail.lookup(order.key, known)
    expect(found).toEqual({
      kind: 'settled',
      reference,
      amount: 125_000,
      currency: 'INR',
      status: 'REVERSED',
      returned: true,
      back: [{ id: `${reference}.reversal`, kind: 'reversed', amount: 125_000 }],
    })
    expect(await rail.lookup(order.key)).toEqual(found)
    expect(standIn.book().totals).toEqual({ INR: 0 })
  })

  it('keeps its key for the seven days that the adapter declares, and not for longer', async () => {
    const rail = railOf(standIn)
    const order = orderOf({ account: bank })
    await rail.pay(order)
    standIn.advance(rail.truth.keyLifeSeconds - 60)
    expect(await rail.pay(order)).toMatchObject({ kind: 'settled' })
    expect(standIn.book().payments).toBe(1)
  })

  it('is never absent by a list that was not whole, nor by another account’s payout', async () => {
    const rail = railOf(standIn)
    const order = orderOf({ account: bank })
    const outcome = await rail.pay(order)
    standIn.script({ on: 'payout.list', fault: 'html200After' })
    expect(await rail.lookup(order.key)).toEqual({ kind: 'unknown', reason: 'answer_malformed' })
    const elsewhere = knownOf({ ...order, account: vpa }, outcome)
    expect(await rail.lookup(order.key, elsewhere)).toEqual({
      kind: 'unknown',
      reason: 'answer_differs',
    })
    const other = orderOf({ account: bank })
    expect(await rail.lookup(other.key, knownOf(other, outcome))).toEqual({
      kind: 'unknown',
      reason: 'answer_differs',
    })
  })

  it('is looked up with keys that Razorpay accepts, or nothing is known', async () => {
    const rail = railOf(standIn, { keySecret: 'not-the-secret' })
    const order = orderOf({ account: bank })
    expect(await rail.lookup(order.key)).toEqual({ kind: 'unknown', reason: 'not_authenticated' })
    await expect(rail.ready()).rejects.toMatchObject({
      code: 'rail_unconfigured',
      message: 'Razorpay does not accept the keys',
    })
  })

  it('can be called back while it waits for the balance, and not later', async () => {
    const rail = railOf(standIn)
    const order = orderOf({ account: bank })
    standIn.script({ on: 'payout.create', fault: 'pending' })
    const first = await rail.pay(order)
    expect(await rail.cancel?.(knownOf(order, first))).toEqual(first)
    standIn.enqueue(order.key)
    expect(await rail.cancel?.(knownOf(order, first))).toMatchObject({
      kind: 'declined',
      status: 'CANCELLED',
    })
  })
})

describe('what can be expressed on Razorpay', () => {
  const order = (account: string, amount: number, currency: RailOrder['currency']) => ({
    account,
    amount: minor(amount),
    currency,
  })
  const fa = `fa_${'A'.repeat(14)}`

  it.each([
    [order(fa, 100, 'INR'), undefined],
    [order(fa, 99, 'INR'), 'amount'],
    [order(fa, 100, 'USD'), 'currency'],
    [order('order', 1, 'USD'), undefined],
    [order('order', 99, 'INR'), 'amount'],
    [order('link', 1, 'JPY'), undefined],
    [order('link', 1_230, 'KWD'), undefined],
    [order('link', 1_234, 'KWD'), 'amount'],
    [order('order', 0, 'USD'), 'amount'],
    [order(`${fa}B`, 100, 'INR'), 'account'],
    [order('fa_../../orders/x', 100, 'INR'), 'account'],
    [order('links', 100, 'INR'), 'account'],
  ])('%j: %s', async (asked, expected) => {
    const standIn = await startRazorpayStandIn()
    expect(railOf(standIn).expressible?.(asked)).toBe(expected)
    expect(standIn.seen).toEqual([])
    await standIn.close()
  })
})

describe('Razorpay’s adapter', () => {
  const good = {
    mode: 'test',
    keyId: `rzp_test_${'A'.repeat(14)}`,
    keySecret: 'a-secret-of-many',
    accountNumber: '2323230041626905',
    webhookSecrets: ['a-webhook-secret'],
    url: 'http://127.0.0.1:1',
    clock: systemClock(),
  } as const

  it.each([
    ['a live key in test mode', { keyId: `rzp_live_${'A'.repeat(14)}` }],
    ['a test key in live mode', { mode: 'live', url: undefined }],
    ['a key of another shape', { keyId: 'sk_test_AAAAAAAAAAAAAA' }],
    ['no key secret', { keySecret: '' }],
    ['an empty webhook secret', { webhookSecrets: [''] }],
    ['no webhook secret', { webhookSecrets: [] }],
    ['a host of somebody else', { url: 'https://api.razorpay.com.example' }],
    ['Razorpay over plain http', { url: 'http://api.razorpay.com' }],
    ['a path', { url: 'http://127.0.0.1:1/v1' }],
    ['a user in the address', { url: 'http://a:b@127.0.0.1:1' }],
    ['a live key at a stand-in', { mode: 'live', keyId: `rzp_live_${'A'.repeat(14)}` }],
    ['an account number that is none', { accountNumber: '../x' }],
  ] as const)('is not made with %s', (_what, change) => {
    const { url, ...rest } = { ...good, ...change }
    const options = url === undefined ? rest : { ...rest, url }
    expect(() => createRazorpayRail(options)).toThrow(
      expect.objectContaining({ code: 'rail_unconfigured', retryable: false }),
    )
    expect(() => createRazorpayRail(good)).not.toThrow()
  })

  it('is ready where payouts can be made, and says in a sentence what the account cannot do', async () => {
    const standIn = await startRazorpayStandIn({ payoutsEnabled: false })
    await expect(railOf(standIn).ready()).rejects.toMatchObject({
      code: 'rail_limited',
      message: expect.stringMatching(/can make no payouts from this account number/),
    })
    await standIn.close()
  })

  it('registers a payee once, however often it is told to', async () => {
    const standIn = await startRazorpayStandIn()
    const options = { mode: 'test', ...credentialsOf(standIn), url: standIn.url } as const
    const person = { kind: 'vpa', name: 'Desk Bazaar', address: 'desk.bazaar@upi' } as const
    const account = await registerRazorpayPayee(options, person)
    expect(account).toMatch(/^fa_[A-Za-z0-9]{14}$/)
    expect(await registerRazorpayPayee(options, person)).toBe(account)
    const other = await registerRazorpayPayee(options, {
      kind: 'bank',
      name: 'Desk Bazaar',
      ifsc: 'HDFC0000053',
      accountNumber: '765432123456789',
    })
    expect(other).not.toBe(account)
    expect(await railOf(standIn).pay(orderOf({ account: other }))).toMatchObject({
      kind: 'pending',
    })
    await expect(
      registerRazorpayPayee(options, { ...person, address: 'desk bazaar' }),
    ).rejects.toThrow()
    await standIn.close()
  })
})

describe('the stand-in as a process', () => {
  it('prints one line with all that a client needs, obeys by HTTP, and ends on SIGTERM', async () => {
    const child = spawn(process.execPath, ['tests/support/razorpay-stand-in.ts'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const ready = JSON.parse(String((await lines.next()).value)) as RazorpayStandIn & {
      pid: number
    }
    expect(ready.pid).toBe(child.pid)
    const rail = railOf(ready)
    const order = orderOf({ account: ready.accounts[0] ?? '' })
    const control = async (name: string, body?: unknown) => {
      const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
      return (await fetch(`${ready.url}/_control/${name}`, init)).json()
    }
    await control('script', { on: 'payout.create', fault: 'resetAfter' })
    expect(await rail.pay(order)).toMatchObject({ kind: 'unknown' })
    expect(await control('book')).toEqual({ totals: { INR: 125_000 }, payments: 1, refunds: 0 })
    expect(await rail.lookup(order.key)).toMatchObject({ kind: 'settled' })
    expect(await control('come-back', { key: order.key })).toEqual({})
    expect(await control('messages')).toHaveLength(3)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  })
})
