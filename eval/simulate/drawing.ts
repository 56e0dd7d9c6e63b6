/** What must hold of authorisations: placed once, never drawn above what the rail was allowed to hold, ended by its word alone. */
import type { AuthorisationId, PaymentId } from '../../runtime/core/ids.ts'
import type { Of } from './claims.ts'
import type { Reference } from './reference.ts'

/** What only the rail can say of an authorisation's key. */
export interface HoldWord {
  /** What it holds, or has held, under it. */
  held(key: string): number | undefined
  isVoided(key: string): boolean
  /** Whether anybody was told that it holds nothing. */
  saidNoHold(key: string): boolean
}

type Drawing = Of<'askAuthorisation' | 'authorised' | 'draw' | 'moveAuthorisation'>

interface Asked {
  readonly key: string
  readonly nonce: string
  readonly asked: number
  amount: number
  isOpen: boolean
  readonly draws: Set<PaymentId>
}

export class DrawingClaims {
  readonly asked = new Map<AuthorisationId, Asked>()
  readonly #reference: Reference
  readonly #rail: HoldWord
  readonly #must: (holds: boolean, otherwise: string) => void

  constructor(
    reference: Reference,
    rail: HoldWord,
    must: (holds: boolean, otherwise: string) => void,
  ) {
    this.#reference = reference
    this.#rail = rail
    this.#must = must
  }

  /** Placed or to be placed, and not ended. */
  get open(): readonly AuthorisationId[] {
    return [...this.asked].flatMap(([id, { isOpen }]) => (isOpen ? [id] : []))
  }

  isAsked(key: string): boolean {
    return [...this.asked.values()].some((each) => each.key === key)
  }

  judge(done: Drawing): void {
    switch (done.name) {
      case 'askAuthorisation':
        this.#ask(done)
        return
      case 'authorised':
        this.#authorised(done)
        return
      case 'draw':
        this.#draw(done)
        return
      case 'moveAuthorisation':
        this.#move(done)
        return
    }
  }

  #ask({ input: { authorisation, amount, key, nonce }, result }: Of<'askAuthorisation'>): void {
    if (!result.created) return
    const known = this.asked.get(authorisation)
    this.#must((known?.nonce ?? nonce) === nonce, 'two may place one authorisation')
    if (known !== undefined) return
    const draws = new Set<PaymentId>()
    this.asked.set(authorisation, { key, nonce, asked: amount, amount: 0, isOpen: true, draws })
  }

  #authorised({ input: { authorisation, amount } }: Of<'authorised'>): void {
    const of = this.asked.get(authorisation)
    if (of === undefined || of.amount === amount) return
    this.#must(amount === this.#rail.held(of.key), 'the rail does not hold what was written down')
    this.#must(amount <= of.asked, 'the rail holds more than was asked')
    of.amount = amount
  }

  #draw({ input: { authorisation, payment } }: Of<'draw'>): void {
    const of = this.asked.get(authorisation)
    if (of === undefined || of.draws.has(payment)) return
    of.draws.add(payment)
    let sum = 0
    for (const id of of.draws) {
      const { state, amount } = this.#reference.paid(id)
      if (state !== 'released') sum += amount
    }
    this.#must(sum <= of.amount, 'more is drawn than was authorised')
  }

  #move({ input: { authorisation, to } }: Of<'moveAuthorisation'>): void {
    const of = this.asked.get(authorisation)
    if (of === undefined || !of.isOpen || (to !== 'voided' && to !== 'failed')) return
    const { key } = of
    const isRails = to === 'voided' ? this.#rail.isVoided(key) : this.#rail.saidNoHold(key)
    this.#must(isRails, 'an authorisation was ended without the rail’s word')
    of.isOpen = false
  }
}
