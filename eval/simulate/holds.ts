/** What the simulated rail holds of payers for later: placed, drawn and voided over the same bad line as everything else. */
import type {
  RailAuthorisation,
  RailAuthorisations,
  RailAuthorised,
  RailOrder,
  RailOutcome,
} from '../../runtime/core/rail.ts'
import type { HoldWord } from './drawing.ts'
import type { Process } from './process.ts'
import type { Fate, RailBook } from './rail.ts'
import type { World } from './world.ts'

interface Held {
  readonly amount: number
  readonly currency: RailAuthorisation['currency']
  readonly untilSeconds: number
  drawn: number
  isVoided: boolean
}

/** It would let so much more be captured, as real ones do: what was authorised is the ledger's to keep. */
const MORE = 1.15

/** Long enough for most histories, and over in some of them. */
const LASTS_SECONDS = [20, 3_600] as const

export class RailHolds implements HoldWord {
  readonly #world: World
  readonly #book: RailBook
  readonly #held = new Map<string, Held>()
  readonly #no = new Set<string>()
  readonly #placed = new Set<string>()

  constructor(world: World, book: RailBook) {
    this.#world = world
    this.#book = book
  }

  held(key: string): number | undefined {
    return this.#held.get(key)?.amount
  }

  isVoided(key: string): boolean {
    return this.#held.get(key)?.isVoided === true
  }

  saidNoHold(key: string): boolean {
    return this.#no.has(key)
  }

  /** Nothing is held that nobody will ever give back. */
  get isEmpty(): boolean {
    return [...this.#held.values()].every(({ isVoided }) => isVoided)
  }

  port(process: Process): RailAuthorisations {
    return {
      // In two histories of three.
      takes: ({ account }) => this.#world.seed % 3 !== 0 && account.endsWith('stall'),
      place: (authorisation) => this.#place(process, authorisation),
      lookup: ({ key }) =>
        this.#world.io(process, 'rail.lookupAuthorisation', () => this.#lookup(key)),
      draw: (order, reference) => this.#draw(process, order, reference),
      void: (reference) => this.#void(process, reference),
    }
  }

  #place(process: Process, authorisation: RailAuthorisation): Promise<RailAuthorised> {
    const world = this.#world
    const { key } = authorisation
    if (this.#placed.has(key)) world.fail('an authorisation was placed twice')
    this.#placed.add(key)
    if (!world.claims.drawing.isAsked(key))
      world.fail('the rail was called without a durable authorisation')
    const fate = this.#book.spokenFate()
    world.trace(`rail.authorise ${key} ${fate}`)
    const no = () => this.#no.add(key)
    return this.#book.send(process, { fate, no, deliver: () => this.#hold(authorisation, fate) })
  }

  #hold({ key, amount, currency }: RailAuthorisation, fate: Fate): RailAuthorised {
    const world = this.#world
    if (fate === 'declined') return { kind: 'declined', reason: 'declined' }
    if (this.#no.has(key)) world.fail('money is held for an authorisation that had failed')
    const lasts = world.random.chance(0.2) ? LASTS_SECONDS[0] : LASTS_SECONDS[1]
    const untilSeconds = Math.floor(world.scheduler.nowMs / 1000) + lasts
    const made = { amount, currency, untilSeconds, drawn: 0, isVoided: false }
    const held = this.#held.get(key) ?? made
    this.#held.set(key, held)
    return said(key, held)
  }

  #lookup(key: string): Awaited<ReturnType<RailAuthorisations['lookup']>> {
    const { random, isFaulty } = this.#world
    if (isFaulty && random.chance(0.1)) return { kind: 'unknown', reason: 'reset' }
    const held = this.#held.get(key)
    if (held?.isVoided) return { kind: 'voided' }
    if (held !== undefined) return said(key, held)
    this.#no.add(key)
    return { kind: 'absent' }
  }

  #draw(process: Process, order: RailOrder, reference: string): Promise<RailOutcome> {
    return this.#book.take(process, order, () => {
      const held = this.#held.get(reference)
      if (held === undefined) this.#world.fail('a draw from what the rail does not hold')
      if (held === undefined || held.isVoided || held.drawn + order.amount > held.amount * MORE)
        return false
      held.drawn += order.amount
      if (held.drawn > held.amount) this.#world.fail('the rail was drawn above what it holds')
      this.#world.count('drawn')
      return true
    })
  }

  #void(process: Process, reference: string): ReturnType<RailAuthorisations['void']> {
    const fate = this.#book.spokenFate()
    const deliver = () => {
      const held = this.#held.get(reference)
      if (held === undefined) this.#world.fail('what the rail does not hold was voided')
      if (held?.isVoided === false) this.#world.count('voided')
      if (held) held.isVoided = true
      return { kind: 'voided' } as const
    }
    return this.#book.send(process, { fate, no: () => undefined, deliver })
  }
}

const said = (key: string, { amount, currency, untilSeconds }: Held): RailAuthorised => ({
  kind: 'authorised',
  reference: key,
  amount: amount as never,
  currency,
  untilSeconds,
})
