/** The ledger in its shortest form: what every commit must come to, without documents, events or stores. */
import type { HoldId, NodeId, PaymentId, RunId } from '../../runtime/core/ids.ts'
import type { CommandName, Commands, ProofUse, Reserve } from '../../runtime/core/ledger.ts'
import type { PaymentState, StandingState } from '../../runtime/core/records.ts'

export interface Place {
  readonly run: RunId
  readonly path: readonly NodeId[]
  ceiling: number
  available: number
  reserved: number
  spent: number
  allotted: number
  openChildren: number
  state: StandingState
}

export interface Paid {
  readonly run: RunId
  readonly node: NodeId
  readonly amount: number
  readonly key: string
  readonly claim: string
  readonly counters: readonly string[]
  state: PaymentState
  wasSubmitted: boolean
  settled: number
}

/** What only the rail can say. */
export interface RailWord {
  /** What moved under this key, if anything. */
  moved(key: string): number | undefined
  /** Whether the rail told that nothing moved. */
  saidNo(key: string): boolean
}

export class Reference {
  readonly places = new Map<NodeId, Place>()
  readonly payments = new Map<PaymentId, Paid>()
  readonly refused = new Set<string>()
  /** Approvals that a reservation has used up. */
  readonly used = new Set<HoldId>()
  gateway: StandingState = 'live'
  readonly #rail: RailWord
  readonly #fail: (why: string) => void
  readonly #proofs = new Map<string, string>()
  readonly #claims = new Map<string, PaymentId>()
  readonly #approved = new Set<string>()

  constructor(rail: RailWord, fail: (why: string) => void) {
    this.#rail = rail
    this.#fail = fail
  }

  /** Follows one command that the store says was carried out, for the first time or again. */
  apply<K extends CommandName>(name: K, input: Commands[K]['input'], created: boolean): void {
    const command = { name, input } as {
      [N in CommandName]: { name: N; input: Commands[N]['input'] }
    }[CommandName]
    switch (command.name) {
      case 'createRun': {
        const { root, run } = command.input
        if (created && !this.places.has(root.id))
          this.#open(root.id, run.id, root.path, root.ceiling)
        return
      }
      case 'split':
        this.#split(command.input)
        return
      case 'reserve':
        this.#reserve(command.input)
        return
      case 'submit':
        this.#submit(command.input.payment, command.input.expiresAtSeconds <= command.input.now)
        return
      case 'settle':
        this.#settle(command.input.payment, command.input.amount)
        return
      case 'release':
        this.#release(command.input.payment, command.input.from)
        return
      case 'markUnknown': {
        const paid = this.#paid(command.input.payment)
        if (paid.state === 'submitted') paid.state = 'unknown'
        return
      }
      case 'reverse':
      case 'regain':
      case 'resolve':
      case 'refund':
      case 'refunded':
      case 'refundFailed':
      case 'refundUnknown':
        this.#fail('a payment was resolved or came back, and nobody does that here')
        return
      case 'lease':
      case 'markOverdue':
        return
      case 'refuse':
        this.#prove(command.input.proof)
        // The same question asked again is open again, and needs a fresh yes.
        if (command.input.hold) this.used.delete(command.input.hold.id)
        this.refused.add(`${command.input.payment} ${command.input.denial.code}`)
        return
      case 'note':
        this.#prove(command.input.proof)
        return
      case 'saveStep':
        return
      case 'decideHold':
        if (command.input.decision === 'approved') this.#approved.add(command.input.hold)
        return
      case 'setStanding':
        this.#stand(command.input.node, command.input.state)
        return
      case 'close':
        this.#close(command.input.node)
        return
      case 'finishRun':
      case 'eraseParts':
      case 'erase':
        return
    }
  }

  place(id: NodeId): Place {
    const place = this.places.get(id)
    if (place === undefined) throw new Error('expected a place')
    return place
  }

  isLive(node: NodeId): boolean {
    return (
      this.gateway === 'live' &&
      this.place(node).path.every((id) => this.place(id).state === 'live')
    )
  }

  #paid(id: PaymentId): Paid {
    const paid = this.payments.get(id)
    if (paid === undefined) throw new Error('expected a payment')
    return paid
  }

  #open(id: NodeId, run: RunId, path: readonly NodeId[], ceiling: number): void {
    const none = { reserved: 0, spent: 0, allotted: 0, openChildren: 0, state: 'live' as const }
    this.places.set(id, { run, path, ceiling, available: ceiling, ...none })
  }

  #split({ child }: Commands['split']['input']): void {
    if (this.places.has(child.id) || child.parent === undefined) return
    if (!this.isLive(child.parent)) this.#fail('a node was split that is not live')
    const parent = this.place(child.parent)
    parent.available -= child.ceiling
    parent.allotted += child.ceiling
    parent.openChildren += 1
    if (parent.available < 0) this.#fail('more was split off than there was')
    this.#open(child.id, child.run, child.path, child.ceiling)
  }

  #prove(proof: ProofUse | undefined): void {
    if (proof === undefined) return
    const key = `${proof.holder} ${proof.jti}`
    if ((this.#proofs.get(key) ?? proof.attempt) !== proof.attempt)
      this.#fail('a proof was accepted twice')
    this.#proofs.set(key, proof.attempt)
  }

  #reserve(input: Reserve): void {
    const { payment, approval, submit, expiresAtSeconds, now } = input
    this.#prove(input.proof)
    const before = this.payments.get(payment.id)
    const isExpired = expiresAtSeconds <= now
    if (before === undefined || (before.state === 'released' && !before.wasSubmitted)) {
      const place = this.place(payment.node)
      if (!this.isLive(payment.node)) this.#fail('money was set aside at a node that is not live')
      if (isExpired) this.#fail('money was set aside after the expiry')
      place.available -= payment.amount
      place.reserved += payment.amount
      if (place.available < 0) this.#fail('more was set aside than there was')
      const claim = `${payment.merchant} ${payment.quoteJti}`
      const holder = this.#claims.get(claim)
      const isTaken =
        holder !== undefined && holder !== payment.id && this.#paid(holder).state !== 'released'
      if (isTaken) this.#fail('two payments hold one quote')
      this.#claims.set(claim, payment.id)
      if (approval) this.used.add(approval.hold)
      if (approval && !this.#approved.delete(approval.hold))
        this.#fail('an approval was used that is not there')
      const { run, node, amount, railKey: key, counters } = payment
      this.payments.set(payment.id, {
        run,
        node,
        amount,
        key,
        claim,
        counters,
        state: 'reserved',
        wasSubmitted: false,
        settled: 0,
      })
      for (const { key: counter, maxAmount } of input.counters) {
        if (maxAmount !== undefined && this.#counted(counter) > maxAmount)
          this.#fail('a window was passed')
      }
    }
    if (submit) this.#submit(payment.id, isExpired)
  }

  #counted(counter: string): number {
    const counts = [...this.payments.values()].filter((paid) => paid.counters.includes(counter))
    return counts.reduce((sum, { state, amount, settled }) => {
      if (state === 'released') return sum
      return sum + (state === 'settled' ? settled : amount)
    }, 0)
  }

  #submit(id: PaymentId, isExpired: boolean): void {
    const paid = this.#paid(id)
    if (paid.wasSubmitted) return
    if (paid.state !== 'reserved') this.#fail('a payment was submitted that was not reserved')
    if (!this.isLive(paid.node)) this.#fail('a payment was submitted after its path was stopped')
    if (isExpired) this.#fail('a payment was submitted after its expiry')
    paid.state = 'submitted'
    paid.wasSubmitted = true
  }

  #settle(id: PaymentId, amount: number): void {
    const paid = this.#paid(id)
    if (paid.state === 'settled') return
    if (this.#rail.moved(paid.key) !== amount)
      this.#fail('what was settled is not what the rail moved')
    const place = this.place(paid.node)
    place.reserved -= paid.amount
    place.spent += amount
    place.available += paid.amount - amount
    paid.state = 'settled'
    paid.settled = amount
    this.#climb(paid.node)
  }

  #release(id: PaymentId, from: 'reserved' | 'submitted'): void {
    const paid = this.#paid(id)
    if (paid.state === 'released') return
    if (paid.state === 'settled') this.#fail('a settled payment was released')
    if (paid.wasSubmitted !== (from === 'submitted'))
      this.#fail('a payment was released from another state')
    if (paid.wasSubmitted && !this.#rail.saidNo(paid.key))
      this.#fail('money was released without the rail’s word')
    const place = this.place(paid.node)
    place.reserved -= paid.amount
    place.available += paid.amount
    paid.state = 'released'
    this.#climb(paid.node)
  }

  #stand(node: NodeId | 'gateway', state: 'live' | 'frozen' | 'revoked'): void {
    if (node === 'gateway') {
      this.gateway = state
      return
    }
    const place = this.place(node)
    const isHeld =
      place.state === 'closing' || place.state === 'closed' || place.state === 'revoked'
    if (!isHeld) place.state = state
  }

  #close(node: NodeId): void {
    const place = this.place(node)
    if (place.state === 'closed') return
    place.state = 'closing'
    this.#climb(node)
    if (place.reserved > 0 || place.openChildren > 0) return
    place.state = 'closed'
    const parent = place.path.at(-2)
    if (parent !== undefined) this.place(parent).openChildren -= 1
  }

  #climb(node: NodeId): void {
    const place = this.place(node)
    const parent = place.path.at(-2)
    if (parent === undefined || (place.state !== 'closing' && place.state !== 'closed')) return
    const above = this.place(parent)
    above.allotted -= place.available
    above.available += place.available
    place.ceiling -= place.available
    place.available = 0
    this.#climb(parent)
  }
}
