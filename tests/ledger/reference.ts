/** The ledger in its shortest form: plain sums over a tree, without events, proofs or documents. */
export interface Place {
  readonly parent: number
  readonly kind: 'planner' | 'leaf'
  ceiling: number
  available: number
  reserved: number
  spent: number
  allotted: number
  state: 'live' | 'frozen' | 'revoked' | 'closing' | 'closed'
  reversed: number
  payment:
    | { amount: number; state: string; wasSubmitted: boolean; settled: number; back: number }
    | undefined
}

export class Reference {
  readonly places: Place[] = []

  constructor(ceiling: number) {
    this.#open(-1, 'planner', ceiling)
  }

  split(parent: number, kind: Place['kind'], amount: number): boolean {
    const from = this.at(parent)
    const isPossible = from.kind === 'planner' && (amount > 0 || kind === 'planner')
    if (!isPossible || !this.#isLive(parent) || from.available < amount) return false
    from.available -= amount
    from.allotted += amount
    this.#open(parent, kind, amount)
    return true
  }

  reserve(leaf: number, amount: number): boolean {
    const place = this.at(leaf)
    const before = place.payment
    if (place.kind !== 'leaf' || (before && before.amount !== amount)) return false
    if (before && (before.wasSubmitted || !this.#isLive(leaf))) return false
    if (before?.state === 'reserved') return true
    if (!this.#isLive(leaf) || place.available < amount) return false
    place.available -= amount
    place.reserved += amount
    place.payment = { amount, state: 'reserved', wasSubmitted: false, settled: 0, back: 0 }
    return true
  }

  submit(leaf: number): boolean {
    const { payment } = this.at(leaf)
    if (payment?.wasSubmitted) return true
    if (payment?.state !== 'reserved' || !this.#isLive(leaf)) return false
    Object.assign(payment, { state: 'submitted', wasSubmitted: true })
    return true
  }

  unknown(leaf: number): boolean {
    const { payment } = this.at(leaf)
    if (payment?.state === 'submitted') payment.state = 'unknown'
    return payment?.state === 'unknown'
  }

  settle(leaf: number, amount: number): boolean {
    const place = this.at(leaf)
    const payment = place.payment
    const isAwaited = payment?.state === 'submitted' || payment?.state === 'unknown'
    if (!payment || !isAwaited || amount < 1 || amount > payment.amount) return false
    place.reserved -= payment.amount
    place.spent += amount
    place.available += payment.amount - amount
    payment.state = 'settled'
    payment.settled = amount
    this.#climb(leaf)
    return true
  }

  release(leaf: number, from: 'reserved' | 'submitted'): boolean {
    const place = this.at(leaf)
    const payment = place.payment
    if (!payment || payment.wasSubmitted !== (from === 'submitted')) return false
    if (payment.state === 'settled') return false
    if (payment.state === 'released') return true
    place.reserved -= payment.amount
    place.available += payment.amount
    payment.state = 'released'
    this.#climb(leaf)
    return true
  }

  /** Two people say that so much moved, or that nothing did. */
  resolve(leaf: number, amount: number): boolean {
    const payment = this.at(leaf).payment
    if (payment?.state !== 'unknown') return false
    return amount > 0 ? this.settle(leaf, amount) : this.release(leaf, 'submitted')
  }

  reverse(leaf: number, amount: number): boolean {
    const place = this.at(leaf)
    const { payment } = place
    const isPossible = payment?.state === 'settled' && amount > 0
    if (!isPossible || payment.back + amount > payment.settled) return false
    payment.back += amount
    place.reversed += amount
    return true
  }

  regain(leaf: number): boolean {
    const place = this.at(leaf)
    if (place.reversed === 0 || ['closing', 'closed'].includes(this.at(0).state)) return false
    place.spent -= place.reversed
    place.available += place.reversed
    place.reversed = 0
    this.#climb(leaf)
    return true
  }

  stand(node: number, state: 'live' | 'frozen' | 'revoked'): boolean {
    const place = this.at(node)
    const isFinal = !['live', 'frozen'].includes(place.state)
    if (isFinal) return state !== 'live'
    place.state = state
    return true
  }

  close(node: number): boolean {
    const place = this.at(node)
    if (place.state === 'closed') return true
    place.state = 'closing'
    this.#climb(node)
    const hasOpen = this.places.some(({ parent, state }) => parent === node && state !== 'closed')
    if (place.reserved === 0 && !hasOpen) place.state = 'closed'
    return true
  }

  at(index: number): Place {
    const place = this.places[index]
    if (!place) throw new Error('expected a place')
    return place
  }

  #open(parent: number, kind: Place['kind'], ceiling: number): void {
    const none = { reserved: 0, spent: 0, allotted: 0, reversed: 0, payment: undefined }
    this.places.push({ parent, kind, ceiling, available: ceiling, state: 'live', ...none })
  }

  #isLive(index: number): boolean {
    return index < 0 || (this.at(index).state === 'live' && this.#isLive(this.at(index).parent))
  }

  #climb(index: number): void {
    const place = this.at(index)
    if (place.parent < 0 || !['closing', 'closed'].includes(place.state)) return
    const above = this.at(place.parent)
    above.allotted -= place.available
    above.available += place.available
    place.ceiling -= place.available
    place.available = 0
    this.#climb(place.parent)
  }
}
