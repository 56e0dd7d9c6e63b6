import { describe, expect, it } from 'vitest'
import type { BlockClaims } from '../../runtime/core/block.ts'
import { deny, hold } from '../../runtime/core/codes.ts'
import type { VerifiedToken } from '../../runtime/core/engine.ts'
import { paymentIdOf, sha256 } from '../../runtime/core/ids.ts'
import type { Snapshot } from '../../runtime/core/ledger.ts'
import { type Mandate, mandateSchema } from '../../runtime/core/mandate.ts'
import { minor } from '../../runtime/core/money.ts'
import { type Quote, quoteSchema } from '../../runtime/core/quote.ts'
import type { Standing } from '../../runtime/core/records.ts'
import type { Attempt } from '../../runtime/gateway/attempt.ts'
import { shape } from '../../runtime/gateway/checks/01-shape.ts'
import { authenticity } from '../../runtime/gateway/checks/02-authenticity.ts'
import { standing } from '../../runtime/gateway/checks/03-standing.ts'
import { depth } from '../../runtime/gateway/checks/04-depth.ts'
import { capability } from '../../runtime/gateway/checks/05-capability.ts'
import { quote } from '../../runtime/gateway/checks/06-quote.ts'
import { policy } from '../../runtime/gateway/checks/07-policy.ts'
import { funds } from '../../runtime/gateway/checks/08-funds.ts'
import { monitor } from '../../runtime/gateway/checks/09-monitor.ts'
import type { Facts, FundsRefusal, QuoteFacts } from '../../runtime/gateway/facts.ts'
import { at, START } from './world.ts'

const HOLDER = 'H'.repeat(43)
const DIGEST = sha256('quote')
const BINDING = sha256('account')
const MANDATE = sha256('mandate')

const mandate: Mandate = mandateSchema.parse({
  iss: 'ada',
  aud: 'gw',
  jti: 'm1',
  iat: START,
  exp: START + 1_000,
  task: 'pens',
  currency: 'INR',
  ceiling: 10_000,
  payees: ['shop', 'stall'],
  limits: { depth: 2, fanOut: 5, nodes: 10 },
})

const root: BlockClaims = {
  node: 'nd_root',
  kind: 'planner',
  currency: 'INR',
  ceiling: minor(10_000),
  holder: HOLDER,
  expiresAtSeconds: at(1_000),
  payees: ['shop', 'stall'],
  mandate: MANDATE,
  run: 'run_1',
}

const leaf: BlockClaims = {
  node: 'nd_leaf',
  kind: 'leaf',
  currency: 'INR',
  ceiling: minor(500),
  holder: HOLDER,
  expiresAtSeconds: at(900),
  payees: ['shop'],
  quote: DIGEST,
}

const claims: Quote = quoteSchema.parse({
  iss: 'shop',
  jti: 'q1',
  iat: START,
  exp: START + 600,
  kind: 'merchant',
  payee: 'shop',
  lines: [{ sku: 'pen', title: 'Pen', quantity: 5, unitAmount: 100 }],
  amount: 500,
  currency: 'INR',
})

const live = (node: Standing['node']): Standing => ({ node, state: 'live', version: 1 })

const snapshot: Snapshot = {
  run: {
    id: 'run_1',
    principal: 'ada',
    jti: 'm1',
    mandate: 'text',
    mandateDigest: MANDATE,
    root: 'nd_root',
    currency: 'INR',
    ceiling: minor(10_000),
    bindings: { shop: BINDING },
    agent: { engine: 'scripted' },
    createdAtSeconds: at(0),
    expiresAtSeconds: at(1_000),
    state: 'running',
  },
  path: [],
  standings: [live('nd_root'), live('nd_leaf')],
  gateway: live('gateway'),
  account: {
    node: 'nd_leaf',
    run: 'run_1',
    ceiling: minor(500),
    available: minor(500),
    reserved: minor(0),
    spent: minor(0),
    allotted: minor(0),
    reversed: minor(0),
    nodesLeft: 0,
    children: 0,
    openChildren: 0,
    head: { seq: 1, hash: DIGEST },
  },
  holds: [],
  counters: [],
}

const verified: VerifiedToken = {
  rootKeyId: 1,
  blocks: [root, leaf],
  revocationIds: ['a', 'b'],
  sealed: true,
  authorised: true,
}

const token = (change: Partial<VerifiedToken> = {}): Facts['token'] & object => ({
  ok: true,
  token: { ...verified, ...change },
})

const presented: QuoteFacts = { digest: DIGEST, claims, signed: true, binding: BINDING }

const good: Facts = {
  token: token(),
  proofHolds: true,
  chainRecorded: true,
  snapshot,
  mandate,
  quote: presented,
  policy: { decision: { verdicts: [], bounds: [] }, refusedByPerson: false },
  funds: { kind: 'reserved' },
  monitor: { kind: 'allow' },
}

const request = { token: 't', proof: 'p', method: 'POST', url: 'u', body: {} }
const pay: Attempt = { operation: 'pay', parsed: { ok: true, request }, now: at(10) }
const when = (offset: number): Attempt => ({ ...pay, now: at(offset) })
const asking = (operation: Attempt['operation']): Attempt => ({ ...pay, operation })
const blocks = (...chain: BlockClaims[]): Facts => ({ ...good, token: token({ blocks: chain }) })

describe('check 1, shape', () => {
  it('passes what was parsed and tells why anything else was not', () => {
    expect(shape(pay)).toBeUndefined()
    for (const code of ['malformed', 'too_large', 'ambiguous'] as const) {
      expect(shape({ ...pay, parsed: { ok: false, code } })).toEqual(deny(code))
    }
  })
})

describe('check 2, authenticity', () => {
  it('passes a recorded chain with a proof by its holder', () => {
    expect(authenticity(pay, good)).toBeUndefined()
  })

  it('repeats the engine’s refusal', () => {
    for (const code of ['token_invalid', 'root_unknown', 'grammar', 'signer'] as const) {
      expect(authenticity(pay, { ...good, token: { ok: false, code } })).toEqual(deny(code))
    }
  })

  it('refuses a proof that does not hold, and a chain that was never recorded', () => {
    expect(authenticity(pay, { ...good, proofHolds: false })).toEqual(deny('proof_invalid'))
    expect(authenticity(pay, { ...good, chainRecorded: false })).toEqual(deny('token_invalid'))
  })
})

describe('check 3, standing', () => {
  const inRun = (change: Partial<Snapshot['run']>): Facts => ({
    ...good,
    snapshot: { ...snapshot, run: { ...snapshot.run, ...change } },
  })
  const with_ = (change: Partial<Snapshot>): Facts => ({
    ...good,
    snapshot: { ...snapshot, ...change },
  })
  const state = (of: Standing['state']): Standing => ({ node: 'nd_root', state: of, version: 2 })

  it('passes a live path under a mandate that holds, up to the last second', () => {
    expect(standing(pay, good)).toBeUndefined()
    expect(standing(when(899), good)).toBeUndefined()
    expect(standing(when(900), good)).toEqual(deny('expired'))
  })

  it('refuses once an ancestor or the mandate has expired', () => {
    const early = blocks({ ...root, expiresAtSeconds: at(10) }, leaf)
    expect(standing(when(9), early)).toBeUndefined()
    expect(standing(when(10), early)).toEqual(deny('expired'))
    const short: Facts = {
      ...inRun({ expiresAtSeconds: at(10) }),
      mandate: { ...mandate, exp: at(10) },
    }
    expect(standing(when(9), short)).toBeUndefined()
    expect(standing(when(10), short)).toEqual(deny('expired'))
  })

  it('refuses a mandate that does not verify, or that the record says more than', () => {
    const { mandate: _gone, ...unverified } = good
    const edits: Facts[] = [
      unverified,
      inRun({ ceiling: minor(10_001) }),
      inRun({ currency: 'USD' }),
      inRun({ principal: 'eve' }),
      inRun({ jti: 'm2' }),
      inRun({ expiresAtSeconds: at(2_000) }),
      inRun({ mandateDigest: sha256('another') }),
      blocks({ ...root, mandate: sha256('another') }, leaf),
    ]
    for (const facts of edits) expect(standing(pay, facts)).toEqual(deny('mandate_invalid'))
  })

  it('refuses before the mandate’s nbf and passes at it', () => {
    const facts = { ...good, mandate: { ...mandate, nbf: at(10) } }
    expect(standing(when(9), facts)).toEqual(deny('mandate_invalid'))
    expect(standing(when(10), facts)).toBeUndefined()
  })

  it('refuses when the node, an ancestor or the gateway was stopped', () => {
    const own = live('nd_leaf')
    expect(standing(pay, with_({ standings: [state('revoked'), own] }))).toEqual(deny('revoked'))
    expect(standing(pay, with_({ standings: [state('frozen'), own] }))).toEqual(deny('frozen'))
    expect(standing(pay, with_({ standings: [state('closing'), own] }))).toEqual(deny('run_closed'))
    expect(standing(pay, with_({ standings: [state('closed'), own] }))).toEqual(deny('run_closed'))
    expect(standing(pay, with_({ gateway: state('frozen') }))).toEqual(deny('frozen'))
    expect(standing(pay, inRun({ state: 'cancelling' }))).toEqual(deny('run_closed'))
    expect(standing(pay, inRun({ state: 'completed' }))).toEqual(deny('run_closed'))
  })

  it('lets a planner read what came of a run that has ended, but not one that was revoked', () => {
    expect(standing(asking('read'), inRun({ state: 'completed' }))).toBeUndefined()
    const revoked = with_({ standings: [state('revoked')] })
    expect(standing(asking('read'), revoked)).toEqual(deny('revoked'))
  })
})

describe('check 4, depth', () => {
  const planner = (n: number): BlockClaims => ({ ...root, node: `nd_${n}` })

  it('passes at the mandate’s depth and refuses one deeper', () => {
    expect(depth(pay, blocks(root, planner(1), leaf))).toBeUndefined()
    expect(depth(pay, blocks(root, planner(1), planner(2), leaf))).toEqual(deny('depth'))
  })

  it('refuses the root itself as payer or looker, and lets it delegate and read', () => {
    expect(depth(pay, blocks(root))).toEqual(deny('depth'))
    expect(depth(asking('search'), blocks(root))).toEqual(deny('depth'))
    expect(depth(asking('delegate'), blocks(root))).toBeUndefined()
    expect(depth(asking('read'), blocks(root))).toBeUndefined()
  })

  it('refuses a chain that widens anywhere', () => {
    expect(depth(pay, { ...good, token: token({ widenedAt: 1 }) })).toEqual(deny('widened'))
  })

  it('refuses a first block that says more than the mandate', () => {
    const wider: Partial<BlockClaims>[] = [
      { ceiling: minor(10_001) },
      { currency: 'USD' },
      { expiresAtSeconds: at(1_001) },
      { payees: ['bank', 'shop'] },
    ]
    for (const change of wider) {
      expect(depth(pay, blocks({ ...root, ...change }, leaf))).toEqual(deny('widened'))
    }
  })
})

describe('check 5, capability', () => {
  const looker: BlockClaims = { ...leaf, kind: 'looker' }

  it('lets each kind of node do what it is for, and nothing else', () => {
    const may: [BlockClaims, Attempt['operation'][]][] = [
      [leaf, ['pay']],
      [looker, ['search', 'quote']],
      [root, ['delegate', 'read']],
    ]
    for (const [block, allowed] of may) {
      for (const operation of ['pay', 'search', 'quote', 'delegate', 'read'] as const) {
        const judgement = capability(asking(operation), blocks(root, block))
        expect(judgement).toEqual(allowed.includes(operation) ? undefined : deny('not_a_leaf'))
      }
    }
  })

  it('refuses what the token’s own checks do not permit, or were never asked', () => {
    const { authorised: _unasked, ...rest } = verified
    expect(capability(pay, { ...good, token: token({ authorised: false }) })).toEqual(
      deny('capability'),
    )
    expect(capability(pay, { ...good, token: { ok: true, token: rest } })).toEqual(
      deny('capability'),
    )
  })

  it('leaves a text that is no quote to check 6', () => {
    const facts = { ...good, quote: { digest: DIGEST, signed: false } }
    expect(capability(pay, facts)).toBe('not-applicable')
    expect(quote(pay, facts)).toEqual(deny('quote_invalid'))
  })
})

describe('check 6, quote', () => {
  const offer = (change: Partial<Quote>): Facts => ({
    ...good,
    quote: { ...presented, claims: { ...claims, ...change } },
  })

  it('passes the leaf’s own quote up to its last second', () => {
    expect(quote(when(599), good)).toBeUndefined()
    expect(quote(when(600), good)).toEqual(deny('quote_expired'))
  })

  it('refuses what its issuer did not sign, and what is signed for the future', () => {
    const unsigned = { ...good, quote: { ...presented, signed: false } }
    expect(quote(pay, unsigned)).toEqual(deny('quote_invalid'))
    expect(quote(pay, offer({ iat: at(12) }))).toBeUndefined()
    expect(quote(pay, offer({ iat: at(13) }))).toEqual(deny('quote_invalid'))
  })

  it('refuses a quote that another payment has claimed, and passes its own claim', () => {
    const claimed = (claimedBy: Snapshot['claimedBy'] & string): Facts => ({
      ...good,
      snapshot: { ...snapshot, claimedBy },
    })
    expect(quote(pay, claimed('pay_other'))).toEqual(deny('quote_spent'))
    expect(quote(pay, claimed(paymentIdOf('nd_leaf', DIGEST)))).toBeUndefined()
  })

  it('refuses whatever differs from the leaf', () => {
    const others: Facts[] = [
      { ...good, quote: { ...presented, digest: sha256('another') } },
      offer({ currency: 'USD' }),
      offer({ amount: minor(501) }),
      offer({ payee: 'stall' }),
      blocks(root, { ...leaf, payees: ['shop', 'stall'] }),
    ]
    for (const facts of others) expect(quote(pay, facts)).toEqual(deny('quote_mismatch'))
  })

  it('refuses a payee that is not registered, not pinned as it is now, or not the mandate’s', () => {
    const { binding: _gone, ...unregistered } = presented
    const pinned = (bindings: Record<string, string>): Facts => ({
      ...good,
      snapshot: { ...snapshot, run: { ...snapshot.run, bindings } },
    })
    expect(quote(pay, { ...good, quote: unregistered })).toEqual(deny('payee'))
    expect(quote(pay, pinned({ shop: sha256('new account') }))).toEqual(deny('payee'))
    expect(quote(pay, pinned({}))).toEqual(deny('payee'))
    const others = { ...good, mandate: { ...mandate, payees: ['stall'] } }
    expect(quote(pay, others)).toEqual(deny('payee'))
  })

  it('does not apply where nothing is paid', () => {
    expect(quote(asking('search'), {})).toBe('not-applicable')
  })
})

describe('check 7, policy', () => {
  const decided = (...verdicts: { rule: string; effect: 'deny' | 'hold' }[]): Facts => ({
    ...good,
    policy: { decision: { verdicts, bounds: [] }, refusedByPerson: false },
  })
  const asks = { rule: 'a', effect: 'hold' } as const
  const forbids = { rule: 'b', effect: 'deny' } as const

  it('passes where no rule objects, holds where one asks, denies where one forbids', () => {
    expect(policy(pay, decided())).toBeUndefined()
    expect(policy(pay, decided(asks))).toEqual(hold('approval_required', 'a'))
    expect(policy(pay, decided(asks, forbids))).toEqual(deny('policy', 'b'))
  })

  it('takes a person’s yes for a hold and never for a deny', () => {
    expect(policy(pay, { ...decided(asks), approved: true })).toBeUndefined()
    expect(policy(pay, { ...decided(asks, forbids), approved: true })).toEqual(deny('policy', 'b'))
  })

  it('keeps to a person’s no, whatever the rules say later', () => {
    const no = { decision: { verdicts: [], bounds: [] }, refusedByPerson: true }
    expect(policy(pay, { ...good, policy: no, approved: true })).toEqual(
      deny('policy', 'refused_by_person'),
    )
  })

  it('takes an effect that it does not know for a deny', () => {
    const odd = { rule: 'c', effect: 'permit' } as unknown as typeof asks
    expect(policy(pay, decided(odd))).toEqual(deny('policy', 'c'))
  })
})

describe('check 8, funds', () => {
  it('passes only what was reserved, and repeats what stood in the way', () => {
    expect(funds(pay, good)).toBeUndefined()
    const whys: Exclude<FundsRefusal, 'stale'>[] = [
      ...(['per_payment', 'insufficient', 'expired', 'frozen', 'revoked', 'run_closed'] as const),
      ...(['quote_spent', 'quote_expired'] as const),
    ]
    for (const why of whys) {
      expect(funds(pay, { ...good, funds: { kind: 'refused', why } })).toEqual(deny(why))
    }
  })

  it('speaks for the window or the rule whose counter is at its bound', () => {
    const denial = hold('approval_required', 'r')
    expect(funds(pay, { ...good, funds: { kind: 'counted_out', denial } })).toEqual(denial)
  })

  it('asks for a person again when the approval that was counted on is gone', () => {
    const facts: Facts = {
      ...good,
      policy: {
        decision: { verdicts: [{ rule: 'a', effect: 'hold' }], bounds: [] },
        refusedByPerson: false,
      },
      funds: { kind: 'refused', why: 'stale' },
    }
    expect(funds(pay, facts)).toEqual(hold('approval_required', 'a'))
  })
})

describe('check 9, monitor', () => {
  it('passes an allow, denies an objection, holds everything else', () => {
    expect(monitor(pay, good)).toBeUndefined()
    expect(monitor(pay, { ...good, monitor: { kind: 'object' } })).toEqual(deny('monitor_objects'))
    const silent = { kind: 'unavailable', why: 'late' } as const
    expect(monitor(pay, { ...good, monitor: silent })).toEqual(hold('monitor_unavailable', 'late'))
    const doubting = { kind: 'object', concerns: ['too_much', 'repeated'] } as const
    expect(monitor(pay, { ...good, monitor: doubting })).toEqual(
      deny('monitor_objects', 'too_much+repeated'),
    )
    expect(monitor(pay, { ...good, monitor: 'none' })).toBe('not-applicable')
  })

  it('takes a person’s yes for silence and never for an objection', () => {
    const silent = { kind: 'unavailable', why: 'late' } as const
    expect(monitor(pay, { ...good, monitor: silent, approved: true })).toBeUndefined()
    expect(monitor(pay, { ...good, monitor: { kind: 'object' }, approved: true })).toEqual(
      deny('monitor_objects'),
    )
  })
})
