/**
 * What one command reads and wants to write. A transition names the documents it needs, a store loads them, and the
 * draft collects changes and events; the store then commits all of it or none. A draft of a refusal is thrown away.
 *
 * Invariants: an event's balances are those of the account as it stands in the draft when the event is appended, and
 * nothing is appended to a stream whose last event does not say what the store had loaded.
 */
import type { AuthorisationRecord } from '../core/authorisation.ts'
import type { CheckResult, DenialCode } from '../core/codes.ts'
import { Fault } from '../core/errors.ts'
import {
  type Balances,
  balancesOf,
  type EventData,
  type EventType,
  eventBody,
  eventHash,
  GATEWAY_ANCHOR,
} from '../core/events.ts'
import type {
  AuthorisationId,
  Digest,
  HoldId,
  NodeId,
  OrganisationId,
  OutsideId,
  PaymentId,
  RunId,
} from '../core/ids.ts'
import type { MessageKey, MessageRecord, OutsideRecord, WalkRecord } from '../core/inbox.ts'
import type { ProofUse } from '../core/ledger.ts'
import type {
  Account,
  Counter,
  EventRecord,
  Head,
  HoldRecord,
  NodeRecord,
  PaymentRecord,
  RunRecord,
  Sighting,
  Standing,
  StreamId,
} from '../core/records.ts'
import type { Seconds } from '../core/time.ts'
import { assertIntact, corrupt, isGatewayIntact } from './intact.ts'

/** The nine cells of a node's last attempt, from its first refusal on; until then its payment has them. */
export interface Attempt {
  readonly checks: readonly CheckResult[]
  readonly code?: DenialCode
}

/** Documents that transitions write. */
export interface Docs {
  run: RunRecord
  /** By principal and `jti`: one mandate, one run. */
  mandate: RunId
  node: NodeRecord
  token: string
  account: Account
  standing: Standing
  payment: PaymentRecord
  /** By issuer and the quote's `jti`: who pays it. */
  claim: PaymentId
  /** By holder and the proof's `jti`. */
  proof: ProofUse
  counter: Counter
  hold: HoldRecord
  /** By node and name; JSON text. */
  step: string
  attempt: Attempt
  gatewayHead: Head
  authorisation: AuthorisationRecord
  message: MessageRecord
  outside: OutsideRecord
  /** By rail. */
  walk: WalkRecord
  /** By run and quote. */
  sighting: Sighting
}

/** What a store works out when asked, inside the same transaction; never written. */
export interface Views {
  lastEvent: EventRecord
  /**
   * Of the proofs seen, once those are forgotten that expired before the given second: of the holder's where a store
   * counts by holder, else of all.
   */
  proofs: ProofsKept
  /** Open holds of a run that have not expired at the given second. */
  openHolds: number
  /** Payments in `submitted` at or below a node, or anywhere for `gateway`. */
  submittedBelow: readonly PaymentId[]
}

export type DocKind = keyof Docs
type Loadable = Docs & Views
export type LoadKind = keyof Loadable
export type Loaded<K extends LoadKind> = Loadable[K]

export interface ProofsKept {
  readonly count: number
  /** The latest expiry of those that were forgotten: whether an older one was seen is not known any more. */
  readonly forgottenUntilSeconds: Seconds
}

export interface Key<K extends LoadKind = LoadKind> {
  readonly doc: K
  readonly id: readonly string[]
}

const key = <K extends LoadKind>(doc: K, ...id: string[]): Key<K> => ({ doc, id })

export const keys = {
  run: (id: RunId) => key('run', id),
  mandate: (principal: string, jti: string) => key('mandate', principal, jti),
  node: (id: NodeId) => key('node', id),
  token: (id: NodeId) => key('token', id),
  account: (id: NodeId) => key('account', id),
  standing: (id: StreamId) => key('standing', id),
  payment: (id: PaymentId) => key('payment', id),
  claim: (issuer: string, jti: string) => key('claim', issuer, jti),
  proof: (proof: Pick<ProofUse, 'holder' | 'jti'>) => key('proof', proof.holder, proof.jti),
  counter: (counter: string) => key('counter', counter),
  hold: (id: HoldId) => key('hold', id),
  step: (node: NodeId, name: string) => key('step', node, name),
  attempt: (node: NodeId) => key('attempt', node),
  gatewayHead: () => key('gatewayHead'),
  lastEvent: (stream: StreamId) => key('lastEvent', stream),
  proofs: (now: Seconds, holder: string) => key('proofs', String(now), holder),
  openHolds: (run: RunId, now: Seconds) => key('openHolds', run, String(now)),
  submittedBelow: (node: StreamId) => key('submittedBelow', node),
  authorisation: (id: AuthorisationId) => key('authorisation', id),
  message: ({ rail, id }: MessageKey) => key('message', rail, id),
  outside: (id: OutsideId) => key('outside', id),
  walk: (rail: string) => key('walk', rail),
  sighting: (run: RunId, quote: Digest) => key('sighting', run, quote),
}

function withLastEvent(of: Key): Key[] {
  if (of.doc === 'gatewayHead') return [of, keys.lastEvent('gateway')]
  return of.doc === 'account' ? [of, key('lastEvent', ...of.id)] : [of]
}

/** Two keys meet exactly when their texts are equal: each part stands behind its length. */
export function keyText({ doc, id }: Key): string {
  let text: string = doc
  for (const part of id) text += `:${part.length}:${part}`
  return text
}

export type Write = {
  [K in DocKind]: { readonly key: Key<K>; readonly value: Docs[K] | undefined }
}[DocKind]

export interface NewEvent extends EventRecord {
  readonly prev: Digest
  /** Whose feed the event enters. */
  readonly run?: RunId
}

/** A transition: yields keys to load, ends with its result. It may name more keys once it has seen some. */
export type Steps<R> = Generator<readonly Key[], R, void>
export type Load = <K extends LoadKind>(key: Key<K>) => Loaded<K> | undefined

export class Draft {
  readonly organisation: OrganisationId
  readonly at: Seconds
  readonly #read = new Map<string, unknown>()
  /** As the store has it, whatever was written since. */
  readonly #loaded = new Map<string, unknown>()
  readonly #compared = new Set<StreamId>()
  readonly #writes = new Map<string, Write>()
  readonly #events: NewEvent[] = []

  constructor(organisation: OrganisationId, at: Seconds) {
    this.organisation = organisation
    this.at = at
  }

  get isDirty(): boolean {
    return this.#writes.size > 0
  }

  get writes(): Iterable<Write> {
    return this.#writes.values()
  }

  get events(): readonly NewEvent[] {
    return this.#events
  }

  /** Whether it was loaded, or written since. */
  has(of: Key): boolean {
    return this.#read.has(keyText(of))
  }

  /** What was loaded, or written since; throws if the transition never asked for it. */
  get<K extends LoadKind>(of: Key<K>): Loaded<K> | undefined {
    const text = keyText(of)
    if (!this.#read.has(text)) throw new Error(`transition did not load its ${of.doc}`)
    return this.#read.get(text) as Loaded<K> | undefined
  }

  /** As `get`, for what must exist because something else that was read says so. */
  need<K extends LoadKind>(of: Key<K>): Loaded<K> {
    const found = this.get(of)
    if (found === undefined) {
      throw new Fault('ledger_corrupt', `a ${of.doc} is missing`, { retryable: false })
    }
    return found
  }

  put<K extends DocKind>(of: Key<K>, value: Docs[K]): void {
    this.#set(of, value)
  }

  remove<K extends DocKind>(of: Key<K>): void {
    this.#set(of, undefined)
  }

  /** The standing of a node, or of the gateway, which is live until somebody freezes it. */
  standing(node: StreamId): Standing {
    const found = this.get(keys.standing(node))
    if (found !== undefined) return found
    if (node === 'gateway') return { node, state: 'live', version: 1 }
    return this.need(keys.standing(node))
  }

  /** Changes fields of an account; the head is moved by `append` alone. */
  move(node: NodeId, change: Partial<Omit<Account, 'node' | 'run' | 'head'>>): Account {
    const account = { ...this.need(keys.account(node)), ...change }
    this.put(keys.account(node), account)
    return account
  }

  /** Appends to a node's stream; returns the new head. */
  append<T extends EventType>(node: NodeId, type: T, data: EventData[T]): Head {
    this.compare(node)
    const account = this.need(keys.account(node))
    const balances = balancesOf(account)
    const head = this.#append(node, account.head, { type, data, run: account.run, balances })
    this.put(keys.account(node), { ...account, head })
    return head
  }

  /** Appends to the gateway's stream; `gatewayHead` must be loaded. */
  appendGateway<T extends EventType>(type: T, data: EventData[T], run?: RunId): Head {
    if (!this.isGatewayIntact) throw corrupt('gateway')
    const before = this.get(keys.gatewayHead()) ?? { seq: 0, hash: GATEWAY_ANCHOR }
    const head = this.#append('gateway', before, {
      type,
      data,
      ...(run === undefined ? {} : { run }),
    })
    this.put(keys.gatewayHead(), head)
    return head
  }

  /** Whether the gateway's stream ends where its head, which must be loaded, says. */
  get isGatewayIntact(): boolean {
    if (this.#compared.has('gateway')) return true
    const of = keys.gatewayHead()
    this.get(of)
    const head = this.#loaded.get(keyText(of)) as Head | undefined
    const isIntact = isGatewayIntact(head, this.get(keys.lastEvent('gateway')))
    if (isIntact) this.#compared.add('gateway')
    return isIntact
  }

  /** What is still to be loaded of what is wanted: the head of a stream never without the event that it names. */
  missing(wanted: readonly Key[]): Key[] {
    const fresh = new Map<string, Key>()
    for (const of of wanted.flatMap(withLastEvent)) {
      if (!this.has(of)) fresh.set(keyText(of), of)
    }
    return [...fresh.values()]
  }

  /** For the store only. */
  fill(wanted: readonly Key[], load: Load): void {
    for (const of of this.missing(wanted)) {
      const [text, value] = [keyText(of), load(of)]
      this.#loaded.set(text, value)
      this.#read.set(text, value)
    }
  }

  /** Throws unless the account is what its last event left; once for each stream, what follows here is our own. */
  compare(node: NodeId): void {
    if (this.#compared.has(node)) return
    const text = keyText(keys.account(node))
    // Never loaded: this draft opens it, and no store takes a second first event.
    if (this.#loaded.has(text)) {
      const account = this.#loaded.get(text) as Account | undefined
      assertIntact(node, account, this.get(keys.lastEvent(node)))
    }
    this.#compared.add(node)
  }

  #append<T extends EventType>(
    stream: StreamId,
    before: Head,
    event: {
      type: T
      data: EventData[T]
      run?: RunId
      balances?: Balances
    },
  ): Head {
    const seq = before.seq + 1
    const prev = before.hash
    const body = eventBody({ org: this.organisation, stream, seq, prev, at: this.at, ...event })
    const hash = eventHash(body)
    const { run } = event
    this.#events.push({ stream, seq, prev, hash, body, ...(run === undefined ? {} : { run }) })
    return { seq, hash }
  }

  #set<K extends DocKind>(of: Key<K>, value: Docs[K] | undefined): void {
    const text = keyText(of)
    this.#read.set(text, value)
    this.#writes.set(text, { key: of, value } as Write)
  }
}

/** Runs one transition against a store that loads at once. */
export function runSteps<R>(steps: Steps<R>, draft: Draft, load: Load): R {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    draft.fill(step.value, load)
  }
}
