/**
 * What must hold of payments that the rail has no word on, of money that comes back after it has settled, and of runs that
 * are erased: who may say so, how often, and that the rail's own book says the same.
 */
import { type PaymentId, refundKeyOf } from '../../runtime/core/ids.ts'
import type { StandingState } from '../../runtime/core/records.ts'
import type { Of, RailWord } from './claims.ts'
import type { Paid, Reference } from './reference.ts'

interface Refunding {
  readonly amount: number
  state: 'open' | 'made' | 'failed'
}

interface Said {
  readonly by: string
  readonly attempt: string
  readonly word: string
}

const ENDED: ReadonlySet<StandingState> = new Set(['closing', 'closed'])

type Late = Of<
  | 'lease'
  | 'markOverdue'
  | 'resolve'
  | 'reverse'
  | 'regain'
  | 'refund'
  | 'refunded'
  | 'refundFailed'
  | 'refundUnknown'
  | 'eraseParts'
  | 'erase'
>

export class LateClaims {
  /** Ended by two operators, whatever the rail says of it. */
  readonly byPeople = new Set<PaymentId>()
  /** Raised, by the payment. */
  readonly alarms = new Map<PaymentId, string>()
  readonly leases = new Map<PaymentId, { readonly holder: string; readonly until: number }>()
  /** What people asked the rail to give back, by the rail's keys. */
  readonly refunds = new Map<string, Refunding & { readonly payment: PaymentId }>()
  readonly #reference: Reference
  readonly #rail: RailWord
  readonly #must: (holds: boolean, otherwise: string) => void
  readonly #said = new Map<PaymentId, Said>()
  readonly #regained = new Map<PaymentId, string>()
  /** `payment id` of everything that the rail said came back. */
  readonly #told = new Set<string>()

  constructor(
    reference: Reference,
    rail: RailWord,
    must: (holds: boolean, otherwise: string) => void,
  ) {
    this.#reference = reference
    this.#rail = rail
    this.#must = must
  }

  judge(done: Late): void {
    switch (done.name) {
      case 'lease':
        this.#lease(done)
        return
      case 'markOverdue':
        this.#overdue(done)
        return
      case 'resolve':
        this.#resolve(done)
        return
      case 'reverse':
        this.#reverse(done)
        return
      case 'regain':
        this.#regain(done)
        return
      case 'refund':
        this.#refund(done)
        return
      case 'refunded':
        this.#refunded(done)
        return
      case 'refundFailed':
        this.#refundFailed(done)
        return
      case 'eraseParts':
      case 'erase':
        this.#erase(done)
        return
      case 'refundUnknown':
        return
    }
  }

  #lease({ input: { payment, holder, seconds, now } }: Of<'lease'>): void {
    const held = this.leases.get(payment)
    const isHeld = held !== undefined && held.until > now && held.until <= now + seconds
    this.#must(!isHeld || held.holder === holder, 'two ask the rail about one payment')
    if (isHeld && held.until - now > seconds / 2) return
    this.leases.set(payment, { holder, until: now + seconds })
  }

  #overdue({ input: { payment, attempt }, result }: Of<'markOverdue'>): void {
    if (!result.raised) return
    const isFirst = (this.alarms.get(payment) ?? attempt) === attempt
    this.#must(isFirst, 'an alarm was raised twice')
    this.alarms.set(payment, attempt)
  }

  #resolve({ input }: Of<'resolve'>): void {
    const { payment, outcome, amount, evidence, by, attempt } = input
    const paid = this.#reference.paid(payment)
    const said = this.#said.get(payment)
    if (said?.attempt === attempt || this.byPeople.has(payment)) return
    const word = `${outcome} ${amount} ${evidence}`
    this.#must(paid.state === 'unknown', 'people ended a payment that is not unknown')
    if (said?.word !== word) {
      this.#said.set(payment, { by, attempt, word })
      return
    }
    this.#must(said.by !== by, 'one operator ended a payment alone')
    this.byPeople.add(payment)
    if (outcome === 'settled') this.#reference.settle(paid, amount)
    else this.#reference.release(paid)
  }

  #reverse({ input: { payment, id, amount }, result }: Of<'reverse'>): void {
    const paid = this.#reference.paid(payment)
    // A note that was there already changes nothing, and the comparison would see it if it did.
    if (!result.noted) return
    this.#told.add(`${payment} ${id}`)
    this.#comeBack(paid, amount)
  }

  #comeBack(paid: Paid, amount: number): void {
    this.#must(paid.state === 'settled', 'money came back of a payment that is not settled')
    this.#reference.reverse(paid, amount)
    const isRails = paid.reversed <= this.#rail.back(paid.railKey)
    this.#must(isRails, 'more came back than the rail returned')
    this.#must(paid.reversed <= paid.settled, 'more came back than was settled')
  }

  #regain({ input: { payment, reversedAmount, attempt } }: Of<'regain'>): void {
    if (this.#regained.get(payment) === attempt) return
    this.#regained.set(payment, attempt)
    const paid = this.#reference.paid(payment)
    const [root] = this.#reference.place(paid.node).path
    const isOpen = root !== undefined && !ENDED.has(this.#reference.place(root).state)
    this.#must(isOpen, 'money was put to use again in a run that has ended')
    this.#must(paid.reversed === reversedAmount, 'money was put to use again that nobody saw')
    this.#must(paid.reversed > paid.regained, 'the same money was put to use again twice')
    this.#reference.regain(paid)
  }

  #refund({ input: { payment, id, amount } }: Of<'refund'>): void {
    const key = refundKeyOf(id)
    if (this.refunds.has(key)) return
    const paid = this.#reference.paid(payment)
    this.refunds.set(key, { payment, amount, state: 'open' })
    const open = [...this.refunds.values()].filter(
      (each) => each.payment === payment && each.state === 'open',
    )
    const sum = open.reduce((total, each) => total + each.amount, paid.reversed)
    this.#must(sum <= paid.settled, 'more is being given back than was settled')
  }

  /** The rail may have told of it before, as of something that came back. */
  #refunded({ input, result }: Of<'refunded'>): void {
    const { payment, refund, amount, railReference } = input
    const key = refundKeyOf(refund)
    const asked = this.refunds.get(key)
    if (asked === undefined || asked.state === 'made') return
    this.#must(asked.state === 'open', 'a refund was made that had failed')
    this.#must(this.#rail.refunded(key) === amount, 'what was refunded is not what the rail gave')
    asked.state = 'made'
    if (!this.#told.has(`${payment} ${railReference}`))
      this.#comeBack(this.#reference.paid(payment), amount)
    this.#told.add(`${payment} ${railReference}`)
    const paid = this.#reference.paid(payment)
    const returned = (result.payment.regained?.amount ?? 0) - paid.regained
    if (returned === 0) return
    const mayBe = input.budget === 'return' && returned === amount
    this.#must(mayBe, 'a budget was returned that no policy returns')
    const { path } = this.#reference.place(paid.node)
    const states = path.map((id) => this.#reference.place(id).state)
    const isStopped = states.includes('revoked') || states.includes('closing')
    this.#must(!isStopped, 'a budget was returned to what was stopped')
    this.#reference.regain(paid, returned)
  }

  #refundFailed({ input: { refund } }: Of<'refundFailed'>): void {
    const key = refundKeyOf(refund)
    const asked = this.refunds.get(key)
    if (asked === undefined || asked.state === 'failed') return
    this.#must(asked.state === 'open', 'a refund failed that had been made')
    this.#must(this.#rail.refusedRefund(key), 'a refund failed without the rail’s word')
    asked.state = 'failed'
  }

  #erase({ input: { run } }: Of<'erase'> | Of<'eraseParts'>): void {
    const places = [...this.#reference.places.values()].filter((place) => place.run === run)
    const isEnded = places.every(({ state }) => state === 'closed')
    this.#must(isEnded, 'a run was erased that had not ended')
    const waiting = [...this.#reference.payments.values()].some(
      (paid) => paid.run === run && !['settled', 'released'].includes(paid.state),
    )
    this.#must(!waiting, 'a run was erased while its money waited for the rail')
  }
}
