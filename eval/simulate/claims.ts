/**
 * What must hold, whatever happens. Each command that the store says was carried out is judged here, followed by the
 * reference, and every account that either of the two has touched is compared: what neither touched cannot have parted.
 * At the end the store's own words, the log and the rail's book are compared with all of it.
 */
import type { HoldId, NodeId, PaymentId } from '../../runtime/core/ids.ts'
import type { CommandName, Commands, ProofUse, Reserve } from '../../runtime/core/ledger.ts'
import type { Account, PaymentRecord, StandingState } from '../../runtime/core/records.ts'
import { type Draft, keys } from '../../runtime/ledger/draft.ts'
import { DrawingClaims, type HoldWord } from './drawing.ts'
import { LateClaims } from './late.ts'
import { type Paid, type Place, Reference } from './reference.ts'

/** What only the rail can say of a key. */
export interface RailWord {
  /** What moved under it, if anything. */
  moved(key: string): number | undefined
  /** What of that came back since. */
  back(key: string): number
  /** Whether anybody was told that nothing moved. */
  saidNo(key: string): boolean
  /** Whether anything about it was ever sent to the rail. */
  wasAsked(key: string): boolean
  /** What was given back under a refund's key, if anything. */
  refunded(key: string): number | undefined
  /** Whether anybody was told that a refund was not made. */
  refusedRefund(key: string): boolean
}

export type Done = {
  [N in CommandName]: {
    readonly name: N
    readonly input: Commands[N]['input']
    readonly result: Extract<Commands[N]['result'], { ok: true }>
  }
}[CommandName]

export type Of<N extends CommandName> = Extract<Done, { name: N }>

const ENDED: ReadonlySet<StandingState> = new Set(['closing', 'closed'])
const FIELDS = ['ceiling', 'available', 'reserved', 'spent', 'allotted', 'reversed'] as const

export class Claims {
  readonly reference = new Reference()
  readonly late: LateClaims
  readonly drawing: DrawingClaims
  /** `payment code` of every refusal that was recorded. */
  readonly refused = new Set<string>()
  readonly submitted = new Set<PaymentId>()
  /** What may be taken of what payers agreed to. */
  readonly completing = new Set<PaymentId>()
  #gateway: StandingState = 'live'
  readonly #rail: RailWord
  readonly #fail: (why: string) => void
  readonly #accounts = new Map<NodeId, Account>()
  readonly #children = new Map<NodeId, NodeId[]>()
  readonly #proofs = new Map<string, string>()
  readonly #quotes = new Map<string, PaymentId>()
  readonly #counters = new Map<PaymentId, readonly string[]>()
  readonly #approved = new Set<HoldId>()

  constructor(rail: RailWord, holds: HoldWord, fail: (why: string) => void) {
    this.#rail = rail
    this.#fail = fail
    const must = (holds: boolean, why: string) => this.#must(holds, why)
    this.late = new LateClaims(this.reference, rail, must)
    this.drawing = new DrawingClaims(this.reference, holds, must)
  }

  /** Follows one command that the store has carried out, for the first time or again; `draft` is what it wrote. */
  follow(done: Done, draft: Draft): void {
    this.#judge(done, draft)
    if ('payment' in done.result) this.#comparePayment(done.result.payment)
    for (const { key } of draft.writes) {
      if (key.doc === 'account' || key.doc === 'standing')
        this.reference.touched.add(key.id[0] as NodeId)
    }
    const { touched } = this.reference
    for (const id of touched) {
      if (draft.has(keys.account(id))) this.#accounts.set(id, draft.need(keys.account(id)))
    }
    for (const id of touched) this.#comparePlace(id, draft)
    touched.clear()
  }

  #judge(done: Done, draft: Draft): void {
    const { reference } = this
    switch (done.name) {
      case 'createRun': {
        const { id, run, path, ceiling } = done.input.root
        if (!reference.places.has(id)) reference.open(id, run, path, ceiling)
        return
      }
      case 'split':
        this.#split(done)
        return
      case 'reserve':
        this.#reserve(done.input, draft)
        return
      case 'submit':
        this.#submit(done.input.payment, done.input.expiresAtSeconds <= done.input.now)
        return
      case 'settle':
        this.#settle(done)
        return
      case 'release':
        this.#release(done)
        return
      case 'markUnknown':
        this.#unknown(this.reference.paid(done.input.payment))
        return
      case 'refuse':
        this.#prove(done.input.proof)
        this.refused.add(`${done.input.payment} ${done.input.denial.code}`)
        return
      case 'note':
      case 'decided':
        this.#prove(done.input.proof)
        return
      case 'decideHold':
        if (done.input.decision === 'approved') this.#approved.add(done.input.hold)
        return
      case 'setStanding':
        this.#stand(done.input)
        return
      case 'close':
        reference.close(reference.place(done.input.node))
        return
      case 'haltRun':
        this.#fail('a run was halted, and nobody edits accounts here')
        return
      case 'complete': {
        const { id, node, awaits } = done.result.payment
        const isLive = this.#isLive(this.reference.place(node))
        this.#must(isLive, 'what a payer agreed to is taken after its path was stopped')
        if (awaits === 'capture') this.completing.add(id)
        return
      }
      case 'askAuthorisation':
      case 'authorised':
      case 'draw':
      case 'moveAuthorisation':
        this.drawing.judge(done)
        return
      case 'leaseRun':
      case 'saveStep':
      case 'finishRun':
      // No balance of ours changes by these.
      case 'hear':
      case 'takeMessage':
      case 'heard':
      case 'outside':
      case 'acknowledge':
      case 'walked':
        return
      default:
        this.late.judge(done)
    }
  }

  #must(holds: boolean, otherwise: string): void {
    if (!holds) this.#fail(otherwise)
  }

  #isLive({ path }: Place): boolean {
    const { reference } = this
    return (
      this.#gateway === 'live' && path.every((id) => reference.places.get(id)?.state === 'live')
    )
  }

  #prove(proof: ProofUse | undefined): void {
    if (proof === undefined) return
    const key = `${proof.holder} ${proof.jti}`
    const isFirst = (this.#proofs.get(key) ?? proof.attempt) === proof.attempt
    this.#must(isFirst, 'a proof was accepted twice')
    this.#proofs.set(key, proof.attempt)
  }

  #split({ input: { child } }: Of<'split'>): void {
    const { reference } = this
    if (child.parent === undefined || reference.places.has(child.id)) return
    const parent = reference.place(child.parent)
    this.#must(this.#isLive(parent), 'a node was split that is not live')
    reference.split(child, parent)
    this.#must(parent.available >= 0, 'more was split off than there was')
    const children = this.#children.get(child.parent) ?? []
    this.#children.set(child.parent, [...children, child.id])
  }

  #reserve({ payment, approval, submit, proof, counters, ...times }: Reserve, draft: Draft): void {
    const { reference } = this
    const { id, merchant, quoteJti } = payment
    this.#prove(proof)
    const isExpired = times.expiresAtSeconds <= times.now
    const before = reference.payments.get(id)
    if (before === undefined || (before.state === 'released' && !this.submitted.has(id))) {
      const place = reference.place(payment.node)
      this.#must(this.#isLive(place), 'money was set aside at a node that is not live')
      this.#must(!isExpired, 'money was set aside after the expiry')
      reference.reserve(payment)
      this.#must(place.available >= 0, 'more was set aside than there was')
      const quote = `${merchant} ${quoteJti}`
      const holder = this.#quotes.get(quote) ?? id
      const isFree = holder === id || this.reference.paid(holder).state === 'released'
      this.#must(isFree, 'two payments hold one quote')
      this.#quotes.set(quote, id)
      if (approval) this.#use(approval.hold, draft)
      this.#counters.set(id, payment.counters)
      for (const { key, maxAmount } of counters) {
        this.#must(this.#counted(key) <= (maxAmount ?? Infinity), 'a window was passed')
      }
    }
    if (submit) this.#submit(id, isExpired)
  }

  #use(hold: HoldId, draft: Draft): void {
    this.#must(this.#approved.delete(hold), 'an approval was used that is not there')
    this.#must(draft.get(keys.hold(hold))?.state === 'consumed', 'an approval can be used again')
  }

  #counted(counter: string): number {
    let sum = 0
    for (const { id, state, amount, settled } of this.reference.payments.values()) {
      if (state === 'released' || !this.#counters.get(id)?.includes(counter)) continue
      sum += state === 'settled' ? settled : amount
    }
    return sum
  }

  #submit(id: PaymentId, isExpired: boolean): void {
    if (this.submitted.has(id)) return
    const paid = this.reference.paid(id)
    this.#must(paid.state === 'reserved', 'a payment was submitted that was not reserved')
    const isLive = this.#isLive(this.reference.place(paid.node))
    this.#must(isLive, 'a payment was submitted after its path was stopped')
    this.#must(!isExpired, 'a payment was submitted after its expiry')
    paid.state = 'submitted'
    this.submitted.add(id)
  }

  #unknown(paid: Paid): void {
    if (paid.state === 'submitted') paid.state = 'unknown'
  }

  #settle({ input: { payment, amount } }: Of<'settle'>): void {
    const paid = this.reference.paid(payment)
    if (paid.state === 'settled') return
    const isRails = this.#rail.moved(paid.railKey) === amount
    this.#must(isRails, 'what was settled is not what the rail moved')
    this.#must(paid.state !== 'released', 'a released payment was settled')
    this.reference.settle(paid, amount)
  }

  #release({ input: { payment, from, reason } }: Of<'release'>): void {
    const paid = this.reference.paid(payment)
    if (paid.state === 'released') return
    const wasSubmitted = this.submitted.has(payment)
    this.#must(paid.state !== 'settled', 'a settled payment was released')
    this.#must(wasSubmitted === (from === 'submitted'), 'a payment was released from another state')
    // The one attempt that could have sent it found its time over, and says so: then nothing ever was.
    const neverLeft = reason === 'too_late' && !this.#rail.wasAsked(paid.railKey)
    const mayBe = !wasSubmitted || neverLeft || this.#rail.saidNo(paid.railKey)
    this.#must(mayBe, 'money was released without the rail’s word')
    this.reference.release(paid)
  }

  #stand({ node, state }: Of<'setStanding'>['input']): void {
    if (node === 'gateway') {
      this.#gateway = state
      return
    }
    const place = this.reference.place(node)
    if (!ENDED.has(place.state) && place.state !== 'revoked') place.state = state
  }

  #comparePayment({ id, state, settledAmount }: PaymentRecord): void {
    const paid = this.reference.paid(id)
    const isSame = state === paid.state && (settledAmount ?? 0) === paid.settled
    this.#must(isSame, 'a payment is not what the reference says')
  }

  #comparePlace(id: NodeId, draft: Draft): void {
    const place = this.reference.places.get(id)
    if (place === undefined) return
    const account = this.#accounts.get(id)
    if (account === undefined) {
      this.#fail('an account is missing')
      return
    }
    this.compareAccount(account, place)
    const children = this.#children.get(id) ?? []
    const ceilings = children.map((child): number => this.#accounts.get(child)?.ceiling ?? 0)
    const below = ceilings.reduce((sum, ceiling) => sum + ceiling, 0)
    this.#must(below === account.allotted, 'allotted is not the sum of the children')
    const hasStanding = draft.has(keys.standing(id))
    if (hasStanding) this.compareStanding(draft.standing(id).state, place)
  }

  compareAccount(account: Account, place: Place): void {
    const { ceiling, available, reserved, spent, allotted } = account
    const isWhole = ceiling === available + reserved + spent + allotted
    this.#must(isWhole, 'an account does not add up')
    const isSame = FIELDS.every((field) => account[field] === place[field])
    this.#must(isSame, 'an account is not what the reference says')
  }

  compareStanding(state: StandingState, place: Place): void {
    this.#must(state === place.state, 'a standing is not what the reference says')
  }
}
