/**
 * A rail with a book of its own: requests and replies are lost, late, doubled, or say other sums than were asked; some
 * payments it has no word on until people have ended them, and what it has moved may come back later.
 */
import { type PaymentId, railKeyOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type {
  Rail,
  RailLookup,
  RailOrder,
  RailOutcome,
  RailReversal,
} from '../../runtime/core/rail.ts'
import type { RailWord } from './claims.ts'
import type { Process } from './process.ts'
import type { World } from './world.ts'

const FATES = [
  ['lostRequest', 0.05],
  ['lostReply', 0.06],
  ['slow', 0.06],
  ['twice', 0.05],
  ['declined', 0.04],
  ['notSent', 0.04],
  ['more', 0.01],
  ['less', 0.04],
  ['silent', 0.04],
] as const

type Fate = 'well' | (typeof FATES)[number][0]

interface Entry {
  readonly payment: PaymentId
  readonly outcome: Exclude<RailOutcome, { kind: 'unknown' }>
  readonly back: RailReversal[]
  /** The rail names no reversal, and says only that the money came back. */
  isWhole: boolean
}

export class RailBook implements RailWord {
  /** Reversals that will happen yet. */
  pending = 0
  readonly #world: World
  readonly #entries = new Map<string, Entry>()
  readonly #no = new Set<string>()
  readonly #silent = new Set<string>()
  readonly #called = new Set<PaymentId>()

  constructor(world: World) {
    this.#world = world
  }

  moved(key: string): number | undefined {
    const outcome = this.#entries.get(key)?.outcome
    return outcome?.kind === 'settled' ? outcome.amount : undefined
  }

  back(key: string): number {
    const { back = [] } = this.#entries.get(key) ?? {}
    return back.reduce((sum, { amount }) => sum + amount, 0)
  }

  saidNo(key: string): boolean {
    return this.#no.has(key)
  }

  /** What moved in all less what came back, and for which payments. */
  totals(): ReadonlyMap<PaymentId, number> {
    const sums = new Map<PaymentId, number>()
    for (const [key, { payment }] of this.#entries) {
      const sum = (this.moved(key) ?? 0) - this.back(key)
      if (this.moved(key) !== undefined) sums.set(payment, (sums.get(payment) ?? 0) + sum)
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
        afterSuccess: ['returned', 'reversed'],
      },
      pay: (order) => this.#pay(process, order),
      lookup: (key) => this.#world.io(process, 'rail.lookup', () => this.#lookup(key)),
      ready: async () => undefined,
    }
  }

  #lookup(key: string): RailLookup {
    const { random, isFaulty } = this.#world
    if (this.#silent.has(key) && !this.#isEnded(key)) return { kind: 'unknown', reason: 'silent' }
    if (isFaulty && random.chance(0.1)) return { kind: 'unknown', reason: 'reset' }
    const entry = this.#entries.get(key)
    if (entry?.outcome.kind !== 'settled') this.#no.add(key)
    if (entry === undefined) return { kind: 'absent' }
    const { outcome, back, isWhole } = entry
    if (outcome.kind !== 'settled' || back.length === 0) return outcome
    return isWhole ? { ...outcome, returned: true } : { ...outcome, back: [...back] }
  }

  /** It finds its voice when it is too late. */
  #isEnded(key: string): boolean {
    const { claims } = this.#world
    return [...claims.byPeople].some((id) => claims.paid(id).railKey === key)
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
    const { random } = world
    this.#judge(order)
    const fate = this.#fate()
    world.trace(`rail.pay ${order.payment} ${fate}`)
    if (fate === 'silent') this.#silent.add(order.key)
    return new Promise((resolve) => {
      const reply = (ms: number, outcome: RailOutcome) =>
        world.scheduler.after(ms, () => {
          if (!process.isAlive) return
          if (outcome.kind === 'declined' || outcome.kind === 'notSent') this.#no.add(order.key)
          resolve(outcome)
        })
      const soon = () => random.between(2, 60)
      const lost = (): void => {
        if (random.chance(0.5)) reply(soon(), { kind: 'unknown', reason: 'reset' })
      }
      if (fate === 'notSent') return void reply(soon(), { kind: 'notSent', reason: 'refused' })
      if (fate === 'lostRequest' || (fate === 'silent' && random.chance(0.5))) {
        world.count('lostRequests')
        return lost()
      }
      const arrives = fate === 'slow' ? random.between(1_000, 9_000) : soon()
      world.scheduler.after(arrives, () => {
        const outcome = this.#deliver(order, fate)
        if (fate === 'lostReply' || fate === 'silent') {
          world.count('lostReplies')
          return lost()
        }
        reply(fate === 'slow' ? random.between(10, 12_000) : soon(), outcome)
      })
      if (fate === 'twice')
        world.scheduler.after(arrives + soon(), () => this.#deliver(order, fate))
    })
  }

  #judge({ payment, key }: RailOrder): void {
    const world = this.#world
    if (this.#called.has(payment)) world.fail('a payment reached the rail twice')
    this.#called.add(payment)
    if (key !== railKeyOf(payment)) world.fail('the rail’s key is not the payment’s own')
    if (!world.claims.submitted.has(payment))
      world.fail('the rail was called without a durable submit')
  }

  #deliver(order: RailOrder, fate: Fate): RailOutcome {
    const world = this.#world
    const { claims } = world
    const { payment, key } = order
    const before = this.#entries.get(key)
    if (before !== undefined) {
      world.count('duplicates')
      return before.outcome
    }
    const isReleased = claims.reference.payments.get(payment)?.state === 'released'
    if (isReleased && !claims.byPeople.has(payment))
      world.fail('money moved for a payment that had been released')
    const outcome =
      fate === 'declined'
        ? ({ kind: 'declined', reason: 'declined' } as const)
        : settled(order, fate)
    this.#entries.set(key, { payment, outcome, back: [], isWhole: false })
    world.trace(`rail moved ${payment} ${outcome.kind}`)
    if (outcome.kind === 'settled' && world.isFaulty && world.random.chance(0.2))
      this.#turnBack(key)
    return outcome
  }

  /** Some of it, or all, in one or two parts; long after anybody would have asked. */
  #turnBack(key: string): void {
    const { random, scheduler } = this.#world
    const parts = random.between(1, 3)
    const isWhole = random.chance(0.2)
    for (let part = 1; part <= parts; part += 1) {
      this.pending += 1
      scheduler.after(random.between(2_000, 60_000), () => {
        this.pending -= 1
        this.#takeBack(key, part, isWhole)
      })
    }
  }

  #takeBack(key: string, part: number, isWhole: boolean): void {
    const world = this.#world
    const entry = this.#entries.get(key)
    const left = (this.moved(key) ?? 0) - this.back(key)
    if (entry === undefined || left === 0) return
    const amount = minor(isWhole || left === 1 ? left : world.random.between(1, left + 1))
    const kind = part === 1 ? 'reversed' : 'refunded'
    entry.back.push({ id: `${kind}-${part}`, kind, amount })
    entry.isWhole = isWhole
    world.count('reversals')
    world.trace(`rail took back ${entry.payment} ${amount}`)
  }
}

function settled({ key, amount, currency }: RailOrder, fate: Fate) {
  const sum = fate === 'more' ? amount + 7 : fate === 'less' ? Math.max(1, amount - 3) : amount
  const reference = `ref-${key}`
  return { kind: 'settled', reference, amount: minor(sum), currency } as const
}
