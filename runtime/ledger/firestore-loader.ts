/** Reads what a transition names, inside one Firestore transaction: one call for each step, one more for last events. */
import type { DocumentReference, DocumentSnapshot, Transaction } from '@google-cloud/firestore'
import type { PaymentId } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import type { EventRecord, Head, StreamId } from '../core/records.ts'
import {
  type Draft,
  type Key,
  keyText,
  type Loaded,
  type LoadKind,
  type ProofsKept,
} from './draft.ts'
import {
  documentValue,
  END,
  eventId,
  eventOf,
  type HolderProofs,
  type Place,
  padded,
  proofsAt,
} from './firestore-documents.ts'

/** Proofs of one holder within their age: one document has to hold them, and is written anew with each. */
const PROOFS_OF_ONE_HOLDER = 1_000

/** Reads what a transition names, inside one transaction. */
export class Loader {
  readonly place: Place
  readonly #transaction: Transaction
  /** By path. */
  readonly #found = new Map<string, DocumentSnapshot>()
  readonly #views = new Map<string, unknown>()

  constructor(transaction: Transaction, place: Place) {
    this.#transaction = transaction
    this.place = place
  }

  /** Undefined if it was never looked for. */
  isThere({ path }: DocumentReference): boolean | undefined {
    return this.#found.get(path)?.exists
  }

  valueAt({ path }: DocumentReference): unknown {
    const found = this.#found.get(path)
    return found && documentValue(found)
  }

  async fill(draft: Draft, wanted: readonly Key[]): Promise<void> {
    const fresh = draft.missing(wanted)
    await this.#getAll(fresh.flatMap((key) => this.#refsOf(key)))
    await Promise.all(fresh.map((key) => this.#query(key)))
    const streams = fresh.filter((key): key is Key<'lastEvent'> => key.doc === 'lastEvent')
    await this.#getAll(
      streams.flatMap(({ id: [stream] }) => this.#lastEventRefs(stream as StreamId)),
    )
    draft.fill(
      fresh,
      <K extends LoadKind>(key: Key<K>) => this.#value(key) as Loaded<K> | undefined,
    )
  }

  async #getAll(refs: readonly DocumentReference[]): Promise<void> {
    const missing = new Map(
      refs.filter(({ path }) => !this.#found.has(path)).map((ref) => [ref.path, ref]),
    )
    if (missing.size === 0) return
    const found = await this.#transaction.getAll(...missing.values())
    for (const doc of found) this.#found.set(doc.ref.path, doc)
  }

  #refsOf({ doc, id }: Key): readonly DocumentReference[] {
    switch (doc) {
      case 'openHolds':
      case 'submittedBelow':
        return []
      case 'proofs':
        return [this.#proofsRef(id[1])]
      case 'lastEvent':
        return [this.#headRef(id[0] as StreamId)]
      default:
        return [this.place.ref({ doc, id })]
    }
  }

  #proofsRef(holder: string | undefined): DocumentReference {
    return this.place.ref({ doc: 'proof', id: [holder ?? ''] })
  }

  #headRef(stream: StreamId): DocumentReference {
    return stream === 'gateway'
      ? this.place.ref({ doc: 'gatewayHead', id: [] })
      : this.place.ref({ doc: 'account', id: [stream] })
  }

  #seq(stream: StreamId): number {
    const value = this.valueAt(this.#headRef(stream))
    const head = stream === 'gateway' ? value : (value as { head: Head } | undefined)?.head
    return (head as Head | undefined)?.seq ?? 0
  }

  /** The event that the head names, and the one after it, which must not be there. */
  #lastEventRefs(stream: StreamId): readonly DocumentReference[] {
    const seq = this.#seq(stream)
    return [seq, seq + 1]
      .filter((n) => n > 0)
      .map((n) => this.place.doc('events', eventId(stream, n)))
  }

  async #query(key: Key): Promise<void> {
    const [first = '', second = ''] = key.id
    if (key.doc === 'openHolds') {
      const open = `${first}|open|`
      const found = await this.#transaction.get(
        this.place
          .of('hold')
          .where('byRunState', '>=', `${open}${padded(Number(second) + 1)}`)
          .where('byRunState', '<', `${open}${END}`),
      )
      this.#views.set(keyText(key), found.size)
    }
    if (key.doc === 'submittedBelow') {
      const found = await this.#transaction.get(
        this.place.of('payment').where('onTheWay', 'array-contains', first),
      )
      const ids = found.docs.map((doc) => (documentValue(doc) as { id: PaymentId }).id)
      this.#views.set(keyText(key), ids)
    }
  }

  #value(key: Key): unknown {
    const { doc, id } = key
    const [first = '', second = ''] = id
    switch (doc) {
      case 'openHolds':
      case 'submittedBelow':
        return this.#views.get(keyText(key))
      case 'proofs':
        return this.#proofsAt(Number(first), second)
      case 'proof':
        return this.#proofsOf(first, 0).kept.find(({ jti }) => jti === second)
      case 'lastEvent':
        return this.#lastEvent(first as StreamId)
      default:
        return this.valueAt(this.place.ref({ doc, id }))
    }
  }

  /** A holder whose document is full has used up what the whole store may keep. */
  #proofsAt(now: number, holder: string): ProofsKept {
    const { kept, forgottenUntilSeconds } = this.#proofsOf(holder, now)
    const isFull = kept.length >= PROOFS_OF_ONE_HOLDER
    const count = isFull ? Math.max(kept.length, LIMITS.seenProofs) : kept.length
    return { count, forgottenUntilSeconds }
  }

  #proofsOf(holder: string, now: number): HolderProofs {
    return proofsAt(this.valueAt(this.#proofsRef(holder)), now)
  }

  #lastEvent(stream: StreamId): EventRecord | undefined {
    const seq = this.#seq(stream)
    const at = (n: number) => {
      const found = this.#found.get(this.place.doc('events', eventId(stream, n)).path)
      return found && eventOf(found, stream, n)
    }
    return at(seq + 1) ?? at(seq)
  }
}
