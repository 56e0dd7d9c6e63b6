import { describe, expect, it } from 'vitest'
import { parseEvent } from '../../runtime/core/events.ts'
import type { Monitor, PaymentFacts } from '../../runtime/core/judges.ts'
import { createScriptedMonitor, type MonitorScript } from '../../runtime/policy/monitors.ts'
import { at, bodyOf, brief, type Leaf, statusesOf, World } from './world.ts'

type Says = MonitorScript['steps'][number]['answer']

const scripted = (...answers: Says[]): Monitor => {
  const queue = [...answers]
  return {
    judge: (facts, signal) => {
      const answer = queue.shift() ?? 'allow'
      return createScriptedMonitor({ steps: [{ when: {}, answer }] }).judge(facts, signal)
    },
  }
}

async function watched(monitor: Monitor): Promise<{ world: World; leaf: Leaf }> {
  const world = new World({ deps: { monitor, timings: { monitorMs: 10 } } })
  const { root } = await world.run()
  return { world, leaf: await world.leaf(root) }
}

async function typesOf(world: World, leaf: Leaf): Promise<string[]> {
  return (await world.ledger.events(leaf.id, 0, 50)).map(({ body }) => parseEvent(body).type)
}

describe('a monitor', () => {
  it('that allows lets a reserved payment be submitted', async () => {
    const { world, leaf } = await watched(scripted('allow'))
    const answer = await world.pay(leaf)
    expect(brief(answer)).toBe('200 allow settled')
    expect(statusesOf(answer).split(' ').at(-1)).toBe('passed')
    expect(await typesOf(world, leaf)).toEqual([
      'opened',
      'reserved',
      'judged',
      'submitted',
      'settled',
    ])
  })

  it('that objects gives the money back and is recorded as a deny', async () => {
    const { world, leaf } = await watched(scripted('object'))
    const answer = await world.pay(leaf)
    expect(brief(answer)).toBe('403 deny monitor_objects')
    expect(statusesOf(answer).split(' ').at(-1)).toBe('failed')
    expect(await typesOf(world, leaf)).toEqual([
      'opened',
      'reserved',
      'judged',
      'released',
      'refused',
    ])
    expect((await world.ledger.account(leaf.id))?.available).toBe(1_000)
    expect(world.rail.orders).toEqual([])
  })

  it('is recorded also where the caller has used a proof of the name of a second record', async () => {
    const { world, leaf } = await watched(scripted('object'))
    const jti = 'proof-of-the-leaf'
    for (const name of [`${jti}.second`, `${jti}-second`]) {
      await world.gateway.search(
        world.request(leaf, '/search', { text: 'paper', limit: 1 }, { jti: name }),
      )
    }
    expect(brief(await world.pay(leaf, { jti }))).toBe('403 deny monitor_objects')
    expect((await typesOf(world, leaf)).at(-1)).toBe('refused')
  })

  it('that is silent, late, malformed, over quota or throws leaves it to a person', async () => {
    const throwing: Monitor = { judge: () => Promise.reject(new Error('429')) }
    const atOnce: Monitor = {
      judge: () => {
        throw new Error('no model')
      },
    }
    const monitors = [
      ...(['silent', 'late', 'malformed', 'over_quota'] as const).map((says) => scripted(says)),
      throwing,
      atOnce,
    ]
    for (const monitor of monitors) {
      const { world, leaf } = await watched(monitor)
      const answer = await world.pay(leaf)
      expect(brief(answer)).toBe('202 hold monitor_unavailable')
      expect(await typesOf(world, leaf)).toEqual(['opened', 'reserved', 'released', 'held'])
      expect((await world.ledger.account(leaf.id))?.available).toBe(1_000)
      expect(world.rail.orders).toEqual([])
    }
  })

  it('whose silence a person has answered need not speak, but may still object', async () => {
    for (const [second, expected] of [
      ['silent', '200 allow settled'],
      ['object', '403 deny monitor_objects'],
    ] as const) {
      const { world, leaf } = await watched(scripted('silent', second))
      const { holdId } = bodyOf(await world.pay(leaf))
      const hold = holdId && (await world.ledger.hold(holdId))
      if (!hold) throw new Error('no hold')
      await world.gateway.approve({ hold: hold.id, digest: hold.digest, by: 'olga' })
      expect(brief(await world.pay(leaf))).toBe(expected)
    }
  })

  it('sees typed facts and no text that an outsider wrote', async () => {
    const seen: PaymentFacts[] = []
    const { world, leaf } = await watched({
      judge: async (facts) => {
        seen.push(facts)
        return { kind: 'allow' }
      },
    })
    await world.pay(leaf)
    expect(seen[0]?.lines).toEqual([{ sku: 'pen', quantity: 1, unitAmount: 1_000 }])
    expect(JSON.stringify(seen)).not.toContain('Pen')
  })

  it('is not asked about what an earlier check refuses', async () => {
    let asked = 0
    const { world, leaf } = await watched({
      judge: async () => {
        asked += 1
        return { kind: 'allow' }
      },
    })
    await world.gateway.freeze(leaf.id, 'olga')
    expect(brief(await world.pay(leaf))).toBe('403 deny frozen')
    expect(asked).toBe(0)
  })
})

describe('what happens while the monitor thinks', () => {
  it('a freeze or a revocation stops the payment before it is submitted', async () => {
    for (const act of ['freeze', 'revoke'] as const) {
      let stop: () => Promise<unknown> = async () => undefined
      const { world, leaf } = await watched({
        judge: async () => {
          await stop()
          return { kind: 'allow' }
        },
      })
      const root = (await world.ledger.node(leaf.id))?.parent ?? leaf.id
      stop = () => world.gateway[act](root, 'olga')
      const answer = await world.pay(leaf)
      expect(brief(answer)).toBe(act === 'freeze' ? '403 deny frozen' : '403 deny revoked')
      expect(statusesOf(answer)).toContain('passed passed failed not-reached')
      expect(world.rail.orders).toEqual([])
      expect((await world.ledger.account(leaf.id))?.reserved).toBe(0)
    }
  })

  it('an expiry stops it too', async () => {
    const judge = async () => {
      world.clock.advance(30)
      return { kind: 'allow' } as const
    }
    const world = new World({ deps: { monitor: { judge }, timings: { monitorMs: 10 } } })
    const { root } = await world.run()
    const leaf = await world.leaf(root, { exp: at(30) })
    expect(brief(await world.pay(leaf))).toBe('403 deny quote_expired')
    expect(world.rail.orders).toEqual([])
  })

  it('a second attempt at the same payment does not double it, whoever wins', async () => {
    const { world, leaf } = await watched(scripted('allow', 'allow', 'allow'))
    const answers = await Promise.all([world.pay(leaf), world.pay(leaf), world.pay(leaf)])
    expect(world.rail.orders).toHaveLength(1)
    for (const answer of answers) {
      expect(brief(answer)).toMatch(/^(200 allow settled|409 allow submitted)$/)
    }
  })

  it('an attempt whose monitor objects cannot take the money from one that was submitted', async () => {
    const { world, leaf } = await watched(scripted('allow', 'object'))
    await Promise.all([world.pay(leaf), world.pay(leaf)])
    const payment = await world.onlyPayment()
    expect(['settled', 'released']).toContain(payment.state)
    expect(world.rail.orders).toHaveLength(payment.state === 'settled' ? 1 : 0)
  })
})
