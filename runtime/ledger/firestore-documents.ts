/**
 * How the ledger's documents lie in Firestore: `organisations/{organisation}/{kind}/{id}`, each one canonical JSON
 * text in one field, so that a number is never a double and nothing undefined is left out, beside the few fields that
 * queries ask for.
 *
 * Every query is over one field: values that are asked for together stand in one field, joined, the one that orders
 * last. So no composite index has to be made before the store works, and each query of a transaction is one range.
 */
import type {
  CollectionReference,
  DocumentReference,
  DocumentSnapshot,
  Firestore,
} from '@google-cloud/firestore'
import { Fault } from '../core/errors.ts'
import { parseEvent } from '../core/events.ts'
import type { OrganisationId, RunId } from '../core/ids.ts'
import type { ProofUse } from '../core/ledger.ts'
import type { EventRecord, StreamId } from '../core/records.ts'
import { type Seconds, seconds } from '../core/time.ts'
import { isOverAuthorisation } from './authorisations.ts'
import {
  type DocKind,
  type Docs,
  type Draft,
  type Key,
  keys,
  type NewEvent,
  type Write,
} from './draft.ts'
import { railNamesOf } from './rail-names.ts'

/** Collections besides those of the documents that transitions name. */
export type Collection =
  | Exclude<DocKind, 'proof'>
  /** One document for each holder, with the proofs of its that are still kept. */
  | 'proofs'
  | 'events'
  /** An event that has no place in its run's feed yet. */
  | 'pending'
  /** By run and position: which event stands there. */
  | 'feed'
  /** By run: how far its feed goes, and who extends it. */
  | 'feeds'
  | 'pings'

/** Whole numbers as text that orders as they do. */
export const padded = (n: number): string => String(n).padStart(16, '0')

/** After every text that begins so: `~` is the last character of ASCII that an id or number may hold. */
export const END = '~'

/** Parts as a document id: no slash, no dots alone, no reserved name, and no two lists of parts meet. */
export function documentId(parts: readonly string[]): string {
  const text = parts.map((part) => encodeURIComponent(part).replaceAll('.', '%2E')).join('|')
  if (text === '') return '%'
  return /^__.*__$/.test(text) ? `%5F${text.slice(1)}` : text
}

export const eventId = (stream: StreamId, seq: number): string => documentId([stream, padded(seq)])

export const feedId = (run: RunId, position: number): string => documentId([run, padded(position)])

/** The documents of one organisation. */
export interface Place {
  readonly root: DocumentReference
  of(collection: Collection): CollectionReference
  doc(collection: Collection, id: string): DocumentReference
  /** Of a document that transitions name. */
  ref(key: Key<DocKind>): DocumentReference
}

export function placeOf(db: Firestore, organisation: OrganisationId): Place {
  const root = db.collection('organisations').doc(documentId([organisation]))
  const doc = (collection: Collection, id: string) => root.collection(collection).doc(id)
  return {
    root,
    of: (collection) => root.collection(collection),
    doc,
    ref: (key) => {
      if (key.doc === 'proof') return doc('proofs', documentId(key.id.slice(0, 1)))
      return doc(key.doc, key.doc === 'gatewayHead' ? 'gateway' : documentId(key.id))
    },
  }
}

/** What a document says, or undefined if there is none. */
export function documentValue(found: DocumentSnapshot): unknown {
  if (!found.exists) return undefined
  return JSON.parse(textOf(found, 'text'))
}

export function textOf(found: DocumentSnapshot, field: string): string {
  const text: unknown = found.get(field)
  if (typeof text === 'string') return text
  throw new Fault('ledger_corrupt', `expected text in ${field}`, { retryable: false })
}

/** An event as stored: its exact text, under an id that says its stream and place. */
export function eventOf(
  found: DocumentSnapshot,
  stream: StreamId,
  seq: number,
): EventRecord | undefined {
  if (!found.exists) return undefined
  return { stream, seq, hash: textOf(found, 'hash'), body: textOf(found, 'body') }
}

export type Fields = { [field: string]: string | string[] }

/** What one holder's document says. */
export interface HolderProofs {
  readonly kept: readonly ProofUse[]
  /** The latest expiry of those that were forgotten. */
  readonly forgottenUntilSeconds: Seconds
}

/** A holder's proofs without those that expired before that second; undefined where nothing was written yet. */
export function proofsAt(value: unknown, now: number): HolderProofs {
  const { kept, forgottenUntilSeconds } = (value ?? NO_PROOFS) as HolderProofs
  const isKept = ({ expiresAtSeconds }: ProofUse) => expiresAtSeconds >= now
  const forgotten = kept.filter((proof) => !isKept(proof))
  return {
    kept: kept.filter(isKept),
    forgottenUntilSeconds: seconds(
      Math.max(forgottenUntilSeconds, ...forgotten.map((proof) => proof.expiresAtSeconds)),
    ),
  }
}

const NO_PROOFS: HolderProofs = { kept: [], forgottenUntilSeconds: seconds(0) }

type Index = {
  readonly [K in DocKind]?: (value: Docs[K], draft: Draft, key: Key<K>) => Fields
}

/** A list that is read by run, by state or by both, in the order of one number. */
const listed = (run: RunId, state: string, order: number): Fields => ({
  all: padded(order),
  byRun: `${run}|${padded(order)}`,
  byState: `${state}|${padded(order)}`,
  byRunState: `${run}|${state}|${padded(order)}`,
})

/** Only a field that is named is changed: what a document was created with stays. */
const INDEX: Index = {
  run: (run, draft) => {
    const made = draft.events.find(({ stream, body, run: of }) => {
      return stream === 'gateway' && of === run.id && parseEvent(body).type === 'run_created'
    })
    const seal = run.seal === undefined ? 'none' : 'made'
    return { seal, ...(made && { order: padded(made.seq) }) }
  },
  node: ({ run, parent }): Fields => ({ run, ...(parent === undefined ? {} : { parent }) }),
  account: ({ run }) => ({ run }),
  standing: ({ node }, draft): Fields => {
    const opened = draft.events.find(({ stream, seq }) => stream === node && seq === 1)
    return opened?.run === undefined || node === 'gateway' ? {} : { run: opened.run }
  },
  attempt: (_attempt, draft, { id: [node] }) => ({
    run: draft.need({ doc: 'account', id: [node ?? ''] }).run,
  }),
  payment: (payment, draft) => {
    const { run, node, state, createdAtSeconds } = payment
    const refunding = payment.refunding ? padded(createdAtSeconds) : ''
    const names = [...railNamesOf(payment)]
    const fields = { run, node, refunding, names, ...listed(run, state, createdAtSeconds) }
    if (state !== 'reserved' && state !== 'submitted') return { ...fields, onTheWay: [] }
    // A command that did not look at the leaf did not bring the payment here: a lease, an alarm.
    if (!draft.has(keys.node(node))) return fields
    const { path, parent } = draft.need(keys.node(node))
    return {
      ...fields,
      ...(parent === undefined ? {} : { parent }),
      onTheWay: state === 'submitted' ? ['gateway', ...path] : [],
    }
  },
  authorisation: (of) => ({
    run: of.run,
    open: isOverAuthorisation(of) ? '' : padded(of.createdAtSeconds),
  }),
  hold: ({ run, payment, state, expiresAtSeconds }) => ({
    payment,
    ...listed(run, state, expiresAtSeconds),
  }),
  message: ({ state, dueAtSeconds }) => ({
    parked: state === 'parked' ? padded(dueAtSeconds) : '',
  }),
  outside: ({ acknowledged, heardAtSeconds }) => ({
    open: acknowledged === undefined ? padded(heardAtSeconds) : '',
  }),
}

/** The fields of a document beside its text. */
export function indexOf({ key, value }: Write, draft: Draft): Fields {
  if (value === undefined) return {}
  const index = INDEX[key.doc] as ((value: unknown, draft: Draft, key: Key) => Fields) | undefined
  return index?.(value, draft, key) ?? {}
}

/** What `pending` says of an event; `index` is its place within its commit. */
export const pendingOf = ({ stream, seq, prev, hash }: NewEvent, run: RunId, index: number) => ({
  run,
  stream,
  seq: padded(seq),
  prev,
  hash,
  index: padded(index),
})
