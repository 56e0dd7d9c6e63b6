/**
 * Verifies an exported log, alone: this file imports nothing but Node, so that an auditor can read all of it and run it
 * where none of our code is:
 *
 *   node verify.ts export.ndjson [--run RUN] [--seal FILE]... [--receipt FILE]... [--checkpoint FILE]... [--jwks FILE] [--links]
 *
 * A line is `{"hash":…,"body":"<text>"}`, `hash` the SHA-256 (base64url) of the text. Each node of the delegation tree
 * has a stream of its own, chained by `prev`; a child's first event is chained to the event of its parent that split
 * it off, and its last is named in its parent's stream. So the root's last hash commits to everything, and a seal is
 * the gateway's signature over that. From the events alone every balance is worked out again and compared with what
 * the event states. What nobody can see from a log is whether its very end was cut off: a seal, a receipt or a
 * checkpoint that was kept elsewhere shows it. A checkpoint says where all open streams stood at one instant, so it also
 * orders their events: a payment after it may have read no standing that is older.
 *
 * Of personal data the log has salted digests. A line `{"side":{of, what, salt, value}}` gives a clear value, which is held
 * against its digest: SHA-256 over the salt, a line end and the value; of a mandate over its text alone. Where no line
 * gives it, the value is erased if the log says so of its run, and otherwise it is only not there.
 *
 * With `--links` only bytes are judged: every text has its hash, every chain is whole and anchored, and whatever was
 * signed stands where it was signed. That is enough to say that a copy of a log that was verified once is still the
 * same log; that the log makes sense it does not say.
 *
 * Lines are read one at a time. What is kept is a few words for each stream, and of each event its hash.
 */
import {
  createHash,
  createPublicKey,
  hash as digestOf,
  type JsonWebKey,
  type KeyObject,
  verify as verifySignature,
} from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { parseArgs } from 'node:util'

type Fields = Readonly<Record<string, unknown>>

export interface VerifyOptions {
  /** Compact JWS texts, kept elsewhere. */
  readonly seals?: readonly string[]
  readonly receipts?: readonly string[]
  readonly checkpoints?: readonly string[]
  /** The export is of this run alone: neither the gateway's stream nor those of other runs need be there. */
  readonly run?: string
  /** Only what is said above of `--links`. */
  readonly links?: boolean
  /** The gateway's key set (RFC 7517), needed for all of these. */
  readonly jwks?: { readonly keys: readonly JsonWebKey[] }
}

export interface BrokenLink {
  readonly stream: string
  readonly seq: number
  readonly why: string
}

/** Sums over all nodes of a run, minor units: `ceiling = available + reserved + spent`. */
export interface RunTotals {
  readonly run: string
  readonly ceiling: number
  readonly available: number
  readonly reserved: number
  readonly spent: number
}

/** Personal values that the log has digests of, each counted in one of three ways. */
export interface PersonalCounts {
  readonly values: number
  /** Given in clear, and what the log commits to. */
  readonly disclosed: number
  /** Of runs that were erased. */
  readonly erased: number
  readonly absent: number
  /** Runs whose personal values were erased. */
  readonly erasedRuns: number
}

export interface AuditVerdict {
  readonly ok: boolean
  readonly events: number
  readonly streams: number
  readonly runs: readonly RunTotals[]
  /** Absent where the log has none. */
  readonly personal?: PersonalCounts
  /** How many of the given checkpoints name a stream of the log: others prove nothing of it. Absent without any. */
  readonly checkpoints?: number
  /** The first link that does not hold. */
  readonly broken?: BrokenLink
}

class Broken extends Error {
  readonly link: BrokenLink

  constructor(stream: string, seq: number, why: string) {
    super(why)
    this.link = { stream, seq, why }
  }
}

interface Event {
  readonly stream: string
  readonly seq: number
  readonly hash: string
  readonly prev: string
  readonly org: string
  readonly run: string
  readonly at: number
  readonly type: string
  readonly data: Fields
  readonly balances: Fields | undefined
}

/** A place in a stream, with what has to be known of the event there once all streams are read. */
interface Place {
  readonly stream: string
  readonly seq: number
}

/** A reservation or a submit, with the standings that it read. */
interface Judged extends Place {
  readonly type: string
  readonly standings: unknown
}

interface Payment {
  readonly id: string
  readonly amount: number
  readonly payee: string
  readonly quote: string
  overdue?: true
  /** One operator's word on it, and a second's. */
  proposed?: Fields
  resolved?: Fields
  /** What came back late, by the rail's ids, and how much of it was put to use again. */
  reversed?: Map<string, number>
  /** What we asked the rail to give back, and what became of that. */
  refunds?: Map<string, { readonly amount: number; state: 'open' | 'made' | 'failed' }>
  /** The rail's ids of those that were made. */
  made?: Set<string>
  regained: number
  /** The authorisation that it was taken out of. */
  drawn?: string
  state: 'reserved' | 'submitted' | 'unknown' | 'settled' | 'released'
  settled?: {
    readonly seq: number
    readonly amount: number
    readonly reference: unknown
    readonly receipt: unknown
  }
}

/** Money that a rail was asked to hold for one payee, in the stream of the leaf that it is for. */
interface Authorisation extends Place {
  readonly payee: string
  readonly asked: number
  state: 'placing' | 'open' | 'voiding' | 'over'
  amount?: number
}

/** A payment's part of it, with what had been taken by then, this included. */
interface Draw extends Place {
  readonly authorisation: string
  readonly payment: Payment
  readonly total: number
}

/** What a person was asked, and until when an answer counts. */
interface Hold {
  readonly payment: string
  readonly digest: string
  readonly expires: number
  isApproved: boolean
}

interface Split extends Place {
  readonly hash: string
  readonly run: string
  readonly amount: unknown
  readonly nodes: unknown
}

/** A child's end as its parent states it. */
interface Closed extends Place {
  readonly endSeq: unknown
  readonly endHash: unknown
}

interface Child {
  readonly split: Split
  credited: number
  closed?: Closed
}

/** `reversed` is part of `spent`, and left out of an event where it is nothing. */
const FIELDS = ['ceiling', 'available', 'reserved', 'spent', 'allotted', 'reversed'] as const
type Balances = Record<(typeof FIELDS)[number], number>

const LIVE = [{ state: 'live', since: 1 }]

/** What the events of one stream add up to. */
class Stream {
  readonly first: Event
  readonly hashes: string[] = []
  readonly balances: Balances = {
    ceiling: 0,
    available: 0,
    reserved: 0,
    spent: 0,
    allotted: 0,
    reversed: 0,
  }
  /** The one payment of a leaf, from its latest reservation on. */
  payment: Payment | undefined
  /** What only some streams have is made when it is first needed: most streams are leaves. */
  children: Map<string, Child> | undefined
  /** The versions of its standing, version 1 first: what each stood for, and with which event it began. */
  versions: { readonly state: string; readonly since: number }[] | undefined
  /** What waits for a person, or was approved and nothing has used yet. */
  holds: Map<string, Hold> | undefined
  authorisations: Map<string, Authorisation> | undefined
  draws: Draw[] | undefined
  /** Reservations and submits, whose standings are looked up when all streams are read. */
  judged: Judged[] | undefined
  nodesLeft = 0
  returned = 0
  ended: { readonly seq: number; readonly hash: string } | undefined

  constructor(first: Event) {
    const { holder, chain: ids, custody, ...data } = first.data
    this.first = { ...first, data, balances: undefined }
  }

  get standing(): string {
    return (this.versions ?? LIVE).at(-1)?.state ?? ''
  }

  /** Moves money between two balances; the replay fails where one would fall below nothing. */
  move(event: Event, change: Partial<Balances>): void {
    for (const field of FIELDS) {
      const by = change[field]
      if (by === undefined) continue
      this.balances[field] += by
      if (this.balances[field] < 0) fail(event, `${field} falls below nothing`)
    }
  }

  judge({ seq, type, data: { standings } }: Event): void {
    this.judged ??= []
    this.judged.push({ stream: this.first.stream, seq, type, standings })
  }
}

function fail(at: Place, why: string): never {
  throw new Broken(at.stream, at.seq, why)
}

const sha256 = (text: string): string => digestOf('sha256', text, 'base64url')

/** The root of a Merkle tree (RFC 6962 section 2.1). */
function merkleRoot(leaves: readonly string[]): Buffer {
  const hash = createHash('sha256')
  const [first] = leaves
  if (first === undefined) return hash.digest()
  if (leaves.length === 1) return hash.update(Uint8Array.of(0)).update(first).digest()
  let left = 1
  while (left * 2 < leaves.length) left *= 2
  hash.update(Uint8Array.of(1)).update(merkleRoot(leaves.slice(0, left)))
  return hash.update(merkleRoot(leaves.slice(left))).digest()
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** RFC 8785 for what an event may hold: the one text of a value. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isFields(value)) return JSON.stringify(value)
  const fields = Object.keys(value).sort()
  return `{${fields.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`
}

/** Whether every object of a value has its keys in the order of RFC 8785, as far as JavaScript keeps any order. */
function isSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isSorted)
  let before = ''
  for (const key in value) {
    if (key < before) return false
    before = key
    const inner = (value as Fields)[key]
    if (typeof inner === 'object' && !isSorted(inner)) return false
  }
  return true
}

/** What keeps its order when it is read is written again by JavaScript itself: much faster, and the same text. */
const isCanonical = (value: unknown, text: string): boolean =>
  (isSorted(value) && JSON.stringify(value) === text) || canonical(value) === text

const isText = (value: unknown): value is string => typeof value === 'string'

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value)

/** A value as text, empty if it is none: a log may hold anything, and nothing of it is ever converted. */
const wordOf = (value: unknown): string => (isText(value) ? value : '')

const countOf = (value: unknown): number => (isWhole(value) ? value : 0)

const fieldsOf = (value: unknown): Fields | undefined => (isFields(value) ? value : undefined)

function text(event: Event, key: string): string {
  const value = event.data[key]
  return isText(value) ? value : fail(event, `expected text in ${key}`)
}

function whole(event: Event, key: string): number {
  const value = event.data[key]
  return isWhole(value) && value >= 0 ? value : fail(event, `expected a whole number in ${key}`)
}

function parseObject(source: string): Fields | undefined {
  try {
    return fieldsOf(JSON.parse(source))
  } catch {
    return undefined
  }
}

/** One line, believed only as far as its own hash goes. */
function readLine(line: string, lineNumber: number, links: boolean): Event {
  const at = { stream: `line ${lineNumber}`, seq: 0 }
  const { hash, body } = parseObject(line) ?? fail(at, 'expected an object with hash and body')
  if (!isText(hash) || !isText(body)) return fail(at, 'expected two texts')
  const event = parseObject(body) ?? fail(at, 'expected an event as body')
  const { v, org, run = '', stream, seq, prev, at: second, type, data, balances } = event
  const named = { stream: wordOf(stream), seq: countOf(seq) }
  if (sha256(body) !== hash) fail(named, 'the text does not have the hash that is given for it')
  if (!links && !isCanonical(event, body)) fail(named, 'the text is not canonical')
  const isShaped =
    v === 1 &&
    isText(org) &&
    isText(run) &&
    isText(stream) &&
    isText(prev) &&
    isText(type) &&
    isWhole(seq) &&
    isWhole(second) &&
    isFields(data)
  if (!isShaped) return fail(named, 'expected the shape of an event')
  return { stream, seq, hash, prev, org, run, at: second, type, data, balances: fieldsOf(balances) }
}

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '))

const has = (list: unknown, item: unknown): boolean => Array.isArray(list) && list.includes(item)

const payment = (stream: Stream, event: Event, ...states: Payment['state'][]): Payment => {
  const { payment: found } = stream
  const isIt = found !== undefined && found.id === text(event, 'payment')
  return isIt && states.includes(found.state)
    ? found
    : fail(event, `${event.type} out of its order`)
}

function child(stream: Stream, event: Event): Child {
  return (
    stream.children?.get(text(event, 'child')) ?? fail(event, 'expected a child split off here')
  )
}

/** Notes that a child was split off, where it was not before. */
function splitOff(stream: Stream, event: Event): void {
  stream.children ??= new Map()
  const id = wordOf(event.data.child)
  if (stream.children.has(id)) fail(event, 'a child is split off twice')
  const { seq, hash, data } = event
  const { stream: name, run } = stream.first
  const split = { stream: name, seq, hash, run, amount: data.amount, nodes: data.nodes }
  stream.children.set(id, { split, credited: 0 })
}

/** Notes what a parent says of a child's end. */
function closeChild(stream: Stream, event: Event): void {
  const of = child(stream, event)
  if (of.closed) fail(event, 'a child is closed twice')
  const { seq: endSeq, hash: endHash } = event.data
  of.closed = { stream: stream.first.stream, seq: event.seq, endSeq, endHash }
}

function live(stream: Stream, event: Event): void {
  if (stream.standing !== 'live') fail(event, `${event.type} while ${stream.standing}`)
}

/** A change of standing, from one of the given states, with the next version. */
const standing =
  (state: string, ...from: string[]) =>
  (stream: Stream, event: Event): void => {
    if (!from.includes(stream.standing)) fail(event, `${event.type} while ${stream.standing}`)
    stream.versions ??= [...LIVE]
    stream.versions.push({ state, since: event.seq })
    if (whole(event, 'version') !== stream.versions.length) fail(event, 'a version is left out')
  }

function openHold(stream: Stream, event: Event): Hold {
  const hold = stream.holds?.get(text(event, 'hold'))
  const isIt = hold !== undefined && !hold.isApproved && hold.digest === text(event, 'digest')
  return isIt ? hold : fail(event, `${event.type} what was not held`)
}

/** An approval answers one payment, once, until it expires. */
function useApproval({ holds }: Stream, event: Event, payment: string): void {
  const id = text(event, 'hold')
  const hold = holds?.get(id)
  const isGiven = hold?.isApproved && hold.payment === payment && event.at < hold.expires
  if (!isGiven) fail(event, 'uses an approval that nobody gave')
  holds?.delete(id)
}

const cameBack = ({ reversed }: Payment): number =>
  [...(reversed?.values() ?? [])].reduce((sum, amount) => sum + amount, 0)

/** Notes what came back under a rail's id that was not heard of before. */
function comeBack(stream: Stream, event: Event, paid: Payment, id: string): void {
  const amount = whole(event, 'amount')
  paid.reversed ??= new Map()
  paid.reversed.set(id, amount)
  if (cameBack(paid) > (paid.settled?.amount ?? 0)) fail(event, 'more came back than was settled')
  stream.move(event, { reversed: amount })
}

function openRefund({ refunds }: Payment, event: Event) {
  const asked = refunds?.get(text(event, 'refund'))
  return asked?.state === 'open' ? asked : fail(event, `${event.type} out of its order`)
}

function authorisation({ authorisations }: Stream, event: Event, ...states: string[]) {
  const found = authorisations?.get(text(event, 'authorisation'))
  const isIn = found !== undefined && states.includes(found.state)
  return isIn ? found : fail(event, `${event.type} out of its order`)
}

/** An end is the rail's word, or exactly what two operators resolved. */
function decided({ resolved }: Payment, event: Event, amount: number): void {
  const { type, data } = event
  if (resolved === undefined && data.evidence === undefined) return
  const isSame =
    resolved?.outcome === type && resolved.amount === amount && resolved.evidence === data.evidence
  if (!isSame) fail(event, `${type} as nobody resolved it`)
}

/** A root is a planner, a looker has no money, and a leaf has one payee and one quote. */
function isNode(event: Event): boolean {
  const { parent, kind, payees, quote } = event.data
  whole(event, 'expires')
  if (!Array.isArray(payees) || !payees.every(isText)) return false
  if (kind === 'planner') return parent === undefined || isText(parent)
  if (!isText(parent)) return false
  if (kind === 'looker') return whole(event, 'ceiling') === 0
  return kind === 'leaf' && payees.length === 1 && isText(quote)
}

/** What each type of event does to its stream. Types that are not here do not exist. */
const REPLAY: Readonly<Record<string, (stream: Stream, event: Event) => void>> = {
  opened(stream, event) {
    if (event.seq !== 1) fail(event, 'opened twice')
    if (!isNode(event)) fail(event, 'not a node that there can be')
    stream.nodesLeft = whole(event, 'nodes')
    stream.move(event, { ceiling: whole(event, 'ceiling'), available: whole(event, 'ceiling') })
  },
  split(stream, event) {
    live(stream, event)
    if (stream.first.data.kind !== 'planner') fail(event, 'only a planner splits')
    const amount = whole(event, 'amount')
    text(event, 'child')
    splitOff(stream, event)
    stream.nodesLeft -= whole(event, 'nodes') + 1
    if (stream.nodesLeft < 0) fail(event, 'more nodes than were allotted')
    stream.move(event, { available: -amount, allotted: amount })
  },
  reserved(stream, event) {
    live(stream, event)
    stream.judge(event)
    const [id, amount] = [text(event, 'payment'), whole(event, 'amount')]
    const { payment: before } = stream
    if (before !== undefined && before.id !== id) fail(event, 'a second payment of a leaf')
    if (before !== undefined && before.state !== 'released') fail(event, 'reserved twice')
    const [payee, quote] = [text(event, 'payee'), text(event, 'quote')]
    const { kind, payees, quote: own } = stream.first.data
    const isOwn = kind === 'leaf' && own === quote && has(payees, payee)
    if (!isOwn || event.at >= whole(stream.first, 'expires'))
      fail(event, 'not a payment that this node may make')
    if (event.data.hold !== undefined) useApproval(stream, event, id)
    stream.payment = { id, amount, payee, quote, regained: 0, state: 'reserved' }
    stream.move(event, { available: -amount, reserved: amount })
  },
  submitted(stream, event) {
    live(stream, event)
    stream.judge(event)
    const isLate = event.at >= whole(stream.first, 'expires')
    if (isLate || has(event.data.checks, 'failed')) fail(event, 'submitted what was to be refused')
    payment(stream, event, 'reserved').state = 'submitted'
  },
  unknown(stream, event) {
    payment(stream, event, 'submitted').state = 'unknown'
  },
  overdue(stream, event) {
    const late = payment(stream, event, 'submitted', 'unknown')
    if (late.overdue) fail(event, 'an alarm is raised twice')
    late.overdue = true
  },
  settled(stream, event) {
    const paid = payment(stream, event, 'submitted', 'unknown')
    const amount = whole(event, 'amount')
    if (amount > paid.amount) fail(event, 'settled for more than was reserved')
    decided(paid, event, amount)
    paid.state = 'settled'
    const { reference, receipt } = event.data
    paid.settled = { seq: event.seq, amount, reference, receipt }
    stream.move(event, { reserved: -paid.amount, spent: amount, available: paid.amount - amount })
  },
  released(stream, event) {
    const freed = payment(stream, event, 'reserved', 'submitted', 'unknown')
    if (whole(event, 'amount') !== freed.amount) fail(event, 'releases another amount')
    decided(freed, event, freed.amount)
    freed.state = 'released'
    stream.move(event, { reserved: -freed.amount, available: freed.amount })
  },
  proposed(stream, event) {
    const of = payment(stream, event, 'unknown')
    if (whole(event, 'amount') > of.amount) fail(event, 'proposes more than was reserved')
    of.proposed = event.data
  },
  resolved(stream, event) {
    const of = payment(stream, event, 'unknown')
    const isSame = ['outcome', 'amount', 'evidence'].every(
      (key) => of.proposed?.[key] === event.data[key],
    )
    if (!isSame || of.resolved) fail(event, 'resolves what nobody proposed')
    if (of.proposed?.by === event.data.by) fail(event, 'one operator proposed and resolved')
    of.resolved = event.data
  },
  returned(stream, event) {
    if (!['closing', 'closed'].includes(stream.standing)) fail(event, 'returned while not closing')
    const amount = whole(event, 'amount')
    stream.returned += amount
    stream.move(event, { available: -amount, ceiling: -amount })
  },
  reversed(stream, event) {
    const paid = payment(stream, event, 'settled')
    const id = text(event, 'reversal')
    if (paid.reversed?.has(id)) fail(event, 'one reversal is noted twice')
    comeBack(stream, event, paid, id)
  },
  refund_asked(stream, event) {
    const paid = payment(stream, event, 'settled')
    const [id, amount] = [text(event, 'refund'), whole(event, 'amount')]
    paid.refunds ??= new Map()
    if (paid.refunds.has(id)) fail(event, 'one refund is asked for twice')
    paid.refunds.set(id, { amount, state: 'open' })
    const open = [...paid.refunds.values()].filter(({ state }) => state === 'open')
    const sum = open.reduce((total, each) => total + each.amount, cameBack(paid))
    if (amount < 1 || sum > (paid.settled?.amount ?? 0)) {
      fail(event, 'asks for more than was settled')
    }
  },
  refunded(stream, event) {
    const paid = payment(stream, event, 'settled')
    const [id, amount] = [text(event, 'reference'), whole(event, 'amount')]
    const asked = openRefund(paid, event)
    if (asked.amount !== amount) fail(event, 'refunds another amount than was asked for')
    asked.state = 'made'
    paid.made ??= new Set()
    const told = paid.reversed?.get(id)
    if (told !== undefined && (told !== amount || paid.made.has(id))) {
      fail(event, 'one reversal is noted twice')
    }
    paid.made.add(id)
    if (told === undefined) comeBack(stream, event, paid, id)
  },
  refund_failed(stream, event) {
    openRefund(payment(stream, event, 'settled'), event).state = 'failed'
  },
  refund_unknown(stream, event) {
    openRefund(payment(stream, event, 'settled'), event)
  },
  regained(stream, event) {
    const paid = payment(stream, event, 'settled')
    const amount = whole(event, 'amount')
    paid.regained += amount
    if (paid.regained > cameBack(paid)) fail(event, 'regained more than came back')
    stream.move(event, { spent: -amount, reversed: -amount, available: amount })
  },
  credited(stream, event) {
    if (stream.ended && stream.first.data.parent === undefined) {
      fail(event, 'money comes home to a run that has ended')
    }
    const amount = whole(event, 'amount')
    child(stream, event).credited += amount
    stream.move(event, { allotted: -amount, available: amount })
  },
  closed: closeChild,
  ended(stream, event) {
    standing('closed', 'closing')(stream, event)
    const hasOpen = [...(stream.children?.values() ?? [])].some(({ closed }) => !closed)
    if (stream.balances.reserved > 0 || hasOpen) fail(event, 'ended with something open below')
    stream.ended = { seq: event.seq, hash: event.hash }
  },
  held(stream, event) {
    const [id, expires] = [text(event, 'hold'), whole(event, 'expires')]
    stream.holds ??= new Map()
    // Held again while it stands, it is the same one; later it is asked anew.
    if (stream.holds.get(id)?.expires === expires) return
    const [of, digest] = [text(event, 'payment'), text(event, 'digest')]
    stream.holds.set(id, { payment: of, digest, expires, isApproved: false })
  },
  approved(stream, event) {
    const hold = openHold(stream, event)
    if (event.at >= hold.expires) fail(event, 'approved after its time')
    hold.isApproved = true
  },
  hold_refused(stream, event) {
    openHold(stream, event)
    stream.holds?.delete(text(event, 'hold'))
  },
  erased(stream, event) {
    for (const what of ['nodes', 'payments', 'holds']) whole(event, what)
    const isRoot = stream.first.data.parent === undefined
    if (isRoot && !stream.ended) fail(event, 'erased before its run had ended')
  },
  rail_word(stream, event) {
    payment(stream, event, 'unknown', 'settled')
  },
  completing(stream, event) {
    live(stream, event)
    stream.judge(event)
    if (event.at >= whole(stream.first, 'expires')) fail(event, 'taken after its time')
    payment(stream, event, 'unknown')
  },
  authorisation_asked(stream, event) {
    const { payee } = payment(stream, event, 'submitted')
    const id = text(event, 'authorisation')
    stream.authorisations ??= new Map()
    if (stream.authorisations.has(id)) fail(event, 'one authorisation is asked for twice')
    if (text(event, 'payee') !== payee) fail(event, 'an authorisation for another payee')
    const { stream: name, seq } = event
    const asked = whole(event, 'amount')
    stream.authorisations.set(id, { stream: name, seq, payee, asked, state: 'placing' })
  },
  authorised(stream, event) {
    const found = authorisation(stream, event, 'placing')
    found.amount = whole(event, 'amount')
    if (found.amount > found.asked) fail(event, 'more is authorised than was asked')
    found.state = 'open'
  },
  drawn(stream, event) {
    const paid = payment(stream, event, 'submitted')
    if (whole(event, 'amount') !== paid.amount) fail(event, 'draws another amount')
    if (paid.drawn !== undefined) fail(event, 'one payment is drawn twice')
    paid.drawn = text(event, 'authorisation')
    const { stream: name, seq } = event
    const of = { authorisation: paid.drawn, payment: paid, total: whole(event, 'total') }
    stream.draws ??= []
    stream.draws.push({ stream: name, seq, ...of })
  },
  authorisation_voiding(stream, event) {
    authorisation(stream, event, 'placing', 'open').state = 'voiding'
  },
  authorisation_voided(stream, event) {
    authorisation(stream, event, 'voiding').state = 'over'
  },
  authorisation_failed(stream, event) {
    authorisation(stream, event, 'placing').state = 'over'
  },
  frozen: standing('frozen', 'live'),
  resumed: standing('live', 'frozen'),
  revoked: standing('revoked', 'live', 'frozen'),
  closing: standing('closing', 'live', 'frozen', 'revoked'),
}

/** Events without money: the only ones that may follow `ended`. */
const QUIET = words(
  'refused held decided approved hold_refused read planned looked chose unanswered unmet delivered judged operator erased',
)

/** What may follow `ended` with money in it: what comes back late, and its way up to the nearest open ancestor. */
const LATE = words(
  'reversed regained returned credited refund_asked refunded refund_failed refund_unknown rail_word authorised authorisation_voiding authorisation_voided authorisation_failed',
)

/** The types of the gateway's own stream; a run's ones are looked up when everything is read. */
const GATEWAY = words('run_created sealed frozen resumed read operator outside acknowledged')

interface Log {
  readonly streams: Map<string, Stream>
  /** By run. */
  readonly created: Map<string, Event>
  readonly sealed: Map<string, Event>
  /** Checkpoints that the gateway's stream speaks of, by number. */
  readonly recorded: Map<number, Event>
  /** The last event by which an operator accepted an older store. */
  accepted?: Event
  /** Digests of personal values by what they are of, and whose runs were erased. */
  readonly committed: Map<string, Committed>
  readonly erased: Set<string>
  /** What moved without us, by the gateway's id of it, and whether a person has said that it is known. */
  readonly outside: Map<string, { isKnown: boolean }>
  /** Only bytes are judged. */
  readonly links: boolean
  events: number
}

interface Committed {
  readonly run: string
  readonly digests: Set<string>
  readonly disclosed: Set<string>
}

/** Chains an event to the one before it in its stream. */
function chain(log: Log, event: Event): Stream {
  const isGateway = event.stream === 'gateway'
  const known = log.streams.get(event.stream)
  const stream = known ?? new Stream(event)
  const { first, hashes } = stream
  if (event.seq !== hashes.length + 1) fail(event, `expected event ${hashes.length + 1} here`)
  if (known && event.prev !== hashes.at(-1)) fail(event, 'not chained to the event before it')
  if (event.org !== first.org) fail(event, 'of another organisation')
  if (!isGateway && (event.run === '' || event.run !== first.run)) fail(event, 'of another run')
  if (!isGateway && !known && event.type !== 'opened') fail(event, 'expected opened at first')
  if (isGateway && !known && event.prev !== 'A'.repeat(43)) fail(event, 'expected 43 As')
  if (!known) log.streams.set(event.stream, stream)
  hashes.push(event.hash)
  log.events += 1
  if (isGateway && event.type === 'run_created') once(log.created, event)
  if (isGateway && event.type === 'sealed') once(log.sealed, event)
  if (isGateway) noteAct(log, event)
  return stream
}

/** Without what it means: only where children hang on, and where they are said to have ended. */
function link(log: Log, event: Event): void {
  const stream = chain(log, event)
  if (event.type === 'split') splitOff(stream, event)
  if (event.type === 'closed') closeChild(stream, event)
}

function replay(log: Log, event: Event): void {
  const stream = chain(log, event)
  const isGateway = event.stream === 'gateway'
  if (stream.ended && !QUIET.has(event.type) && !LATE.has(event.type))
    fail(event, `${event.type} after the end`)
  if (isGateway && !GATEWAY.has(event.type)) fail(event, 'not an event of the gateway')
  // Only names of our own: every object answers to `constructor` too.
  const step = Object.hasOwn(REPLAY, event.type) ? REPLAY[event.type] : undefined
  const isPlain = QUIET.has(event.type) || (isGateway && GATEWAY.has(event.type))
  if (step === undefined && !isPlain) fail(event, 'not a type of event')
  step?.(stream, event)
  if (isGateway) noteOutside(log, event)
  if (isGateway) return
  compare(stream, event)
  notePersonal(log, event, stream.first)
}

/** Fields that hold salted digests, by the type of their event; of a payment's events the payment, else the node. */
const PERSONAL: Readonly<Record<string, readonly string[]>> = {
  opened: ['label'],
  reserved: ['account', 'lines'],
  proposed: ['evidence'],
  resolved: ['evidence'],
  regained: ['evidence'],
}

function notePersonal({ committed, erased }: Log, event: Event, first: Event): void {
  const { run, type, data, stream, prev } = event
  const note = (of: string, what: string, digest: unknown) => {
    if (!isText(digest)) return
    const name = canonical([of, what])
    const known = committed.get(name) ?? { run, digests: new Set(), disclosed: new Set() }
    committed.set(name, known)
    known.digests.add(digest)
  }
  const isRoot = first.data.parent === undefined
  if (type === 'opened' && isRoot) note(run, 'mandate', prev)
  const fields = Object.hasOwn(PERSONAL, type) ? (PERSONAL[type] ?? []) : []
  for (const what of fields) note(wordOf(data.payment) || stream, what, data[what])
  if (type !== 'erased') return
  if (!isRoot || erased.has(run)) fail(event, 'a run is erased once, in the stream of its root')
  erased.add(run)
}

/** A clear value, which must be one that an event commits to. */
function checkSide({ committed }: Log, side: unknown, lineNumber: number): void {
  const at = { stream: `line ${lineNumber}`, seq: 0 }
  const { of, what, salt, value } = isFields(side) ? side : fail(at, 'expected a side record')
  if (![of, what, salt, value].every(isText)) fail(at, 'expected four texts in a side record')
  const known = committed.get(canonical([of, what])) ?? fail(at, 'the log knows of no such value')
  const text = wordOf(value)
  const digest = sha256(what === 'mandate' ? text : `${wordOf(salt)}\n${text}`)
  if (!known.digests.has(digest)) fail(at, 'the clear value is not the one that the log commits to')
  known.disclosed.add(digest)
}

function personalOf({ committed, erased: runs }: Log): PersonalCounts {
  const counts = { values: 0, disclosed: 0, erased: 0, absent: 0, erasedRuns: runs.size }
  for (const { run, digests, disclosed } of committed.values()) {
    counts.values += digests.size
    counts.disclosed += disclosed.size
    counts[runs.has(run) ? 'erased' : 'absent'] += digests.size - disclosed.size
  }
  return counts
}

/** What operators' events of the gateway say about checkpoints. */
function noteAct(log: Log, event: Event): void {
  const { act, number } = event.data
  if (event.type !== 'operator') return
  if (act === 'checkpoint') log.recorded.set(countOf(number), event)
  if (act === 'accept_rollback') log.accepted = event
}

/** What moved without us is told once, whichever way it was heard of, and acknowledged once. */
function noteOutside({ outside }: Log, event: Event): void {
  if (event.type === 'outside') {
    const id = text(event, 'outside')
    for (const name of ['rail', 'object', 'currency', 'status']) text(event, name)
    whole(event, 'amount')
    if (outside.has(id)) fail(event, 'what moved outside is told twice')
    outside.set(id, { isKnown: false })
  }
  if (event.type !== 'acknowledged') return
  const known = outside.get(text(event, 'outside')) ?? fail(event, 'acknowledges what nobody told')
  if (known.isKnown) fail(event, 'acknowledged twice')
  if (text(event, 'evidence') === '' || text(event, 'by') === '') fail(event, 'by nobody')
  known.isKnown = true
}

/** A run is created once and sealed once: a later word would hide the first. */
function once(events: Map<string, Event>, event: Event): void {
  if (events.has(event.run)) fail(event, `${event.type} twice`)
  events.set(event.run, event)
}

function compare({ balances }: Stream, event: Event): void {
  for (const field of FIELDS) {
    const stated = event.balances?.[field] ?? (field === 'reversed' ? 0 : undefined)
    if (stated === balances[field]) continue
    const said = typeof stated === 'number' ? stated : 'no number'
    fail(event, `states ${field} ${said} where the events give ${balances[field]}`)
  }
  const { ceiling, available, reserved, spent, allotted, reversed } = balances
  if (reversed > spent) fail(event, 'more came back than was spent')
  if (ceiling !== available + reserved + spent + allotted) fail(event, 'money is not conserved')
}

/** Joins each child to its parent: where it begins, what came back, where it ended. */
function joinChildren({ streams }: Log, id: string, parent: Stream): void {
  for (const [name, { split, credited, closed }] of parent.children ?? []) {
    const stream = anchored(streams, id, name, split)
    const { first, ended, balances, returned } = stream
    const amount = countOf(split.amount)
    if (first.run !== split.run || first.data.ceiling !== amount) fail(first, 'not what was split')
    if (first.data.nodes !== split.nodes) fail(first, 'nodes are not what was allotted')
    if (!narrows(parent.first, first)) fail(first, 'wider than its parent')
    if (returned !== credited || balances.ceiling !== amount - credited) {
      fail(split, 'what the child returned is not what was credited')
    }
    const end = ended && { stream: name, seq: ended.seq }
    if (end && balances.available > 0) fail(end, 'money stays behind where a node has ended')
    if (!closed && end) fail(end, 'the parent does not know of this end')
    if (!closed) continue
    const isEnd = ended?.seq === closed.endSeq && ended?.hash === closed.endHash
    if (!isEnd) fail(closed, 'the child did not end with this hash')
  }
}

/** The stream of a child, which begins at the split that made it. */
function anchored(streams: Log['streams'], id: string, name: string, split: Split): Stream {
  const stream = streams.get(name) ?? fail(split, 'the stream of this child is missing')
  if (stream.first.data.parent !== id) fail(stream.first, 'opened under another parent')
  if (stream.first.prev !== split.hash) fail(stream.first, 'not chained to the split that made it')
  return stream
}

/** Where children begin and where they are said to have ended: so a root's last hash is over everything below it. */
function linkChildren({ streams }: Log, id: string, parent: Stream): void {
  for (const [name, { split, closed }] of parent.children ?? []) {
    const { hashes } = anchored(streams, id, name, split)
    const isEnd = closed === undefined || hashes[countOf(closed.endSeq) - 1] === closed.endHash
    if (!isEnd) fail(closed, 'the child did not end with this hash')
  }
}

const narrows = (parent: Event, own: Event): boolean =>
  own.data.currency === parent.data.currency &&
  whole(own, 'expires') <= whole(parent, 'expires') &&
  Array.isArray(own.data.payees) &&
  own.data.payees.every((payee) => has(parent.data.payees, payee))

/** A root begins with its mandate; a node with a parent must have been split off by it. */
function joinOrigin({ streams, created }: Log, id: string, { first }: Stream): void {
  const { parent } = first.data
  if (parent !== undefined) {
    const isKnown = streams.get(wordOf(parent))?.children?.has(id)
    if (!isKnown) fail(first, 'no split by its parent made this node')
    return
  }
  if (!streams.has('gateway')) return
  const run = created.get(first.run) ?? fail(first, 'the gateway did not create this run')
  const { root, mandate, ceiling, currency } = run.data
  const isOrigin =
    root === id &&
    mandate === first.prev &&
    ceiling === first.data.ceiling &&
    currency === first.data.currency &&
    whole(run, 'expires') >= whole(first, 'expires')
  if (!isOrigin) fail(first, 'not the root that the gateway created')
}

/** Root first. Hashes cannot form a ring, so this ends once the joins above hold. */
function pathOf({ streams }: Log, id: string): string[] {
  const path = [id]
  for (let at = id; ; ) {
    const parent = streams.get(at)?.first.data.parent
    if (parent === undefined) return path.reverse()
    at = wordOf(parent)
    path.push(at)
  }
}

/** Whatever was reserved or submitted read every standing above it, and each of those was live. */
function judge(log: Log, id: string, { judged }: Stream): void {
  if (judged === undefined) return
  const path = ['gateway', ...pathOf(log, id)]
  for (const event of judged) {
    const { standings } = event
    if (!Array.isArray(standings) || standings.length !== path.length) {
      fail(event, 'expected one standing for each node of the path')
    }
    for (const [i, name] of path.entries()) {
      const stream = log.streams.get(name)
      const state = stream && (stream.versions ?? LIVE)[countOf(standings[i]) - 1]?.state
      const isAbsent = name === 'gateway' && !log.streams.has('gateway')
      if (!isAbsent && state !== 'live') fail(event, `${event.type} while ${name} was not live`)
    }
  }
}

/** Where a version of a standing must lie: not below what came before an event, not above what came after it. */
interface Bounds {
  /** Its place in the standings of an event, the gateway's first. */
  readonly place: number
  readonly low: number
  readonly high: number
}

const NO_END = Number.POSITIVE_INFINITY

/** The version that stood in a stream after one of its events. */
function versionAt({ versions = LIVE }: Stream, { seq }: { readonly seq: number }): number {
  let [low, high] = [0, versions.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((versions[middle]?.since ?? 0) <= seq) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * What the streams themselves say of the order among them: a node acts after it was split off and before it is closed,
 * and a run after it was created and before it is sealed.
 */
function boundsOf(log: Log, path: readonly string[], run: string): Bounds[] {
  return path.flatMap((name, place) => {
    const stream = log.streams.get(name)
    const below = stream?.children?.get(path[place + 1] ?? '')
    const [from, to] =
      place === 0 ? [log.created.get(run), log.sealed.get(run)] : [below?.split, below?.closed]
    if (stream === undefined || from === undefined) return []
    return [{ place, low: versionAt(stream, from), high: to ? versionAt(stream, to) : NO_END }]
  })
}

function within(event: Judged, path: readonly string[], { place, low, high }: Bounds): void {
  const { standings } = event
  const version = Array.isArray(standings) ? countOf(standings[place]) : 0
  const read = `${event.type} by standing ${version} of ${path[place]}`
  if (version < low) fail(event, `${read}, but ${low} came before it`)
  if (version > high) fail(event, `${read}, but only ${high} had come by then`)
}

/** Freezes of the gateway or of a node above, in their streams, against reservations and submits in this one. */
function orderStandings(log: Log, id: string, stream: Stream): void {
  if (stream.judged === undefined) return
  const path = ['gateway', ...pathOf(log, id)]
  const bounds = boundsOf(log, path, stream.first.run)
  let before: readonly Bounds[] = []
  for (const event of stream.judged) {
    const own = versionAt(stream, event)
    const exact = { place: path.length - 1, low: own, high: own }
    for (const each of [exact, ...bounds, ...before]) within(event, path, each)
    const { standings } = event
    before = path.map((_, place) => {
      return { place, low: countOf(Array.isArray(standings) && standings[place]), high: NO_END }
    })
  }
}

/** One root for each run, and each quote paid by one leaf, or by nobody any more. */
function assertSingle(nodes: readonly (readonly [string, Stream])[]): void {
  const roots = new Set<string>()
  const quotes = new Set<string>()
  for (const [, { first, payment: paid }] of nodes) {
    if (first.data.parent === undefined && roots.has(first.run)) fail(first, 'a second root')
    if (first.data.parent === undefined) roots.add(first.run)
    if (paid === undefined || paid.state === 'released') continue
    if (quotes.has(paid.quote)) fail(first, 'pays a quote that another leaf pays')
    quotes.add(paid.quote)
  }
}

/** What the gateway's stream says of runs, against the streams of their roots. */
function joinGateway({ streams, created, sealed, links }: Log): void {
  const rootOf = (event: Event): Stream => {
    const stream = streams.get(text(event, 'root'))
    const isRoot = stream?.first.run === event.run && stream.first.data.parent === undefined
    return isRoot ? stream : fail(event, 'the stream of this root is missing')
  }
  for (const event of created.values()) rootOf(event)
  for (const event of sealed.values()) {
    const { hashes, ended } = rootOf(event)
    const seq = whole(event, 'seq')
    if (hashes[seq - 1] !== event.data.hash) {
      fail(event, 'the log has another hash, or none, where this run was sealed')
    }
    const isEnded = links || (ended !== undefined && ended.seq <= seq)
    if (!isEnded) fail(event, 'sealed before its root had ended')
  }
}

/** What payments of several leaves took out of one authorisation is never more than the rail was allowed to hold for it. */
function joinDraws(nodes: readonly (readonly [string, Stream])[]): void {
  const asked = new Map<string, { readonly run: string; readonly of: Authorisation; sum: number }>()
  for (const [, { first, authorisations }] of nodes) {
    for (const [id, of] of authorisations ?? []) {
      if (asked.has(id)) fail(of, 'one authorisation is asked for twice')
      asked.set(id, { run: first.run, of, sum: 0 })
    }
  }
  for (const [, { first, draws = [] }] of nodes) {
    for (const draw of draws) {
      const { authorisation: id, payment: paid, total } = draw
      const from = asked.get(id) ?? fail(draw, 'draws from what nobody asked for')
      const { amount = 0, payee } = from.of
      if (from.run !== first.run || payee !== paid.payee) fail(draw, 'draws for another payee')
      if (paid.state !== 'released') from.sum += paid.amount
      const isMore = total < paid.amount || total > amount || from.sum > amount
      if (isMore) fail(draw, 'more is drawn than was authorised')
    }
  }
}

function joinStreams(log: Log): void {
  const nodes = [...log.streams].filter(([id]) => id !== 'gateway')
  if (log.links) {
    for (const [id, stream] of nodes) joinOrigin(log, id, stream)
    for (const [id, stream] of nodes) linkChildren(log, id, stream)
    joinGateway(log)
    return
  }
  assertSingle(nodes)
  for (const [id, stream] of nodes) joinOrigin(log, id, stream)
  for (const [id, stream] of nodes) joinChildren(log, id, stream)
  for (const [id, stream] of nodes) judge(log, id, stream)
  joinDraws(nodes)
  joinGateway(log)
  for (const [id, stream] of nodes) orderStandings(log, id, stream)
}

/** Every run was created by an event of the gateway, so a whole log has that stream; a run's own has that run. */
function assertWhole({ streams }: Log, { run }: VerifyOptions): void {
  const nodes = [...streams.values()].filter(({ first }) => first.stream !== 'gateway')
  const isThere = run === undefined || nodes.some(({ first }) => first.run === run)
  if (!isThere) fail({ stream: run, seq: 0 }, 'there is no such run in the log')
  const [some] = nodes
  if (run === undefined && some !== undefined && !streams.has('gateway')) {
    fail(some.first, 'the stream of the gateway, which created this run, is missing')
  }
}

function ed25519Of(jwk: Fields): KeyObject | undefined {
  if (jwk.kty !== 'OKP' || jwk.crv !== 'Ed25519') return undefined
  try {
    return createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
  } catch {
    return undefined
  }
}

/** Opens a compact JWS (RFC 7515, EdDSA) by the key that its header names. */
function openJws(jws: string, typ: string, { jwks }: VerifyOptions): Fields {
  const at = { stream: typ, seq: 0 }
  const [head = '', body = '', mac = ''] = jws.trim().split('.')
  const decode = (part: string) => parseObject(Buffer.from(part, 'base64url').toString())
  const header = decode(head)
  if (header?.alg !== 'EdDSA' || header.typ !== typ) fail(at, 'expected a signed text of this type')
  const known: unknown = jwks?.keys
  const keys = Array.isArray(known) ? known.filter(isFields) : []
  const jwk = keys.find(({ kid }) => kid !== undefined && kid === header.kid)
  if (!jwk) return fail(at, 'the key set has no key of this signature')
  const key = ed25519Of(jwk) ?? fail(at, 'expected an Ed25519 key')
  const signature = Buffer.from(mac, 'base64url')
  const holds = verifySignature(null, Buffer.from(`${head}.${body}`), key, signature)
  if (!holds) fail(at, 'the signature does not hold')
  return decode(body) ?? fail(at, 'expected claims')
}

/** The stream and place that a signed text commits to; fails where the log has something else there. */
function headOf(log: Log, claims: Fields, what: string): { stream: Stream; at: BrokenLink } {
  const head = isFields(claims.head) ? claims.head : {}
  const at = { stream: wordOf(head.stream), seq: countOf(head.seq), why: '' }
  const stream = log.streams.get(at.stream) ?? fail(at, `the stream of a ${what} is missing`)
  const hash = stream.hashes[at.seq - 1] ?? fail(at, `the log ends before this ${what}`)
  if (hash !== head.hash) fail(at, `the ${what} was given for another hash`)
  if (stream.first.run !== claims.run) fail(at, `the ${what} is of another run`)
  return { stream, at }
}

function checkSeal(log: Log, jws: string, options: VerifyOptions): void {
  const claims = openJws(jws, 'seal+jwt', options)
  const { stream, at } = headOf(log, claims, 'seal')
  if (log.links) return
  const { first, ended, balances } = stream
  const isEnd = ended !== undefined && ended.seq <= at.seq && first.data.parent === undefined
  if (!isEnd) fail(at, 'the seal is not over the end of a root')
  const agrees =
    claims.mandate === first.prev &&
    claims.ceiling === first.data.ceiling &&
    claims.currency === first.data.currency &&
    claims.spent === balances.spent + balances.allotted
  if (!agrees) fail(at, 'the seal says something else than the log')
  const sealed = log.sealed.get(first.run)
  if (sealed && sealed.data.seal !== sha256(jws.trim())) fail(sealed, 'another seal was recorded')
}

function checkReceipt(log: Log, jws: string, options: VerifyOptions): void {
  const claims = openJws(jws, 'receipt+jwt', options)
  const { stream, at } = headOf(log, claims, 'receipt')
  if (log.links) return
  const paid = stream.payment?.id === claims.payment ? stream.payment : undefined
  const { settled } = paid ?? {}
  const references = [claims.railReference, `sha256:${sha256(wordOf(claims.railReference))}`]
  const agrees =
    settled?.seq === at.seq &&
    settled.amount === claims.amount &&
    stream.first.data.currency === claims.currency &&
    at.stream === claims.node &&
    settled.receipt === claims.jti &&
    references.includes(settled.reference) &&
    paid?.payee === claims.payee &&
    paid?.quote === claims.quote
  if (!agrees) fail(at, 'the receipt says something else than the log')
}

/** An instant, by how far each stream had come. */
type Cut = ReadonlyMap<string, number>

/** Fails where the log does not have what a checkpoint saw in it: a cut tail, an older file, a stream left out. */
function checkCheckpoint(log: Log, jws: string, options: VerifyOptions): Cut {
  const claims = openJws(jws, 'checkpoint+jwt', options)
  const number = countOf(claims.number)
  const what = `checkpoint ${number}`
  const heads = Array.isArray(claims.heads) ? claims.heads.filter(isFields) : []
  const root = merkleRoot(heads.map(canonical)).toString('base64url')
  if (root !== claims.root) fail({ stream: what, seq: 0 }, 'its root is not that of its heads')
  const gateway = isFields(claims.gateway) ? claims.gateway : {}
  const { accepted } = log
  const by = accepted
    ? `; an operator accepted an older store in gateway event ${accepted.seq}`
    : ''
  const cut = new Map<string, number>()
  for (const head of [{ ...gateway, stream: 'gateway' }, ...heads]) {
    const { stream: name, seq, hash } = head as Fields
    const at = { stream: wordOf(name), seq: countOf(seq) }
    const stream = log.streams.get(at.stream)
    if (stream === undefined && options.run !== undefined) continue
    if (stream === undefined) return fail(at, `this stream is missing, and ${what} names it${by}`)
    const found = stream.hashes[at.seq - 1] ?? fail(at, `the log ends before ${what}${by}`)
    if (found !== hash) fail(at, `${what} saw another event here${by}`)
    cut.set(at.stream, at.seq)
  }
  const recorded = log.recorded.get(number)
  if (recorded && recorded.data.jws !== sha256(jws.trim())) {
    fail(recorded, 'another checkpoint of this number was recorded')
  }
  return cut
}

/** What came after an instant has read no standing from before it, and what came before it none from after. */
function orderAround(log: Log, cut: Cut): void {
  for (const [id, seen] of cut) {
    const { judged } = log.streams.get(id) ?? {}
    if (judged === undefined) continue
    const path = ['gateway', ...pathOf(log, id)]
    for (const [place, name] of path.entries()) {
      const [stream, seq] = [log.streams.get(name), cut.get(name)]
      if (stream === undefined || seq === undefined) continue
      const version = versionAt(stream, { seq })
      for (const event of judged) {
        const isAfter = event.seq > seen
        const [low, high] = isAfter ? [version, NO_END] : [0, version]
        within(event, path, { place, low, high })
      }
    }
  }
}

/** What a power cut leaves of a line of checkpoints. */
const TORN = /^(\{"checkpoint":"[A-Za-z0-9_.-]*("\}?)?|\{[a-z":]{0,14})?\0*$/

/**
 * The signed texts in a file of checkpoints: lines `{"checkpoint":"<JWS>"}`, or one JWS alone. A torn line is none; any
 * other is given as it is, and will not verify.
 */
export const checkpointsIn = (file: string): string[] =>
  file.split(/\r?\n/).flatMap((line) => {
    const jws = parseObject(line)?.checkpoint
    if (isText(jws)) return [jws]
    return TORN.test(line) ? [] : [line]
  })

/** A receipt as it was kept: the signed text alone, or the gateway's whole answer with it. */
export const receiptIn = (file: string): string => {
  const jws = parseObject(file)?.receipt
  return typeof jws === 'string' ? jws : file.trim()
}

/** In the order in which the runs' roots were read. */
function totalsOf({ streams }: Log): RunTotals[] {
  const totals = new Map<string, RunTotals>()
  const nodes = [...streams.values()].filter(({ first }) => first.stream !== 'gateway')
  for (const { first, balances } of nodes) {
    if (first.data.parent !== undefined) continue
    const { run } = first
    totals.set(run, { run, ceiling: balances.ceiling, available: 0, reserved: 0, spent: 0 })
  }
  for (const { first, balances } of nodes) {
    const { run } = first
    const { ceiling = 0, available = 0, reserved = 0, spent = 0 } = totals.get(run) ?? {}
    totals.set(run, {
      run,
      ceiling,
      available: available + balances.available,
      reserved: reserved + balances.reserved,
      spent: spent + balances.spent,
    })
  }
  return [...totals.values()]
}

/** How a line with a clear value begins. */
const SIDE = /^\{"side":/

/** Verifies a whole export, line by line, and then what joins its streams. Never throws for what a log holds. */
export function verifyExport(lines: Iterable<string>, options: VerifyOptions = {}): AuditVerdict {
  const [streams, created, sealed, recorded] = [new Map(), new Map(), new Map(), new Map()]
  const { links = false } = options
  const known = {
    committed: new Map<string, Committed>(),
    erased: new Set<string>(),
    outside: new Map(),
  }
  const log: Log = { streams, created, sealed, recorded, links, ...known, events: 0 }
  const sides: (readonly [side: unknown, lineNumber: number])[] = []
  const found = () => ({ events: log.events, streams: log.streams.size })
  let lineNumber = 0
  try {
    for (const line of lines) {
      lineNumber += 1
      if (line === '') continue
      const side = SIDE.test(line) ? parseObject(line)?.side : undefined
      if (side !== undefined) {
        sides.push([side, lineNumber])
        continue
      }
      const event = readLine(line, lineNumber, links)
      if (links) link(log, event)
      else replay(log, event)
    }
    if (!links) for (const [side, number] of sides) checkSide(log, side, number)
    joinStreams(log)
    assertWhole(log, options)
    for (const seal of options.seals ?? []) checkSeal(log, seal, options)
    for (const receipt of options.receipts ?? []) checkReceipt(log, receipt, options)
    const cuts = (options.checkpoints ?? []).map((jws) => checkCheckpoint(log, jws, options))
    for (const cut of cuts) orderAround(log, cut)
    const naming = cuts.filter(({ size }) => size > 0).length
    const given = cuts.length === 0 ? {} : { checkpoints: naming }
    if (links) return { ok: true, ...found(), runs: [], ...given }
    const personal = personalOf(log)
    const beside = personal.values === 0 ? {} : { personal }
    return { ok: true, ...found(), runs: totalsOf(log), ...beside, ...given }
  } catch (error) {
    if (error instanceof Broken) return { ok: false, ...found(), runs: [], broken: error.link }
    // Nesting that the parser itself cannot follow is the log's doing too.
    if (!(error instanceof RangeError)) throw error
    const broken = { stream: `line ${lineNumber}`, seq: 0, why: 'nested too deeply' }
    return { ok: false, ...found(), runs: [], broken }
  }
}

/** One sentence about personal values for a person. */
export const personalText = ({ values, disclosed, erased, absent }: PersonalCounts): string =>
  `personal values: ${values}; ${disclosed} given and true, ${erased} erased, ${absent} not given`

/** What was held against the log, for a person; nothing is no proof of its end. */
export function proofsText(
  { seals = [], receipts = [], checkpoints = [] }: VerifyOptions,
  { checkpoints: naming = 0 }: AuditVerdict,
): string {
  if (seals.length + receipts.length + checkpoints.length === 0) {
    return 'no seal, receipt or checkpoint was given, and only they show that the end was not cut off'
  }
  const others = checkpoints.length - naming
  const beside = others === 0 ? '' : `; ${others} more checkpoints name nothing of this log`
  return `verified with seals: ${seals.length}, receipts: ${receipts.length}, checkpoints: ${naming}${beside}`
}

const CHUNK = 1 << 20

/** Far more than any event or clear value has; without it a file without line ends would fill the memory. */
const LONGEST_LINE = 16 * CHUNK

/** The lines of a file of any length, one at a time; one that is too long comes in pieces, of which none is an event. */
export function* linesIn(file: string): Generator<string, void> {
  const descriptor = openSync(file, 'r')
  try {
    const chunk = Buffer.allocUnsafe(CHUNK)
    let begun: Buffer[] = []
    for (;;) {
      if (begun.length * CHUNK > LONGEST_LINE) {
        yield Buffer.concat(begun).toString()
        begun = []
      }
      const read = chunk.subarray(0, readSync(descriptor, chunk, 0, CHUNK, null))
      if (read.length === 0) break
      let from = 0
      for (let to = read.indexOf(10); to >= 0; to = read.indexOf(10, from)) {
        const rest = read.subarray(from, to)
        yield (begun.length === 0 ? rest : Buffer.concat([...begun, rest])).toString()
        begun = []
        from = to + 1
      }
      if (from < read.length) begun.push(Buffer.from(read.subarray(from)))
    }
    yield Buffer.concat(begun).toString()
  } finally {
    closeSync(descriptor)
  }
}

/** What whoever called can mend; it is no verdict on the log. */
class Unusable extends Error {}

function readable<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new Unusable(`${file} cannot be read`, { cause })
  }
}

function* linesOf(files: readonly string[]): Generator<string, void> {
  for (const file of files) {
    readable(file, () => closeSync(openSync(file, 'r')))
    yield* linesIn(file)
  }
}

const textOf = (file: string): string => readable(file, () => readFileSync(file, 'utf8'))

/** At least one: a file in which there is none would prove nothing and look as if it did. */
function checkpointsOf(file: string): readonly string[] {
  const found = checkpointsIn(textOf(file))
  if (found.length > 0) return found
  throw new Unusable(`there is no checkpoint in ${file}`)
}

function keysIn(file: string): NonNullable<VerifyOptions['jwks']> {
  const { keys } = parseObject(textOf(file)) ?? {}
  if (Array.isArray(keys)) return { keys }
  throw new Unusable(`${file} is wrong: expected a JSON Web Key Set`)
}

const USAGE = `Usage: node verify.ts EXPORT... [options]

Works out every hash and balance of an exported log again, and names the first link that does not hold.

  --run RUN          the export is of this run alone
  --seal FILE        a seal, receipt or checkpoints that were kept elsewhere: only they show that the very end was
  --receipt FILE     not cut off; each may be given more than once
  --checkpoint FILE
  --jwks FILE        the gateway's key set, needed for all of these
  --links            judges bytes alone: every text has its hash, every chain is whole and anchored, and what was signed
                     stands where it was signed; balances and the order of events are not looked at
  --help

Ends with 0 where all holds, 1 where something does not or nothing was there, 2 where it cannot be told.
`

function main(args: readonly string[]): number {
  const files = { type: 'string', multiple: true } as const
  const one = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      run: one,
      seal: files,
      receipt: files,
      checkpoint: files,
      jwks: one,
      links: flag,
      help: flag,
    },
  })
  if (values.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const { seal = [], receipt = [], checkpoint = [] } = values
  if (values.jwks === undefined && seal.length + receipt.length + checkpoint.length > 0) {
    throw new Unusable('expected --jwks, to verify seals, receipts and checkpoints')
  }
  const kept: VerifyOptions = {
    seals: seal.map(textOf),
    receipts: receipt.map((file) => receiptIn(textOf(file))),
    checkpoints: checkpoint.flatMap(checkpointsOf),
    links: values.links,
    ...(values.run === undefined ? {} : { run: values.run }),
    ...(values.jwks === undefined ? {} : { jwks: keysIn(values.jwks) }),
  }
  const verdict = verifyExport(linesOf(positionals), kept)
  const { ok, events, streams, runs, personal, broken } = verdict
  const lines = runs.map(
    (run) =>
      `${run.run}: ceiling ${run.ceiling}, spent ${run.spent}, reserved ${run.reserved}, left ${run.available}`,
  )
  if (personal !== undefined) lines.push(personalText(personal))
  const isEmpty = events === 0 && broken === undefined
  const whole = values.links ? 'all links hold; what they say was not looked at' : 'all hold'
  const held = isEmpty
    ? 'there is no event, so nothing was verified'
    : `${whole}; ${proofsText(kept, verdict)}`
  const end = broken ? `broken at ${broken.stream} event ${broken.seq}: ${broken.why}` : held
  process.stdout.write([...lines, `${events} events, ${streams} streams: ${end}`, ''].join('\n'))
  return ok && !isEmpty ? 0 : 1
}

/** 0 for a log that holds, 1 for one that does not, 2 where something given cannot be read. */
function codeOf(args: readonly string[]): number {
  try {
    return main(args)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : 'cannot be read'}\n`)
    return 2
  }
}

if (import.meta.main) process.exitCode = codeOf(process.argv.slice(2))
