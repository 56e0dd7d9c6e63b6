/** The ledger in its shortest form: what each command does to the money, without documents, events, stores or refusals. */
import type { NodeId, PaymentId, RunId } from '../../runtime/core/ids.ts'
import type { NodeRecord, PaymentRecord, StandingState } from '../../runtime/core/records.ts'

export interface Place extends Pick<NodeRecord, 'run' | 'path'> {
  ceiling: number
  available: number
  reserved: number
  spent: number
  allotted: number
  /** Of `spent`, what came back and nobody has put to use again. */
  reversed: number
  openChildren: number
  state: StandingState
}

export interface Paid extends Pick<PaymentRecord, 'id' | 'run' | 'node' | 'amount' | 'railKey'> {
  state: PaymentRecord['state']
  settled: number
  reversed: number
  regained: number
}

export class Reference {
  readonly places = new Map<NodeId, Place>()
  readonly payments = new Map<PaymentId, Paid>()
  /** Everything that may have changed since somebody cleared this. */
  readonly touched = new Set<NodeId>()

  place(id: NodeId): Place {
    const place = this.places.get(id)
    if (place === undefined) throw new Error('expected a place')
    this.touched.add(id)
    return place
  }

  paid(id: PaymentId): Paid {
    const paid = this.payments.get(id)
    if (paid === undefined) throw new Error('expected a payment')
    return paid
  }

  open(id: NodeId, run: RunId, path: readonly NodeId[], ceiling: number): void {
    const none = { reserved: 0, spent: 0, allotted: 0, reversed: 0, openChildren: 0 }
    this.places.set(id, { run, path, ceiling, available: ceiling, ...none, state: 'live' })
    this.touched.add(id)
  }

  split({ id, run, path, ceiling }: NodeRecord, parent: Place): void {
    parent.available -= ceiling
    parent.allotted += ceiling
    parent.openChildren += 1
    this.open(id, run, path, ceiling)
  }

  reserve({ id, run, node, amount, railKey }: PaymentRecord): void {
    const place = this.place(node)
    place.available -= amount
    place.reserved += amount
    const none = { settled: 0, reversed: 0, regained: 0 }
    this.payments.set(id, { id, run, node, amount, railKey, state: 'reserved', ...none })
  }

  settle(paid: Paid, amount: number): void {
    this.#free(paid, amount)
    paid.state = 'settled'
    paid.settled = amount
  }

  release(paid: Paid): void {
    this.#free(paid, 0)
    paid.state = 'released'
  }

  reverse(paid: Paid, amount: number): void {
    paid.reversed += amount
    this.place(paid.node).reversed += amount
  }

  regain(paid: Paid, amount = paid.reversed - paid.regained): void {
    const place = this.place(paid.node)
    place.reversed -= amount
    place.spent -= amount
    place.available += amount
    paid.regained += amount
    this.#climb(place)
  }

  /** A node closes when nothing is reserved or open below; what it has left goes to its parent at once. */
  close(place: Place): void {
    if (place.state === 'closed') return
    place.state = 'closing'
    this.#climb(place)
    if (place.reserved > 0 || place.openChildren > 0) return
    place.state = 'closed'
    const parent = place.path.at(-2)
    if (parent !== undefined) this.place(parent).openChildren -= 1
  }

  /** Of what was set aside, so much is spent and the rest is free again. */
  #free({ node, amount }: Paid, spent: number): void {
    const place = this.place(node)
    place.reserved -= amount
    place.spent += spent
    place.available += amount - spent
    this.#climb(place)
  }

  #climb(place: Place): void {
    const parent = place.path.at(-2)
    if (parent === undefined || (place.state !== 'closing' && place.state !== 'closed')) return
    const above = this.place(parent)
    above.allotted -= place.available
    above.available += place.available
    place.ceiling -= place.available
    place.available = 0
    this.#climb(above)
  }
}
