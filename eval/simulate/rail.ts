/**
 * A rail with a book of its own: requests and replies are lost, late, doubled, or say other sums than were asked; some
 * payments it has no word on until people have ended them, and what it has moved may come back later.
 */
import { type PaymentId, railKeyOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type {
  Rail,
  RailKnown,
  RailLookup,
  RailOrder,
  RailOutcome,
  RailOutcomeOf,
  RailRefund,
  RailRefundOutcome,
  RailReversal,
} from '../../runtime/core/rail.ts'
import type { RailWord } from './claims.ts'
import { RailHolds } from './holds.ts'
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
  ['pending', 0.08],
] as const

export type Fate = 'well' | (typeof FATES)[number][0]

interface Entry {
  readonly payment: PaymentId
  outcome: Exclude<RailOutcome, { kind: 'unknown' }>
  readonly back: RailReversal[]
  /** The rail names no reversal, and says only that the money came back. */
  isWhole: boolean
}

export class RailBook implements RailWord {
  readonly holds: RailHolds
  /** Reversals that will happen yet. */
  pending = 0
  readonly #world: World
  readonly #entries = new Map<string, Entry>()
  readonly #no = new Set<string>()
  readonly #asked = new Set<string>()
  readonly #silent = new Set<string>()
  readonly #called = new Set<string>()
  readonly #refunds = new Map<string, Exclude<RailRefundOutcome, { kind: 'unknown' }>>()
  readonly #refused = new Set<string>()

  constructor(world: World) {
    this.#world = world
    this.holds = new RailHolds(world, this)
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

  /** Whether anything about it was ever sent here, arrived or not. */
  wasAsked(key: string): boolean {
    return this.#asked.has(key)
  }

  refunded(key: string): number | undefined {
    const outcome = this.#refunds.get(key)
    return outcome?.kind === 'refunded' ? outcome.amount : undefined
  }

  refusedRefund(key: string): boolean {
    return this.#refused.has(key)
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
      complete: (known) => this.#complete(process, known),
      cancel: (known) => this.#cancel(process, known),
      authorisations: this.holds.port(process),
      lookup: (key) => this.#world.io(process, 'rail.lookup', () => this.#lookup(key)),
      refunds: {
        make: (order) => this.#refund(process, order),
        lookup: ({ key }) =>
          this.#world.io(process, 'rail.lookupRefund', () => this.#lookupRefund(key)),
      },
      ready: async () => undefined,
    }
  }

  #lookup(key: string): RailLookup {
    const { random, isFaulty } = this.#world
    if (this.#silent.has(key) && !this.#isEnded(key)) return { kind: 'unknown', reason: 'silent' }
    if (isFaulty && random.chance(0.1)) return { kind: 'unknown', reason: 'reset' }
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.outcome.kind === 'declined') this.#no.add(key)
    if (entry === undefined) return { kind: 'absent' }
    const { outcome, back, isWhole } = entry
    if (outcome.kind !== 'settled' || back.length === 0) return outcome
    return isWhole ? { ...outcome, returned: true } : { ...outcome, back: [...back] }
  }

  /** It finds its voice when it is too late. */
  #isEnded(key: string): boolean {
    const { claims } = this.#world
    return [...claims.late.byPeople].some((id) => claims.reference.paid(id).railKey === key)
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
    this.#judge(order)
    const fate = this.#fate()
    world.trace(`rail.pay ${order.payment} ${fate}`)
    this.#asked.add(order.key)
    if (fate === 'silent') this.#silent.add(order.key)
    const no = () => this.#no.add(order.key)
    return this.send(process, { fate, no, deliver: () => this.#deliver(order, fate) })
  }

  #refund(process: Process, order: RailRefund): Promise<RailRefundOutcome> {
    const world = this.#world
    const { key, payment } = order
    if (this.#called.has(key)) world.fail('a refund reached the rail twice')
    this.#called.add(key)
    if (!world.claims.late.refunds.has(key))
      world.fail('the rail was called without a durable refund')
    // It answers in the end: nobody could say what became of a refund otherwise.
    const fate = this.spokenFate()
    world.trace(`rail.refund ${payment} ${fate}`)
    const no = () => this.#refused.add(key)
    return this.send(process, { fate, no, deliver: () => this.#giveBack(order, fate) })
  }

  /** It answers in the end. */
  spokenFate(): Fate {
    const drawn = this.#fate()
    return drawn === 'silent' ? 'lostReply' : drawn
  }

  /** Pays what `may` lets it: a draw, over the same line. */
  take(process: Process, order: RailOrder, may: () => boolean): Promise<RailOutcome> {
    this.#judge(order)
    const fate = this.spokenFate()
    const isNo = fate === 'declined'
    this.#world.trace(`rail.draw ${order.payment} ${fate}`)
    this.#asked.add(order.key)
    const deliver = () => {
      const before = this.#entries.get(order.key)
      const isPaid = before !== undefined || (!isNo && may())
      return this.#deliver(order, isPaid ? 'well' : 'declined')
    }
    return this.send(process, { fate, no: () => this.#no.add(order.key), deliver })
  }

  #complete(process: Process, { order }: RailKnown): Promise<RailOutcome> {
    const { claims } = this.#world
    if (!claims.completing.has(order.payment))
      this.#world.fail('what a payer agreed to was taken unjudged')
    return this.#tell(process, order, (entry) => {
      const { outcome } = entry
      const isAgreed = outcome.kind === 'pending' && outcome.awaits === 'capture'
      if (!isAgreed) return
      entry.outcome = settled(order, 'well')
      this.#world.count('taken')
    })
  }

  #cancel(process: Process, { order }: RailKnown): Promise<RailOutcome> {
    return this.#tell(process, order, (entry) => {
      if (entry.outcome.kind === 'pending') entry.outcome = { kind: 'declined', reason: 'voided' }
    })
  }

  /** Something about a payment that it has, once it arrives; the answer is how it stands then. */
  #tell(process: Process, { key }: RailOrder, act: (entry: Entry) => void): Promise<RailOutcome> {
    const no = () => {
      if (this.#entries.get(key)?.outcome.kind === 'declined') this.#no.add(key)
    }
    const deliver = () => {
      const entry = this.#entries.get(key)
      if (entry === undefined) this.#world.fail('the rail was told of what it does not have')
      if (entry === undefined) return { kind: 'unknown', reason: 'absent' } as const
      act(entry)
      return entry.outcome
    }
    return this.send(process, { fate: this.spokenFate(), no, deliver })
  }

  /** A payer agrees or does not, the rail comes to its end, and nothing waits for ever. */
  #ripen(order: RailOrder, entry: Entry): void {
    const { random, scheduler, claims } = this.#world
    scheduler.after(random.between(2_000, 40_000), () => {
      const { outcome } = entry
      if (outcome.kind !== 'pending') return
      if (random.chance(0.3)) {
        entry.outcome = { kind: 'declined', reason: 'expired' }
      } else if (outcome.awaits === 'payer') {
        entry.outcome = { ...outcome, awaits: 'capture', status: 'APPROVED' }
        this.#ripen(order, entry)
      } else if (outcome.awaits === 'rail') {
        const state = claims.reference.paid(order.payment).state
        if (state === 'released' && !claims.late.byPeople.has(order.payment))
          this.#world.fail('money moved for a payment that had been released')
        entry.outcome = settled(order, 'well')
      } else this.#ripen(order, entry)
    })
  }

  /** A request on its way, and a reply: either may be lost, late or doubled; `no` hears that the rail has moved nothing. */
  send<T extends { kind: string }>(
    process: Process,
    { fate, no, deliver }: { fate: Fate; no: () => void; deliver: () => T },
  ): Promise<T | Undelivered> {
    const world = this.#world
    const { random } = world
    return new Promise((resolve) => {
      const reply = (ms: number, outcome: T | Undelivered) =>
        world.scheduler.after(ms, () => {
          if (!process.isAlive) return
          if (outcome.kind === 'declined' || outcome.kind === 'notSent') no()
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
        const outcome = deliver()
        if (fate === 'lostReply' || fate === 'silent') {
          world.count('lostReplies')
          return lost()
        }
        reply(fate === 'slow' ? random.between(10, 12_000) : soon(), outcome)
      })
      if (fate === 'twice') world.scheduler.after(arrives + soon(), deliver)
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
    if (isReleased && !claims.late.byPeople.has(payment))
      world.fail('money moved for a payment that had been released')
    const outcome = this.#outcomeOf(order, fate)
    const entry: Entry = { payment, outcome, back: [], isWhole: false }
    this.#entries.set(key, entry)
    if (outcome.kind === 'pending') this.#ripen(order, entry)
    world.trace(`rail moved ${payment} ${outcome.kind}`)
    if (outcome.kind === 'settled' && world.isFaulty && world.random.chance(0.2))
      this.#turnBack(key)
    return outcome
  }

  #outcomeOf(order: RailOrder, fate: Fate): Entry['outcome'] {
    if (fate === 'declined') return { kind: 'declined', reason: 'declined' }
    if (fate !== 'pending') return settled(order, fate)
    this.#world.count('pending')
    const awaits = this.#world.random.chance(0.7) ? 'payer' : 'rail'
    return { kind: 'pending', awaits, reference: `ref-${order.key}`, status: 'CREATED' }
  }

  /** As much as is left of what moved, or nothing. */
  #giveBack({ key, paymentKey, amount, currency }: RailRefund, fate: Fate): RailRefundOutcome {
    const known = this.#refunds.get(key)
    if (known !== undefined) {
      this.#world.count('duplicates')
      return known
    }
    const entry = this.#entries.get(paymentKey)
    const left = (this.moved(paymentKey) ?? 0) - this.back(paymentKey)
    const isNo = entry === undefined || entry.isWhole || amount > left || fate === 'declined'
    if (!isNo) entry.back.push({ id: key, kind: 'refunded', amount })
    const outcome = isNo
      ? ({ kind: 'declined', reason: 'declined' } as const)
      : ({ kind: 'refunded', reference: key, amount, currency } as const)
    this.#refunds.set(key, outcome)
    this.#world.trace(`rail refunded ${key} ${outcome.kind}`)
    return outcome
  }

  #lookupRefund(key: string): RailRefundOutcome | { readonly kind: 'absent' } {
    const { random, isFaulty } = this.#world
    if (isFaulty && random.chance(0.1)) return { kind: 'unknown', reason: 'reset' }
    const outcome = this.#refunds.get(key)
    if (outcome?.kind !== 'refunded') this.#refused.add(key)
    return outcome ?? { kind: 'absent' }
  }

  /** Some of it, or all, in one or two parts; long after anybody would have asked. */
  #turnBack(key: string): void {
    const { random, scheduler } = this.#world
    const parts = random.between(1, 3)
    const wantsWhole = random.chance(0.2)
    for (let part = 1; part <= parts; part += 1) {
      this.pending += 1
      scheduler.after(random.between(2_000, 60_000), () => {
        this.pending -= 1
        this.#takeBack(key, part, wantsWhole)
      })
    }
  }

  #takeBack(key: string, part: number, wantsWhole: boolean): void {
    const world = this.#world
    const entry = this.#entries.get(key)
    const left = (this.moved(key) ?? 0) - this.back(key)
    if (entry === undefined || left === 0) return
    // Without an id of its own it cannot be told from a refund.
    const isWhole = wantsWhole && entry.back.every(({ kind }) => kind === 'reversed')
    const amount = minor(isWhole || left === 1 ? left : world.random.between(1, left + 1))
    const kind = part === 1 ? 'reversed' : 'refunded'
    entry.back.push({ id: `${kind}-${part}`, kind, amount })
    entry.isWhole = isWhole
    world.count('reversals')
    world.trace(`rail took back ${entry.payment} ${amount}`)
  }
}

/** What everybody understands of a call of which the rail has said nothing. */
type Undelivered = RailOutcomeOf<'unknown' | 'notSent'>

function settled({ key, amount, currency }: RailOrder, fate: Fate) {
  const sum = fate === 'more' ? amount + 7 : fate === 'less' ? Math.max(1, amount - 3) : amount
  const reference = `ref-${key}`
  return { kind: 'settled', reference, amount: minor(sum), currency } as const
}
