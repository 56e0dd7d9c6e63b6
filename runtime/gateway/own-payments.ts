/**
 * The payments of a caller's own node, a leaf's or those below a planner: what the ledger has of each, and where it has
 * nothing yet, the last refusal or question that its leaf's log tells. Codes are those that agents know.
 */
import { CODES, type DenialCode } from '../core/codes.ts'
import { parseEvent } from '../core/events.ts'
import { type NodeId, type PaymentId, paymentIdOf, receiptIdOf } from '../core/ids.ts'
import type { NodeState } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { type HoldRecord, type PaymentRecord, shownState } from '../core/records.ts'
import type { Seconds } from '../core/time.ts'
import type { OwnPayment } from '../core/wire.ts'
import type { Gate } from './gate.ts'
import type { Caller } from './identify.ts'
import { isAnswered } from './replay.ts'

export interface OwnPayments {
  readonly payments: OwnPayment[]
  /** There are more than are listed. */
  readonly more: boolean
}

/** Events of a leaf that are looked through for its last verdict: mostly one of the last, but decisions may come after it. */
const LAST_EVENTS = [8, 8 + 2 * LIMITS.decisions] as const

/** A leaf whose payment is asked about. */
interface Asked {
  readonly leaf: NodeId
  readonly payee: string
  readonly id: PaymentId
  readonly seq: number
  readonly payment: PaymentRecord | undefined
  readonly holds: readonly HoldRecord[]
}

/** The latest first; none for a looker. */
export async function ownPayments(gate: Gate, caller: Caller<unknown>): Promise<OwnPayments> {
  const { node, snapshot, attempt } = caller
  if (node.kind === 'planner') return paymentsBelow(gate, caller)
  if (node.quote === undefined) return { payments: [], more: false }
  const own = await tell(gate, attempt.now, {
    leaf: node.node,
    payee: node.payees[0] ?? '',
    id: paymentIdOf(node.node, node.quote),
    seq: snapshot.account.head.seq,
    payment: snapshot.payment,
    holds: snapshot.holds,
  })
  return { payments: own === undefined ? [] : [own], more: false }
}

async function paymentsBelow(gate: Gate, { node, snapshot, attempt }: Caller<unknown>) {
  const tree = await gate.ledger.tree(snapshot.run.id)
  const tried = tree
    .filter((each) => each.node.path.includes(node.node))
    .filter(({ payment, lastCode }) => payment !== undefined || lastCode !== undefined)
    .reverse()
    .sort((a, b) => beganAt(b) - beganAt(a))
  const page = tried.slice(0, LIMITS.ownPayments)
  const told = await Promise.all(page.map((each) => tellOf(gate, attempt.now, each)))
  const payments = told.filter((payment) => payment !== undefined)
  return { payments, more: tried.length > page.length }
}

const beganAt = ({ node, payment }: NodeState): number =>
  payment?.createdAtSeconds ?? node.createdAtSeconds

async function tellOf(gate: Gate, now: Seconds, state: NodeState): Promise<OwnPayment | undefined> {
  const { node, account, payment } = state
  if (node.quote === undefined) return undefined
  const id = paymentIdOf(node.id, node.quote)
  const isTold = payment !== undefined && isAnswered(payment)
  const snapshot = isTold ? undefined : await gate.ledger.snapshot({ node: node.id, payment: id })
  return tell(gate, now, {
    leaf: node.id,
    payee: node.payees[0] ?? '',
    id,
    seq: account.head.seq,
    payment,
    holds: snapshot?.holds ?? [],
  })
}

async function tell(gate: Gate, now: Seconds, asked: Asked): Promise<OwnPayment | undefined> {
  const { leaf: node, payee, id, payment, holds } = asked
  const hold = [...holds].sort((a, b) => b.createdAtSeconds - a.createdAtSeconds)[0]
  const isOn = payment !== undefined && (isAnswered(payment) || payment.state === 'reserved')
  if (isOn) return { ...letThrough(payment), node, ...holdOf(hold, now) }
  const last = (await lastVerdict(gate, asked)) ?? verdictOf(hold)
  if (last === undefined) return undefined
  const amount = payment?.amount ?? hold?.amount
  return {
    ...{ id, node, payee },
    ...(amount === undefined ? {} : { amount }),
    ...wordOf(last, holdOf(hold, now).hold),
    ...holdOf(hold, now),
    ...(payment === undefined ? {} : { createdAtSeconds: payment.createdAtSeconds }),
  }
}

function letThrough(payment: PaymentRecord): Omit<OwnPayment, 'node'> {
  const { id, payee, amount, railStatus, endedAtSeconds, createdAtSeconds } = payment
  return {
    ...{ id, payee, amount: payment.settledAmount ?? amount, verdict: 'allow' },
    state: shownState(payment),
    ...(railStatus === undefined ? {} : { railStatus }),
    ...(payment.state === 'settled' ? { receipt: receiptIdOf(id) } : {}),
    createdAtSeconds,
    ...(endedAtSeconds === undefined ? {} : { endedAtSeconds }),
  }
}

function holdOf(hold: HoldRecord | undefined, now: Seconds): Pick<OwnPayment, 'hold'> {
  if (hold === undefined) return {}
  const { id, state, expiresAtSeconds } = hold
  const isOut = (state === 'open' || state === 'approved') && expiresAtSeconds <= now
  return { hold: { id, state: isOut ? 'expired' : state, expiresAtSeconds } }
}

interface Verdict {
  readonly verdict: 'hold' | 'deny'
  readonly code: DenialCode
}

/** A person's word comes after the verdict that asked for it, and says more. */
function wordOf(
  { verdict, code }: Verdict,
  hold: OwnPayment['hold'],
): Pick<OwnPayment, 'verdict' | 'code' | 'advice'> {
  if (verdict === 'deny' || hold === undefined) return { verdict, code, advice: CODES[code].advice }
  if (hold.state === 'refused') return { verdict: 'deny', code: 'policy', advice: 'stop' }
  const advice = hold.state === 'open' ? CODES[code].advice : 'retry'
  return { verdict, code, advice }
}

/** Of a question to a person: there is no end to what a leaf can be refused besides, and it hides no question. */
const verdictOf = (hold: HoldRecord | undefined): Verdict | undefined =>
  hold && { verdict: 'hold', code: hold.code }

/** The last thing that was said to the leaf about this payment, from its log. */
async function lastVerdict(gate: Gate, asked: Asked): Promise<Verdict | undefined> {
  for (const most of LAST_EVENTS) {
    const last = await lastVerdictOf(gate, asked, most)
    if (last !== undefined || asked.seq <= most) return last
  }
  return undefined
}

async function lastVerdictOf(
  gate: Gate,
  { leaf, seq, id }: Asked,
  most: number,
): Promise<Verdict | undefined> {
  const events = await gate.ledger.events(leaf, Math.max(0, seq - most), most)
  return events
    .map(({ body }) => parseEvent(body))
    .reverse()
    .map((event): Verdict | undefined => {
      if (event.type !== 'refused' && event.type !== 'held') return undefined
      if (event.data.payment !== id) return undefined
      return { verdict: event.type === 'held' ? 'hold' : 'deny', code: event.data.code }
    })
    .find((verdict) => verdict !== undefined)
}
