/** A rail with a book of its own: requests and replies are lost, late, doubled, or say other sums than were asked. */
import { type PaymentId, railKeyOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailOrder, RailOutcome } from '../../runtime/core/rail.ts'
import type { RailWord } from './reference.ts'
import type { Process, World } from './world.ts'

type Settled = Extract<RailOutcome, { kind: 'settled' }>
type Fate =
  | 'well'
  | 'lostRequest'
  | 'lostReply'
  | 'slow'
  | 'twice'
  | 'declined'
  | 'notSent'
  | 'more'
  | 'less'

const FATES: readonly (readonly [Fate, number])[] = [
  ['lostRequest', 0.05],
  ['lostReply', 0.06],
  ['slow', 0.06],
  ['twice', 0.05],
  ['declined', 0.04],
  ['notSent', 0.04],
  ['more', 0.01],
  ['less', 0.04],
]

export class RailBook implements RailWord {
  readonly #world: World
  readonly #entries = new Map<string, RailOutcome & { readonly payment: PaymentId }>()
  readonly #no = new Set<string>()
  readonly #calls = new Map<PaymentId, number>()

  constructor(world: World) {
    this.#world = world
  }

  moved(key: string): number | undefined {
    const entry = this.#entries.get(key)
    return entry?.kind === 'settled' ? entry.amount : undefined
  }

  saidNo(key: string): boolean {
    return this.#no.has(key)
  }

  /** What moved in all, and for which payments. */
  total(): ReadonlyMap<PaymentId, number> {
    const sums = new Map<PaymentId, number>()
    for (const entry of this.#entries.values()) {
      if (entry.kind === 'settled')
        sums.set(entry.payment, (sums.get(entry.payment) ?? 0) + entry.amount)
    }
    return sums
  }

  port(process: Process): Rail {
    return {
      name: 'simulated',
      truth: {
        lookupByReference: true,
        keyLifeSeconds: 86_400,
        visibilitySeconds: 30,
        afterSuccess: [],
      },
      pay: (order) => this.#pay(process, order),
      lookup: (key) =>
        this.#world.io(process, 'rail.lookup', () => {
          const { random, isFaulty } = this.#world
          if (isFaulty && random.chance(0.1)) return { kind: 'unknown', reason: 'reset' } as const
          const entry = this.#entries.get(key)
          if (entry === undefined || entry.kind === 'declined') this.#no.add(key)
          if (entry === undefined) return { kind: 'absent' } as const
          const { payment: _payment, ...outcome } = entry
          return outcome
        }),
      ready: async () => undefined,
    }
  }

  #fate(): Fate {
    if (!this.#world.isFaulty) return 'well'
    let left = this.#world.random.next()
    for (const [fate, chance] of FATES) {
      left -= chance
      if (left < 0) return fate
    }
    return 'well'
  }

  #pay(process: Process, order: RailOrder): Promise<RailOutcome> {
    const world = this.#world
    const calls = (this.#calls.get(order.payment) ?? 0) + 1
    this.#calls.set(order.payment, calls)
    if (calls > 1) world.fail('a payment reached the rail twice')
    if (order.key !== railKeyOf(order.payment))
      world.fail('the rail’s key is not the payment’s own')
    const known = world.reference.payments.get(order.payment)
    if (known === undefined || !known.wasSubmitted)
      world.fail('the rail was called without a durable submit')
    const fate = this.#fate()
    world.trace(`rail.pay ${order.payment} ${fate}`)
    return new Promise((resolve) => {
      const reply = (ms: number, outcome: RailOutcome) =>
        world.scheduler.after(ms, () => {
          if (!process.isAlive) return
          if (outcome.kind === 'declined' || outcome.kind === 'notSent') this.#no.add(order.key)
          resolve(outcome)
        })
      const { random } = world
      const soon = () => random.between(2, 60)
      if (fate === 'notSent') return void reply(soon(), { kind: 'notSent', reason: 'refused' })
      if (fate === 'lostRequest') {
        world.counts.lostRequests += 1
        if (random.chance(0.5)) reply(soon(), { kind: 'unknown', reason: 'reset' })
        return
      }
      const arrives = fate === 'slow' ? random.between(1_000, 9_000) : soon()
      world.scheduler.after(arrives, () => {
        const outcome = this.#deliver(order, fate)
        if (fate === 'lostReply') {
          world.counts.lostReplies += 1
          if (random.chance(0.5)) reply(soon(), { kind: 'unknown', reason: 'reset' })
          return
        }
        reply(fate === 'slow' ? random.between(10, 12_000) : soon(), outcome)
      })
      if (fate === 'twice')
        world.scheduler.after(arrives + soon(), () => this.#deliver(order, fate))
    })
  }

  #deliver(order: RailOrder, fate: Fate): RailOutcome {
    const world = this.#world
    const before = this.#entries.get(order.key)
    if (before !== undefined) {
      world.counts.duplicates += 1
      return before
    }
    if (world.reference.payments.get(order.payment)?.state === 'released') {
      world.fail('money moved for a payment that had been released')
    }
    const { payment } = order
    const outcome =
      fate === 'declined'
        ? ({ kind: 'declined', reason: 'declined' } as const)
        : settled(order, fate)
    this.#entries.set(order.key, { ...outcome, payment })
    world.trace(`rail moved ${payment} ${outcome.kind}`)
    return outcome
  }
}

function settled({ key, amount, currency }: RailOrder, fate: Fate): Settled {
  const sum = fate === 'more' ? amount + 7 : fate === 'less' ? Math.max(1, amount - 3) : amount
  return { kind: 'settled', reference: `ref-${key}`, amount: minor(sum), currency }
}
