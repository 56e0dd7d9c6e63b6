import { describe, expect, it } from 'vitest'
import { deny } from '../../runtime/core/codes.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { parseEvent } from '../../runtime/core/events.ts'
import { parseJws } from '../../runtime/core/jws.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { minor } from '../../runtime/core/money.ts'
import { receiptSchema } from '../../runtime/core/receipt.ts'
import { CHECK_LIST } from '../../runtime/gateway/pipeline.ts'
import { createPolicy } from '../../runtime/policy/policy.ts'
import { bodyOf, brief, type Leaf, START, signer, statusesOf, World } from './world.ts'

async function ready(claims: Record<string, unknown> = {}): Promise<{ world: World; leaf: Leaf }> {
  const world = new World()
  const { root } = await world.run(claims)
  return { world, leaf: await world.leaf(root) }
}

async function eventsOf(ledger: Ledger, leaf: Leaf) {
  return (await ledger.events(leaf.id, 0, 100)).map(({ body }) => parseEvent(body))
}

describe('a payment', () => {
  it('is reserved, submitted, sent to the rail once and answered with a receipt', async () => {
    const { world, leaf } = await ready()
    const answer = await world.pay(leaf)
    expect(brief(answer)).toBe('200 allow settled')
    expect(statusesOf(answer)).toBe(
      'passed passed passed passed passed passed passed passed not-applicable',
    )
    const receipt = receiptSchema.parse(
      parseJws(bodyOf(answer).receipt ?? '', 'receipt+jwt')?.claims,
    )
    expect(receipt).toMatchObject({ iss: 'gw', amount: 1_000, currency: 'INR', payee: 'shop' })
    expect(world.rail.orders).toMatchObject([
      { account: 'acc-shop', amount: 1_000, currency: 'INR', payment: bodyOf(answer).paymentId },
    ])
    const types = (await eventsOf(world.ledger, leaf)).map(({ type }) => type)
    expect(types).toEqual(['opened', 'reserved', 'submitted', 'settled'])
    expect(world.faults).toEqual([])
  })

  it('takes payee, account and amount from the quote and the registry, never from the request', async () => {
    const { world, leaf } = await ready()
    const body = { quote: leaf.quote, payee: 'bank', amount: 1 }
    expect(brief(await world.gateway.pay(world.request(leaf, '/payments', body)))).toBe(
      '401 unauthenticated',
    )
    expect(world.rail.orders).toEqual([])
  })

  it('of exactly the leaf’s ceiling in the last second of quote and leaf is allowed', async () => {
    const world = new World()
    const { root } = await world.run()
    const leaf = await world.leaf(root, { exp: START + 60 })
    world.clock.advance(59)
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
  })

  it('shows an agent no rule, no limit and no duration', async () => {
    const world = new World({
      policy: createPolicy({
        rules: [{ kind: 'deny_list', id: 'secret-rule', payees: ['shop'], merchants: [] }],
      }),
    })
    const { root } = await world.run()
    const leaf = await world.leaf(root)
    world.engine.beforeVerify = () => {
      world.clock.ms += 7
    }
    const answer = await world.pay(leaf)
    expect(brief(answer)).toBe('403 deny policy')
    expect(JSON.stringify(answer)).not.toContain('secret-rule')
    expect(bodyOf(answer).checks.every(({ ms }) => ms === 0)).toBe(true)
    const [state] = (await world.ledger.children(root)).filter(({ node }) => node.id === leaf.id)
    expect(state?.lastChecks?.some(({ ms }) => ms === 7)).toBe(true)
    const refused = (await eventsOf(world.ledger, leaf)).at(-1)
    expect(refused).toMatchObject({
      type: 'refused',
      data: { code: 'policy', rule: 'secret-rule' },
    })
  })
})

describe('before check 2 has passed', () => {
  it('every refusal on the wire is one and the same 401, stored nowhere and only counted', async () => {
    const { world, leaf } = await ready()
    const stranger = signer('x').key
    const stolen = { ...leaf, key: stranger }
    const forged = { ...leaf, token: Buffer.from('{}').toString('base64url') }
    const answers = [
      await world.pay(leaf, { raw: { query: 'a=1' } }),
      await world.pay(leaf, { raw: { body: Buffer.alloc(70_000) } }),
      await world.pay(leaf, { headers: [['Authorization', 'DPoP x']] }),
      await world.pay(stolen),
      await world.pay(forged),
      await world.gateway.pay(
        world.request(leaf, '/search', { quote: leaf.quote }, { raw: { path: '/payments' } }),
      ),
    ]
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(answers[0]?.status).toBe(401)
    expect(JSON.stringify(answers[0])).not.toContain('checks')
    expect(await eventsOf(world.ledger, leaf)).toHaveLength(1)
    expect(Object.fromEntries(world.gateway.pendingCounts())).toEqual({
      ambiguous: 2,
      too_large: 1,
      proof_invalid: 2,
      token_invalid: 1,
    })
  })

  it('what was counted is flushed as one note to the gateway’s own stream, once', async () => {
    const { world, leaf } = await ready()
    await world.pay(leaf, { raw: { query: 'a=1' } })
    await world.gateway.flushCounts()
    world.clock.advance(60)
    await world.gateway.flushCounts()
    const events = await world.ledger.events('gateway', 0, 100)
    const notes = events
      .map(({ body }) => parseEvent(body))
      .filter(({ type }) => type === 'operator')
    expect(notes.map(({ data }) => data)).toEqual([
      { act: 'refused_before_identity', ambiguous: 1 },
    ])
  })

  it('what could not be written down is still counted', async () => {
    const { world, leaf } = await ready()
    await world.pay(leaf, { raw: { query: 'a=1' } })
    const gateway = world.gateway
    const { execute } = world.ledger
    world.ledger.execute = () => Promise.reject(new Fault('store_unavailable', 'the disk is full'))
    await expect(gateway.flushCounts()).rejects.toMatchObject({ code: 'store_unavailable' })
    world.ledger.execute = execute
    expect(gateway.pendingCounts().get('ambiguous')).toBe(1)
    await gateway.flushCounts()
    expect(gateway.pendingCounts().size).toBe(0)
  })

  it('a signed chain that was never recorded is nobody’s', async () => {
    const { world, leaf } = await ready()
    const decoded = JSON.parse(Buffer.from(leaf.token, 'base64url').toString())
    const again = world.engine.encode({
      blocks: decoded.blocks,
      revocationIds: [...decoded.revocationIds.slice(0, -1), 'ffffffff'],
    })
    expect(brief(await world.pay({ ...leaf, token: again }))).toBe('401 unauthenticated')
    expect(world.gateway.pendingCounts().get('token_invalid')).toBe(1)
  })

  it('a token of one run says nothing in another', async () => {
    const { world, leaf } = await ready()
    const decoded = JSON.parse(Buffer.from(leaf.token, 'base64url').toString())
    const [root, own] = decoded.blocks
    const blocks = [{ ...root, run: 'run_other' }, own]
    const moved = world.engine.encode({ blocks, revocationIds: decoded.revocationIds })
    expect(brief(await world.pay({ ...leaf, token: moved }))).toBe('401 unauthenticated')
  })

  it('nothing is read from the store for a caller who has not signed the request', async () => {
    const { world, leaf } = await ready()
    let reads = 0
    const snapshot: Ledger['snapshot'] = (request) => {
      reads += 1
      return world.ledger.snapshot(request)
    }
    world.rebuild({ ledger: { ...world.ledger, snapshot } })
    await world.pay({ ...leaf, key: signer('x').key })
    expect(reads).toBe(0)
  })

  it('a record that names another holder or another way to the leaf is no record of this chain', async () => {
    for (const change of [{ holder: 'H'.repeat(43) }, { id: 'nd_other' as const }]) {
      const { world, leaf } = await ready()
      const snapshot: Ledger['snapshot'] = async (request) => {
        const found = await world.ledger.snapshot(request)
        const [root, ...rest] = found?.path ?? []
        return found && root && { ...found, path: [{ ...root, ...change }, ...rest] }
      }
      world.rebuild({ ledger: { ...world.ledger, snapshot } })
      expect(brief(await world.pay(leaf))).toBe('401 unauthenticated')
    }
  })

  it('a proof counts once, whatever came of it', async () => {
    const { world, leaf } = await ready()
    const other = await world.leaf((await world.ledger.node(leaf.id))?.parent ?? leaf.id)
    const jti = 'one-time-proof-0001'
    expect(brief(await world.pay(leaf, { jti }))).toBe('200 allow settled')
    expect(brief(await world.pay(leaf, { jti }))).toBe('401 unauthenticated')
    const wrong = { ...other, quote: world.merchants.sign() }
    expect(brief(await world.pay(wrong, { jti: 'one-time-proof-0002' }))).toBe(
      '403 deny capability',
    )
    expect(brief(await world.pay(other, { jti: 'one-time-proof-0002' }))).toBe(
      '401 unauthenticated',
    )
    expect(world.rail.orders).toHaveLength(1)
  })

  it('a captured request replays nothing, not even an answer that was given', async () => {
    const { world, leaf } = await ready()
    const raw = world.request(leaf, '/payments', { quote: leaf.quote })
    expect(brief(await world.gateway.pay(raw))).toBe('200 allow settled')
    expect(brief(await world.gateway.pay(raw))).toBe('401 unauthenticated')
  })
})

describe('a payment is refused, recorded and costs nothing when', () => {
  async function refused(world: World, leaf: Leaf, expected: string): Promise<void> {
    const before = await world.ledger.account(leaf.id)
    const answer = await world.pay(leaf)
    expect(brief(answer)).toBe(expected)
    const last = (await eventsOf(world.ledger, leaf)).at(-1)
    expect(last).toMatchObject({ type: 'refused', data: { code: bodyOf(answer).reason?.code } })
    const after = await world.ledger.account(leaf.id)
    expect(after?.available).toBe(before?.available)
    expect(world.rail.orders).toEqual([])
  }

  it('check 3: the principal’s key is no longer configured', async () => {
    const { world, leaf } = await ready()
    world.rebuild({ facts: { ...world.deps.facts, principals: [] } })
    await refused(world, leaf, '403 deny mandate_invalid')
  })

  it('check 3: the store says more than the principal signed', async () => {
    const { world, leaf } = await ready()
    const snapshot: Ledger['snapshot'] = async (request) => {
      const found = await world.ledger.snapshot(request)
      return found && { ...found, run: { ...found.run, ceiling: minor(900_000) } }
    }
    world.rebuild({ ledger: { ...world.ledger, snapshot } })
    await refused(world, leaf, '403 deny mandate_invalid')
  })

  it('check 3: the stored mandate is another one, however well signed', async () => {
    const { world, leaf } = await ready({ jti: 'm1' })
    const mandate = world.mandate({ jti: 'm1', payees: ['shop', 'stall', 'bank'] })
    const snapshot: Ledger['snapshot'] = async (request) => {
      const found = await world.ledger.snapshot(request)
      return found && { ...found, run: { ...found.run, mandate } }
    }
    world.rebuild({ ledger: { ...world.ledger, snapshot } })
    await refused(world, leaf, '403 deny mandate_invalid')
  })

  it('check 3: an ancestor was revoked', async () => {
    const { world, leaf } = await ready()
    const root = (await world.ledger.node(leaf.id))?.parent
    await world.gateway.revoke(root ?? leaf.id, 'olga')
    await refused(world, leaf, '403 deny revoked')
  })

  it('check 3: the gateway was frozen', async () => {
    const { world, leaf } = await ready()
    await world.gateway.freeze('gateway', 'olga')
    await refused(world, leaf, '403 deny frozen')
    await world.gateway.resume('gateway', 'olga')
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
  })

  it('check 3: the leaf has expired', async () => {
    const { world, leaf } = await ready()
    world.clock.advance(7_200)
    await refused(world, leaf, '403 deny expired')
  })

  it('check 4: the leaf is deeper than the mandate allows', async () => {
    const world = new World()
    const { root } = await world.run({ limits: { depth: 1, fanOut: 5, nodes: 20 } })
    const planner = await world.child(root, 'planner', {}, 5)
    const leaf = await world.leaf(planner.id)
    await refused(world, leaf, '403 deny depth')
  })

  it('check 5: a planner or a looker pays', async () => {
    for (const kind of ['planner', 'looker'] as const) {
      const world = new World()
      const { root } = await world.run()
      const node = await world.child(root, kind)
      const quote = world.merchants.sign()
      await refused(world, { ...node, quote }, '403 deny not_a_leaf')
    }
  })

  it('check 5: the amount is over the leaf’s ceiling', async () => {
    const world = new World()
    const { root } = await world.run()
    const leaf = await world.leaf(root, { amount: 1_001 }, { ceiling: minor(1_000) })
    await refused(world, leaf, '403 deny capability')
  })

  it('check 6: the text is no quote', async () => {
    const { world, leaf } = await ready()
    await refused(world, { ...leaf, quote: 'no-quote' }, '403 deny quote_invalid')
  })

  it('check 6: the quote was signed by somebody else', async () => {
    const world = new World()
    const { root } = await world.run()
    const quote = world.merchants.sign({}, signer('s1'))
    await refused(world, await world.leafFor(root, quote), '403 deny quote_invalid')
  })

  it('check 6: the issuer is no merchant of ours', async () => {
    const world = new World()
    const { root } = await world.run()
    const quote = world.merchants.sign({ iss: 'stranger', payee: 'shop' })
    await refused(world, await world.leafFor(root, quote), '403 deny quote_invalid')
  })

  it('check 6: the quote has expired by one second', async () => {
    const world = new World()
    const { root } = await world.run()
    const leaf = await world.leaf(root, { exp: START + 60 })
    world.clock.advance(60)
    await refused(world, leaf, '403 deny quote_expired')
  })

  it('check 6: another leaf has paid this quote', async () => {
    const world = new World()
    const { root } = await world.run()
    const quote = world.merchants.sign()
    const first = await world.leafFor(root, quote)
    const second = await world.leafFor(root, quote)
    expect(brief(await world.pay(first))).toBe('200 allow settled')
    world.rail.orders.length = 0
    await refused(world, second, '403 deny quote_spent')
  })

  it('check 6: the operator has changed the payee’s account since the mandate', async () => {
    const { world, leaf } = await ready()
    const { facts } = world.deps
    const payees = facts.payees.map((payee) => ({ ...payee, accounts: { simulated: 'acc-new' } }))
    world.rebuild({ facts: { ...facts, payees } })
    await refused(world, leaf, '403 deny payee')
  })

  it('check 8: the amount is one over the mandate’s limit for one payment', async () => {
    const { world, leaf } = await ready({ perPayment: 999 })
    await refused(world, leaf, '403 deny per_payment')
    const fits = await ready({ perPayment: 1_000 })
    expect(brief(await fits.world.pay(fits.leaf))).toBe('200 allow settled')
  })

  it('check 8: the mandate’s hour is used up, until the next begins', async () => {
    const world = new World()
    const { root } = await world.run({ window: { zone: 'UTC', perHour: 1_500 } })
    const exp = START + 3_599 + 60
    expect(brief(await world.pay(await world.leaf(root)))).toBe('200 allow settled')
    const leaf = await world.leaf(root, { exp })
    world.rail.orders.length = 0
    await refused(world, leaf, '403 deny window')
    world.clock.advance(3_600)
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
  })

  it('check 8: whatever the ledger refuses, in the words of the check that it belongs to', async () => {
    const cases = {
      insufficient: '403 deny insufficient',
      // The quote's is the earliest end here, so that is what the agent can mend.
      expired: '403 deny quote_expired',
      frozen: '403 deny frozen',
      revoked: '403 deny revoked',
      run_closed: '403 deny run_closed',
      quote_spent: '403 deny quote_spent',
      stale: '202 hold approval_required',
      proof_replayed: '401 unauthenticated',
      proofs_full: '503 unavailable',
      node_limit: '503 unavailable',
    } as const
    for (const [code, expected] of Object.entries(cases)) {
      const { world, leaf } = await ready()
      const execute = async (name: string, input: unknown) =>
        name === 'reserve'
          ? { ok: false, code }
          : world.ledger.execute(name as never, input as never)
      world.rebuild({ ledger: { ...world.ledger, execute: execute as Ledger['execute'] } })
      expect(brief(await world.pay(leaf)), code).toBe(expected)
      expect(world.rail.orders).toEqual([])
    }
  })
})

describe('a fault', () => {
  const faulty = (world: World, command: string, times = Number.POSITIVE_INFINITY) => {
    let left = times
    const execute: Ledger['execute'] = async (name, input) => {
      if (name === command && left > 0) {
        left -= 1
        throw new Fault('store_unavailable', 'the disk is full')
      }
      return world.ledger.execute(name, input)
    }
    world.rebuild({ ledger: { ...world.ledger, execute } })
  }

  it('of the engine, the store, the policy or the clock is 503 and never a verdict', async () => {
    const breakages: ((world: World) => void)[] = [
      (world) => {
        world.engine.broken = new Fault('engine_busy', 'too many are waiting')
      },
      (world) => faulty(world, 'reserve'),
      (world) => {
        const decide = () => Promise.reject(new Error('boom'))
        world.rebuild({ policy: { version: 'v', decide } })
      },
      (world) => {
        const nowMs = () => {
          throw new Fault('clock_untrusted', 'stepped')
        }
        world.rebuild({ clock: { nowMs } })
      },
    ]
    for (const breakIt of breakages) {
      const { world, leaf } = await ready()
      breakIt(world)
      const answer = await world.pay(leaf)
      expect(brief(answer)).toBe('503 unavailable')
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
      expect(JSON.stringify(answer)).not.toContain('verdict')
      expect(world.rail.orders).toEqual([])
      expect(world.faults).toHaveLength(1)
    }
  })

  it('while a refusal is recorded is 503, so that no verdict is given that is not in the log', async () => {
    const { world, leaf } = await ready()
    await world.gateway.freeze('gateway', 'olga')
    faulty(world, 'refuse')
    expect(brief(await world.pay(leaf))).toBe('503 unavailable')
  })

  it('after the rail was called leaves the payment submitted, and a retry calls no rail', async () => {
    const { world, leaf } = await ready()
    faulty(world, 'settle')
    expect(brief(await world.pay(leaf))).toBe('503 unavailable')
    expect((await world.onlyPayment()).state).toBe('submitted')
    expect(brief(await world.pay(leaf))).toBe('409 allow submitted')
    expect(world.rail.orders).toHaveLength(1)
  })

  it('is what an account above its token’s ceiling is, because the store was edited', async () => {
    const { world, leaf } = await ready()
    const snapshot: Ledger['snapshot'] = async (request) => {
      const found = await world.ledger.snapshot(request)
      return found && { ...found, account: { ...found.account, ceiling: minor(1_001) } }
    }
    world.rebuild({ ledger: { ...world.ledger, snapshot } })
    expect(brief(await world.pay(leaf))).toBe('503 unavailable')
    expect(world.faults).toMatchObject([{ code: 'ledger_corrupt' }])
  })
})

describe('with one check replaced by a pass', () => {
  const replaced = (name: string) =>
    CHECK_LIST.map((check) => (check.name === name ? { ...check, judge: () => undefined } : check))

  it('the ledger still judges the standing by itself', async () => {
    const { world, leaf } = await ready()
    world.rebuild({ checks: replaced('standing') })
    await world.gateway.freeze('gateway', 'olga')
    const answer = await world.pay(leaf)
    expect(brief(answer)).toBe('403 deny frozen')
    expect(statusesOf(answer)).toContain('passed passed failed not-reached')
    expect(world.rail.orders).toEqual([])
  })

  it('a payment without a readable quote still goes nowhere', async () => {
    const { world, leaf } = await ready()
    world.rebuild({ checks: replaced('quote') })
    expect(brief(await world.pay({ ...leaf, quote: 'no-quote' }))).toBe('403 deny quote_invalid')
  })

  it('a token that does not verify is still nobody’s', async () => {
    const { world, leaf } = await ready()
    world.rebuild({ checks: replaced('authenticity') })
    expect(brief(await world.pay({ ...leaf, token: 'forged' }))).toBe('401 unauthenticated')
    expect(brief(await world.pay({ ...leaf, key: signer('x').key }))).toBe('401 unauthenticated')
  })

  it('the decision follows the composed list', async () => {
    const { world, leaf } = await ready()
    const checks = CHECK_LIST.map((check) =>
      check.name === 'depth' ? { ...check, judge: () => deny('depth') } : check,
    )
    world.rebuild({ checks })
    expect(brief(await world.pay(leaf))).toBe('403 deny depth')
  })
})
