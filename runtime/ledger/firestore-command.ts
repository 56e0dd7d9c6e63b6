/**
 * One command as one transaction: the transition's steps, each a single read of everything that it names, then all
 * writes and events in one commit.
 *
 * Each attempt marks what it writes with a word of its own. Where the answer to a commit was lost, the next attempt
 * first looks for that mark on the event that the lost one appended, which nothing ever changes, and then gives the
 * answer that the lost one would have given. So a command happens once even where another would have come between
 * its two attempts: a freeze that was lifted meanwhile is not set again, a note is not written twice.
 */
import type { DocumentReference, Firestore, Transaction } from '@google-cloud/firestore'
import { freshId, type OrganisationId, type PaymentId, type RunId } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import type { CommandName, Commands } from '../core/ledger.ts'
import { type DocKind, Draft, type Key, type Steps } from './draft.ts'
import {
  documentId,
  eventId,
  indexOf,
  type Place,
  pendingOf,
  proofsAt,
} from './firestore-documents.ts'
import { Loader } from './firestore-loader.ts'
import { proofsKeptSince } from './rules.ts'
import { stepsOf, type Transitions } from './transitions.ts'

/** What an attempt would have answered, and where its mark is if it happened. */
interface Attempted<R> {
  readonly mark: string
  readonly result: R
  readonly marked: readonly DocumentReference[]
}

interface Done<R> {
  readonly result: R
  /** Runs whose feeds will grow. */
  readonly runs: readonly RunId[]
}

export interface CommandContext {
  readonly db: Firestore
  readonly place: Place
  readonly organisation: OrganisationId
  readonly transitions: Transitions
}

/** A command that may be tried again until one attempt has an answer; every call of what is returned is one attempt. */
export function commandOf<K extends CommandName>(
  { db, place, organisation, transitions }: CommandContext,
  name: K,
  input: Commands[K]['input'],
): () => Promise<Done<Commands[K]['result']>> {
  const attempts: Attempted<Done<Commands[K]['result']>>[] = []
  const attempt = async (transaction: Transaction): Promise<Outcome<Commands[K]['result']>> => {
    const before = await findMarked(transaction, attempts)
    if (before !== undefined) return { done: before }
    const draft = new Draft(organisation, input.now)
    const loader = new Loader(transaction, place)
    const decided = await decide(stepsOf(transitions, name, input, draft), draft, loader)
    if ('failure' in decided) return decided
    const { result } = decided
    if (!result.ok || !draft.isDirty) return { done: { result, runs: [] } }
    const runs = [...new Set(draft.events.flatMap(({ run }) => (run ? [run] : [])))]
    const done = { result, runs }
    const mark = freshId()
    attempts.push({ mark, result: done, marked: write(transaction, { loader, draft, mark }) })
    return { done }
  }
  return async () => {
    const outcome = await db.runTransaction(attempt, { maxAttempts: 1 })
    if ('failure' in outcome) throw outcome.failure
    return outcome.done
  }
}

type Outcome<R> = { readonly done: Done<R> } | { readonly failure: unknown }

/**
 * Runs the steps. What a transition throws about the documents is an outcome like any other until the commit, which
 * writes nothing, has proved that they were read as of one instant: without locks two reads may see two instants, and
 * a sound account then looks like one that differs from its last event.
 */
async function decide<R>(
  steps: Steps<R>,
  draft: Draft,
  loader: Loader,
): Promise<{ readonly result: R } | { readonly failure: unknown }> {
  for (;;) {
    let step: IteratorResult<readonly Key[], R>
    try {
      step = steps.next()
    } catch (failure) {
      return { failure }
    }
    if (step.done) return { result: step.value }
    await loader.fill(draft, step.value)
  }
}

/** The answer of an earlier attempt whose commit did happen. */
async function findMarked<R>(
  transaction: Transaction,
  attempts: readonly Attempted<R>[],
): Promise<R | undefined> {
  const marked = attempts.flatMap((attempt) => attempt.marked.map((ref) => ({ attempt, ref })))
  if (marked.length === 0) return undefined
  const found = await transaction.getAll(...marked.map(({ ref }) => ref))
  const at = found.findIndex((doc, i) => doc.get('by') === marked[i]?.attempt.mark)
  return marked[at]?.attempt.result
}

/** Writes a draft with the attempt's mark on everything; returns where to look for the mark. */
function write(
  transaction: Transaction,
  { loader, draft, mark }: { loader: Loader; draft: Draft; mark: string },
): readonly DocumentReference[] {
  const { place } = loader
  const refs: DocumentReference[] = []
  for (const one of draft.writes) {
    const { key, value } = one
    const ref = place.ref(key)
    refs.push(ref)
    if (value === undefined) {
      if (!REMOVED.has(key.doc)) throw new TypeError(`a ${key.doc} is never removed`)
      transaction.delete(ref)
    } else if (key.doc === 'proof') {
      const { kept, ...rest } = proofsAt(loader.valueAt(ref), proofsKeptSince(draft.at))
      transaction.set(ref, { text: canonicalJson({ ...rest, kept: [...kept, value] }), by: mark })
    } else {
      const fields = { text: canonicalJson(value), by: mark, ...indexOf(one, draft) }
      const isThere = loader.isThere(ref)
      if (isThere) transaction.update(ref, fields)
      else if (isThere === false || BORN_WITH_NODE.has(key.doc)) transaction.create(ref, fields)
      else transaction.set(ref, fields)
    }
  }
  const events = draft.events.map((event, index) => {
    const ref = place.doc('events', eventId(event.stream, event.seq))
    transaction.create(ref, { body: event.body, hash: event.hash, by: mark })
    if (event.run !== undefined) {
      const pending = place.doc('pending', ref.id)
      transaction.create(pending, { ...pendingOf(event, event.run, index), by: mark })
    }
    return ref
  })
  // The first event is enough: it is there with everything else, or nothing is.
  return events.length > 0 ? events.slice(0, 1) : refs
}

/** What may be given up: a claim of a payment that was released, a step of a run that is erased. */
const REMOVED: ReadonlySet<DocKind> = new Set(['claim', 'step'])

/** Written blindly only together with the node that was just seen to be missing. */
const BORN_WITH_NODE: ReadonlySet<DocKind> = new Set(['account', 'standing', 'token'])

/** What a command writes or is likely to meet others at: work of this process on the same waits in a queue here. */
export function lanesOf<K extends CommandName>(name: K, input: Commands[K]['input']): string[] {
  const named = input as unknown as {
    readonly payment?: PaymentId | { id: PaymentId; node: string; counters: readonly string[] }
    readonly counters?: readonly { key: string }[]
    readonly path?: readonly string[]
    readonly child?: { parent?: string }
    readonly node?: string
    readonly stream?: string
    readonly run?: RunId | { id: RunId }
    readonly authorisation?: string
  }
  if (name === 'createRun' || name === 'outside' || name === 'acknowledge') return ['gateway']
  if (name === 'finishRun' || name === 'haltRun')
    return ['gateway', documentId([String(named.run)])]
  if (name === 'leaseRun') return [documentId([String(named.run)])]
  const { payment } = named
  const ofPayment =
    typeof payment === 'object'
      ? [payment.id, payment.node, ...payment.counters.map((key) => `counter ${key}`)]
      : [payment]
  const others = [
    named.path?.at(-1),
    named.child?.parent,
    named.node,
    named.stream,
    named.authorisation,
    ...(named.counters ?? []).map(({ key }) => `counter ${key}`),
  ]
  return [...ofPayment, ...others].filter((lane) => lane !== undefined)
}
