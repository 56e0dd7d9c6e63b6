/** Receipts as payees, merchants and strangers meet them: the page, the program's answer, and what holds of one. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { eventHash } from '../../runtime/core/events.ts'
import { canonicalJson } from '../../runtime/core/json.ts'
import { parseJws, signJws } from '../../runtime/core/jws.ts'
import { jwksSchema } from '../../runtime/core/keys.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import type { EventRecord, PaymentRecord } from '../../runtime/core/records.ts'
import { seconds } from '../../runtime/core/time.ts'
import { type ReceiptView, receiptViewSchema } from '../../runtime/core/wire-receipt.ts'
import { maskedAccount } from '../../runtime/http/receipt-view.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import {
  lasting,
  newKey,
  post,
  publicJwk,
  SHOP,
  signed,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

const HOSTILE = "<script>alert(1)</script>\"onload='x' & \u202eevil"

/** What the store gives back, where a test changes what is in it. */
let payments: (payment: PaymentRecord) => PaymentRecord
let events: (events: readonly EventRecord[]) => readonly EventRecord[]

function doctored(ledger: Ledger): Ledger {
  return new Proxy(ledger, {
    get: (target, name) => {
      if (name === 'payment') {
        return async (id: PaymentRecord['id']) => {
          const found = await target.payment(id)
          return found && payments(found)
        }
      }
      if (name === 'events') {
        return async (...of: Parameters<Ledger['events']>) => events(await target.events(...of))
      }
      return Reflect.get(target, name).bind(target)
    },
  })
}

let gateway: TestGateway
let run: string
let view: ReceiptView
let unsettled: string

beforeEach(() => {
  payments = (payment) => payment
  events = (list) => list
})

beforeAll(async () => {
  payments = (payment) => payment
  events = (list) => list
  const accounts = { simulated: 'IN-0042-7781-9925' }
  const payees = [{ id: SHOP, name: HOSTILE, accounts }]
  const ledger = doctored(createMemoryLedger({ organisation: 'test' }))
  gateway = await startGateway({ config: { payees }, overrides: { ledger } })
  const root = await startOutsideRun(gateway)
  run = root.run
  const pay = async (nth: number) => {
    const quote = gateway.quote()
    const leaf = await splitLeaf(gateway, root, nth, quote)
    const answer = await signed(gateway, leaf, 'POST', '/payments', { quote })
    return (await answer.json()) as { paymentId: string; receipt?: string }
  }
  const paid = await pay(0)
  view = receiptViewSchema.parse(await json(`/receipts/${paid.paymentId}`))
  gateway.rail.next = 'unknown'
  unsettled = (await pay(1)).paymentId
}, 60_000)
afterAll(() => gateway.close())

const json = async (path: string) => (await gateway.fetch(path)).json()
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const page = (id: string) => gateway.fetch(`/receipts/${id}`, { headers: browser })

describe('the address of a receipt', () => {
  it('tells a program what was paid, to whom and by which rules, and of the account its end alone', async () => {
    expect(view).toMatchObject({
      ...{ state: 'settled', gateway: 'headgate.test', merchant: SHOP, amount: 2_500 },
      payee: { id: SHOP, name: HOSTILE, account: '••••9925' },
      ...{ rail: 'simulated', railReference: 'sim_1', settledBy: 'rail' },
    })
    expect(view.shortId).toMatch(/^HG[0-9A-F]{16}$/)
    expect(gateway.rail.notes[0]).toBe(view.shortId)
    expect(view.checks).toHaveLength(9)
    const log = await (await gateway.asOperator(`/audit?run=${run}`)).text()
    expect(log).toContain(`\\"policy\\":\\"${view.policy}\\"`)
    expect(log).toContain(`\\"prev\\":\\"${view.head.previous}\\"`)
    expect(JSON.stringify(view)).not.toContain('7781')
  })

  it('gives a browser a page that says the same, and everyone else data', async () => {
    const answer = await page(view.id)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ])
    expect(answer.headers.get('vary')).toContain('Accept')
    const text = await answer.text()
    const said = ['INR 25.00', view.shortId, '••••9925', 'sim_1', view.head.hash, view.policy ?? '']
    for (const word of said) expect(text).toContain(word)
    expect(text).toContain(view.head.previous)
    for (const { name } of view.checks) expect(text).toContain(name)
    expect(text).not.toContain('7781')
    const data = await gateway.fetch(`/receipts/${view.id}`, { headers: { accept: '*/*' } })
    expect(data.headers.get('content-type')).toContain('application/json')
    expect(data.headers.get('vary')).toContain('Accept')
  })

  it('lets nobody’s words be markup, and turns no text around', async () => {
    const text = await (await page(view.id)).text()
    expect(text).not.toMatch(/<script|onload='x'|\u202e/)
    expect(text).toContain(
      '&lt;script&gt;alert(1)&lt;/script&gt;&quot;onload=&#39;x&#39; &amp; \ufffdevil',
    )
    payments = (payment) => ({ ...payment, railReference: '"><img src=x>', rail: '<b>' })
    const doctoredText = await (await page(view.id)).text()
    expect(doctoredText).toContain('&quot;&gt;&lt;img src=x&gt;')
    expect(doctoredText).not.toMatch(/<img|<b>[^✓–✗I]/)
  })

  it('runs no script and loads nothing, by its policy', async () => {
    const answer = await page(view.id)
    expect(answer.headers.get('content-security-policy')).toMatch(
      /^default-src 'none';style-src 'sha256-[\w+/]+=*';base-uri 'none';form-action 'none';frame-ancestors 'none'$/,
    )
    expect(await answer.text()).not.toMatch(/<script|<link|<img|<iframe|style="|\son\w+=/)
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('gives the signed text alone to keep, named as the statement names it', async () => {
    const answer = await gateway.fetch(`/receipts/${view.id}/jws`, { headers: browser })
    expect(answer.headers.get('content-type')).toContain('application/jose')
    expect(answer.headers.get('content-disposition')).toContain(`${view.shortId}.jws`)
    expect(await answer.text()).toBe(view.receipt)
  })

  it('answers an id that nobody gave, a text that is none and a payment that has not settled alike', async () => {
    const ids = ['rcpt_none', unsettled, unsettled.replace('pay_', 'rcpt_'), 'nothing', run]
    for (const headers of [{}, browser, { authorization: `Bearer ${gateway.token}` }]) {
      for (const tail of ['', '/jws']) {
        const answers = await Promise.all(
          ids.map(async (id) => {
            const answer = await gateway.fetch(`/receipts/${id}${tail}`, { headers })
            return [answer.status, answer.headers.get('content-type'), await answer.text()]
          }),
        )
        expect(answers[0]?.[0]).toBe(404)
        for (const answer of answers) expect(answer).toEqual(answers[0])
      }
    }
  })

  it('says the same to operators, agents and strangers', async () => {
    const bare = await json(`/receipts/${view.id}`)
    const path = `/receipts/${view.id}`
    expect(await (await gateway.asOperator(path)).json()).toEqual(bare)
    const planner = await startOutsideRun(gateway)
    expect(await (await signed(gateway, planner, 'GET', path)).json()).toEqual(bare)
  })

  it('shows what came back since, and what is under way, without touching the receipt', async () => {
    const at = seconds(1_800_000_000)
    const refund = {
      id: 'rfd_2',
      amount: minor(300),
      by: 'asha',
      atSeconds: at,
      nonce: 'n',
    } as const
    payments = (payment) => ({
      ...payment,
      reversals: [
        { id: 'r1', kind: 'reversed', amount: minor(1_000), atSeconds: at },
        { id: 'r2', kind: 'refunded', amount: minor(200), atSeconds: at },
      ],
      refunds: [
        {
          ...refund,
          id: 'rfd_1',
          amount: minor(200),
          state: 'made',
          submittedAtMs: 1,
          railReference: 'r2',
        },
        { ...refund, state: 'unknown', submittedAtMs: 1 },
        { ...refund, id: 'rfd_3', state: 'failed', submittedAtMs: 1 },
      ],
    })
    const after = receiptViewSchema.parse(await json(`/receipts/${view.id}`))
    expect(after.receipt).toBe(view.receipt)
    expect(after).toMatchObject({ refundedAmount: 200, returnedAmount: 1_200 })
    expect(after.back?.map(({ kind, state, amount }) => [kind, state, amount])).toEqual([
      ['reversed', 'made', 1_000],
      ['refunded', 'made', 200],
      ['refunded', 'pending', 300],
    ])
    const text = await (await page(view.id)).text()
    for (const word of ['INR 10.00', 'INR 2.00', 'INR 3.00', 'INR 12.00', 'a part came back']) {
      expect(text).toContain(word)
    }
    expect(text).not.toContain('asha')
  })

  it('says that people settled it where the rail had no word', async () => {
    payments = (payment) => ({ ...payment, railReference: 'resolution:abc' })
    expect(await json(`/receipts/${view.id}`)).toMatchObject({ settledBy: 'operators' })
    expect(await (await page(view.id)).text()).toContain('two operators settled it')
  })

  it.each([
    ['IN-0042-7781-9925', '••••9925'],
    ['123456789012', '••••9012'],
    ['acct-1', '••••-1'],
    ['ab', '••••'],
    ['', '••••'],
    ['erased', 'erased'],
    ['कखगघङचछजझञटठ', '••••झञटठ'],
  ])('masks the account %s as %s', (account, masked) => {
    expect(maskedAccount(account)).toBe(masked)
  })
})

describe('asking what holds of a receipt', () => {
  const ALL = { approved: true, settled: true, amount: true, merchant: true, logIntact: true }
  const NONE = {
    ...{ approved: false, settled: false, amount: false },
    ...{ merchant: false, logIntact: false },
  }
  const claim = () => ({ receipt: view.receipt, amount: 2_500, currency: 'INR', merchant: SHOP })
  const ask = async (more: object = {}) => {
    const answer = await gateway.fetch('/receipts/verify', post({ ...claim(), ...more }))
    return answer.status === 200 ? answer.json() : answer.status
  }
  const claims = () => parseJws(view.receipt, 'receipt+jwt')?.claims as Record<string, unknown>
  const resigned = (more: object, key = gateway.secrets.signing.key) => {
    const { kid } = gateway.secrets.signing
    return signJws({ typ: 'receipt+jwt', key, kid, claims: { ...claims(), ...more } })
  }

  it('answers five times yes for a receipt as it is, by its text, its id and its payment’s', async () => {
    expect(await ask()).toEqual(ALL)
    expect(await ask({ receipt: view.id })).toEqual(ALL)
    expect(await ask({ receipt: view.id.replace('rcpt_', 'pay_') })).toEqual(ALL)
  })

  it.each([
    [{ amount: 2_499 }, 'amount'],
    [{ currency: 'JPY' }, 'amount'],
    [{ merchant: 'other' }, 'merchant'],
  ])('says no to %j alone', async (more, which) => {
    expect(await ask(more)).toEqual({ ...ALL, [which]: false })
  })

  it('says no five times, in the same shape, to whatever is not a receipt of ours', async () => {
    const [head = '', body = '', mac = ''] = view.receipt.split('.')
    const other = Buffer.from(body, 'base64url').toString().replace('2500', '2501')
    for (const receipt of [
      'rcpt_none',
      'nothing',
      unsettled,
      unsettled.replace('pay_', 'rcpt_'),
      run,
      `${head}.${Buffer.from(other).toString('base64url')}.${mac}`,
      resigned({}, newKey()),
      gateway.sign(gateway.claims()),
    ]) {
      expect(await ask({ receipt })).toEqual(NONE)
    }
  })

  it('says no five times to what the key signed and the ledger does not say', async () => {
    for (const more of [
      { amount: 9_999 },
      { iss: 'headgate.other' },
      { payee: 'other' },
      { head: { ...(claims().head as object), seq: 1 } },
      { account: view.head.hash },
      { more: 1 },
    ]) {
      expect(await ask({ receipt: resigned(more) })).toEqual(NONE)
    }
    expect(await ask({ receipt: resigned({}) })).toEqual(ALL)
  })

  it('is settled until all of it has come back, and not a unit longer', async () => {
    const back = (amount: number) => (payment: PaymentRecord) => ({
      ...payment,
      reversals: [
        { id: 'r', kind: 'reversed', amount: minor(amount), atSeconds: seconds(1) } as const,
      ],
    })
    payments = back(2_499)
    expect(await ask()).toEqual(ALL)
    payments = back(2_500)
    expect(await ask()).toEqual({ ...ALL, settled: false })
  })

  it('is approved only where all nine checks passed or did not apply', async () => {
    payments = (payment) => ({
      ...payment,
      checks: payment.checks.map((check) => (check.n === 7 ? { ...check, status: 'held' } : check)),
    })
    expect(await ask()).toEqual({ ...ALL, approved: false })
    payments = (payment) => ({ ...payment, checks: payment.checks.slice(1) })
    expect(await ask()).toEqual({ ...ALL, approved: false })
  })

  const at = (nth: number, change: (event: EventRecord) => EventRecord) => {
    events = (list) => list.map((event) => (event.seq === nth ? change(event) : event))
  }
  const rewritten = (event: EventRecord, more: object) => ({
    ...event,
    body: canonicalJson({ ...JSON.parse(event.body), ...more }),
  })

  it('says that the log is broken where any event up to the receipt was touched', async () => {
    for (let nth = 1; nth <= view.head.seq; nth += 1) {
      at(nth, (event) => rewritten(event, { at: 1 }))
      expect(await ask()).toEqual({ ...ALL, logIntact: false })
      at(nth, (event) => ({ ...event, hash: view.id }))
      expect(await ask()).toEqual({ ...ALL, logIntact: false })
    }
    for (let nth = 1; nth < view.head.seq; nth += 1) {
      at(nth, (event) => {
        const { body } = rewritten(event, { at: 1 })
        return { ...event, body, hash: eventHash(body) }
      })
      expect(await ask()).toEqual({ ...ALL, logIntact: false })
    }
    events = (list) => list.filter(({ seq }) => seq !== view.head.seq)
    expect(await ask()).toEqual({ ...ALL, logIntact: false })
    events = () => []
    expect(await ask()).toEqual({ ...ALL, logIntact: false })
  })

  it('says no five times where the record itself was moved to another place of the log', async () => {
    const [first] = await gateway.headgate.ledger.events(view.head.stream as never, 0, 1)
    payments = (payment) => ({ ...payment, endHead: { seq: 1, hash: first?.hash ?? '' } })
    expect(await ask()).toEqual(NONE)
    expect(await ask({ receipt: view.id })).toEqual({ ...ALL, logIntact: false })
  })

  it.each([
    ['without its amount', { amount: undefined }],
    ['with an amount as text', { amount: '2500' }],
    ['with an amount below nothing', { amount: -1 }],
    ['with a currency that there is not', { currency: 'inr' }],
    ['with a merchant that there cannot be', { merchant: 'a b' }],
    ['with a field too many', { extra: true }],
    ['with a receipt that is too long', { receipt: 'x'.repeat(LIMITS.receiptChars + 1) }],
    ['with an empty receipt', { receipt: '' }],
  ])('refuses a body %s', async (_what, more) => {
    expect(await ask(more)).toBe(400)
  })

  it('wears out for what nobody knows and never for what is ours', async () => {
    const other = await startGateway()
    try {
      const planner = await startOutsideRun(other)
      const quote = other.quote()
      const leaf = await splitLeaf(other, planner, 0, quote)
      const paid = await signed(other, leaf, 'POST', '/payments', { quote })
      const { receipt } = (await paid.json()) as { receipt: string }
      const asked = async (of: string) => {
        const body = { ...claim(), receipt: of }
        return (await other.fetch('/receipts/verify', post(body))).status
      }
      for (let i = 0; i < LIMITS.receiptAsks; i += 1) expect(await asked(`rcpt_${i}`)).toBe(200)
      expect(await asked('rcpt_x')).toBe(429)
      for (let i = 0; i < LIMITS.receiptAsks; i += 1) expect(await asked(receipt)).toBe(200)
      expect(await asked(receipt)).toBe(429)
    } finally {
      await other.close()
    }
  })
})

describe('a receipt that was kept', () => {
  it('is proved by an export, and shows where the end was cut off', async () => {
    const jwks = jwksSchema.parse(await json('/.well-known/jwks.json'))
    const log = await (await gateway.asOperator('/audit')).text()
    const lines = log.split('\n')
    const receipts = [view.receipt]
    expect(verifyExport(lines, { receipts, jwks }).broken).toBeUndefined()
    const isOfLeaf = (line: string) => line.includes(`\\"stream\\":\\"${view.head.stream}\\"`)
    const settled = lines.findIndex(
      (line) => isOfLeaf(line) && line.includes('\\"type\\":\\"settled\\"'),
    )
    const cut = lines.filter((line, i) => i < settled || !isOfLeaf(line))
    expect(verifyExport(cut, { jwks, links: true }).broken).toBeUndefined()
    expect(verifyExport(cut, { receipts, jwks, links: true }).broken?.why).toBe(
      'the log ends before this receipt',
    )
  })

  it('outlives the keys that signed it and its run’s tokens, and what was personal', async () => {
    const ledger = lasting()
    const first = await startGateway({ overrides: { ledger } })
    const root = await startOutsideRun(first)
    const quote = first.quote()
    const leaf = await splitLeaf(first, root, 0, quote)
    const paid = await signed(first, leaf, 'POST', '/payments', { quote })
    const { receipt, paymentId } = (await paid.json()) as { receipt: string; paymentId: string }
    await first.close()
    const { kid, key } = first.secrets.signing
    const roots = {
      root: { id: 2, key: newKey() },
      signing: { kid: 'gateway-2', key: newKey(), before: [publicJwk(key, kid)] },
    }
    const second = await startGateway({ overrides: { ledger }, again: first, roots })
    try {
      await second.asOperator(`/runs/${root.run}/cancel`, {})
      expect((await second.asOperator(`/runs/${root.run}/erase`, {})).status).toBe(200)
      const answer = await second.fetch('/.well-known/jwks.json')
      const jwks = jwksSchema.parse(await answer.json())
      expect(jwks.keys.map((each) => each.kid)).toEqual(['gateway-2', 'gateway-1'])
      const now = receiptViewSchema.parse(
        await (await second.fetch(`/receipts/${paymentId}`)).json(),
      )
      expect(now).toMatchObject({ erased: true, payee: { account: 'erased' } })
      expect(parseJws(now.receipt, 'receipt+jwt')?.header.kid).toBe('gateway-2')
      expect(parseJws(now.receipt, 'receipt+jwt')?.claims).toEqual(
        parseJws(receipt, 'receipt+jwt')?.claims,
      )
      for (const each of [receipt, now.receipt]) {
        const claim = { receipt: each, amount: 2_500, currency: 'INR', merchant: SHOP }
        const asked = await second.fetch('/receipts/verify', post(claim))
        expect(Object.values((await asked.json()) as object)).toEqual(Array(5).fill(true))
      }
      const log = await (await second.asOperator('/audit')).text()
      const receipts = [receipt, now.receipt]
      expect(verifyExport(log.split('\n'), { receipts, jwks }).broken).toBeUndefined()
      const page = await second.fetch(`/receipts/${paymentId}`, { headers: browser })
      expect(await page.text()).toContain('erased, with all that was personal')
    } finally {
      await second.close()
    }
  })
})
