/**
 * What a caller is told of itself, whatever its kind: `GET /node`, and who may read one payment. Checks 1 to 4 and no
 * more, because nothing is asked for: no money, no shop, nobody else's node. It says nothing of siblings, of what an
 * ancestor has left, or of the operator's rules. A leaf whose payment was submitted is answered whatever has become of
 * it since, as that payment's own answer is.
 */
import { type NodeId, type PaymentId, paymentIdOf, type RunId } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import type { Mandate } from '../core/mandate.ts'
import { minor, ZERO } from '../core/money.ts'
import type { Standing } from '../core/records.ts'
import type { OwnNode, OwnPayment } from '../core/wire.ts'
import { type Answer, json } from './answers.ts'
import type { RawRequest } from './attempt.ts'
import { type Gate, payeeOf } from './gate.ts'
import { type Caller, identify, unauthenticated } from './identify.ts'
import { ownPayments } from './own-payments.ts'
import { parseBare } from './parse.ts'
import { refuseRequest } from './refuse.ts'
import { isAnswered } from './replay.ts'
import { spendProof } from './spend.ts'

type Admitted =
  | { readonly ok: true; readonly caller: Caller<unknown> }
  | { readonly ok: false; readonly answer: Answer }

async function admit(gate: Gate, raw: RawRequest): Promise<Admitted> {
  const parsed = parseBare(raw, gate.facts.gatewayUrl)
  const identified = await identify(gate, {
    operation: 'read',
    parsed,
    also: (_body, { node, quote }) => (quote ? { payment: paymentIdOf(node, quote) } : {}),
  })
  if (!identified.ok) return { ok: false, answer: unauthenticated(gate, identified.code) }
  const { caller } = identified
  const { attempt, trial, facts, node, snapshot } = caller
  const isPast = snapshot.payment !== undefined && isAnswered(snapshot.payment)
  const denial = isPast ? undefined : trial.judge('depth', attempt, facts)
  if (denial) return { ok: false, answer: await refuseRequest(gate, caller, denial) }
  const data = { act: 'view', node: node.node }
  const isFresh = await spendProof(gate, caller, { stream: 'gateway', type: 'read', data })
  if (!isFresh) return { ok: false, answer: unauthenticated(gate, 'proof_replayed') }
  return { ok: true, caller }
}

export type PaymentReader =
  | { readonly ok: true; readonly run: RunId; readonly node: NodeId; readonly isOwn: boolean }
  | { readonly ok: false; readonly answer: Answer }

/** Whoever proves its token and asks about one payment: its own leaf's, or, for a planner, one below it. */
export async function admitPaymentReader(
  gate: Gate,
  payment: PaymentId,
  raw: RawRequest,
): Promise<PaymentReader> {
  const admitted = await admit(gate, raw)
  if (!admitted.ok) return admitted
  const { node, snapshot } = admitted.caller
  const isOwn = snapshot.payment?.id === payment
  return { ok: true, run: snapshot.run.id, node: node.node, isOwn }
}

/** `GET /node`: the caller's own node. */
export async function ownNode(gate: Gate, raw: RawRequest): Promise<Answer> {
  const admitted = await admit(gate, raw)
  if (!admitted.ok) return admitted.answer
  const { caller } = admitted
  const { payments, more } = await ownPayments(gate, caller)
  const [own] = payments
  const isLeaf = caller.node.kind === 'leaf'
  const view: OwnNode = {
    ...standingOf(gate, caller),
    ...rangeOf(caller, isLeaf ? own : undefined),
    ...roomOf(caller),
    ...(caller.node.kind === 'looker' ? { merchants: merchantsOf(gate, caller) } : {}),
    ...(caller.node.quote === undefined ? {} : { quote: caller.node.quote }),
    payments,
    ...(more ? { more } : {}),
  }
  return json(200, view)
}

/** The mandate as it was verified for this very request. */
const mandateOf = ({ facts }: Caller<unknown>): Mandate | undefined => facts.mandate

type Standings = Omit<OwnNode, 'payments' | 'amount' | 'merchants' | 'quote' | 'more'>

function standingOf({ facts }: Gate, caller: Caller<unknown>): Standings {
  const { node, snapshot } = caller
  const { ceiling, available, reserved, spent, allotted } = snapshot.account
  const mandate = mandateOf(caller)
  const names = new Map(facts.payees.map(({ id, name }) => [id, name]))
  return {
    node: node.node,
    run: snapshot.run.id,
    kind: node.kind,
    state: stateOf(caller),
    currency: node.currency,
    payees: node.payees.map((id) => ({ id, name: names.get(id) ?? id })),
    ...(mandate?.perPayment === undefined ? {} : { perPayment: mandate.perPayment }),
    ...{ ceiling, available, reserved, spent, allotted },
    expiresAtSeconds: expiryOf(caller),
    needsPerson: mandate?.approvalAbove === undefined ? {} : { above: mandate.approvalAbove },
  }
}

const expiryOf = ({ token, snapshot }: Caller<unknown>): number =>
  Math.min(
    snapshot.run.expiresAtSeconds,
    ...token.blocks.map(({ expiresAtSeconds }) => expiresAtSeconds),
  )

/** What ends before what may pass: a frozen node below a closed one never goes on. */
const WORST: readonly Standing['state'][] = ['revoked', 'closed', 'closing', 'frozen']

function stateOf(caller: Caller<unknown>): OwnNode['state'] {
  const { attempt, snapshot } = caller
  const { run, gateway, standings } = snapshot
  if (run.halted !== undefined) return 'halted'
  const states = new Set([gateway, ...standings].map(({ state }) => state))
  if (run.state !== 'running') states.add(run.state === 'cancelling' ? 'closing' : 'closed')
  const worst = WORST.find((state) => states.has(state))
  if (worst === 'revoked') return worst
  return attempt.now >= expiryOf(caller) ? 'expired' : (worst ?? 'live')
}

/** What the next request may ask for; nothing where it may ask for none. */
function rangeOf(
  caller: Caller<unknown>,
  payment: OwnPayment | undefined,
): Pick<OwnNode, 'amount'> {
  const { node, snapshot } = caller
  if (stateOf(caller) !== 'live') return {}
  const { available } = snapshot.account
  if (node.kind === 'looker') return { amount: { least: ZERO, most: ZERO } }
  if (node.kind === 'planner') return mayMakeMore(caller) ? between(1, available) : {}
  const isOver = payment?.verdict === 'allow' || payment?.hold?.state === 'refused'
  if (isOver) return {}
  const most = Math.min(available, mandateOf(caller)?.perPayment ?? available)
  const exact = payment?.amount
  if (exact === undefined) return between(1, most)
  return exact > most ? {} : between(exact, exact)
}

const between = (least: number, most: number): Pick<OwnNode, 'amount'> =>
  most < least ? {} : { amount: { least: minor(least), most: minor(most) } }

function roomOf(caller: Caller<unknown>): Pick<OwnNode, 'depthLeft' | 'nodesLeft' | 'fanOutLeft'> {
  const { node, token, snapshot } = caller
  if (node.kind !== 'planner') return {}
  const { depth = 0, fanOut = 0 } = mandateOf(caller)?.limits ?? {}
  const { nodesLeft, children } = snapshot.account
  return {
    depthLeft: Math.max(0, depth - (token.blocks.length - 1)),
    nodesLeft,
    fanOutLeft: Math.max(0, fanOut - children),
  }
}

function mayMakeMore(caller: Caller<unknown>): boolean {
  const { depthLeft = 0, nodesLeft = 0, fanOutLeft = 0 } = roomOf(caller)
  return Math.min(depthLeft, nodesLeft, fanOutLeft) > 0
}

const merchantsOf = ({ merchants }: Gate, { node }: Caller<unknown>) =>
  merchants.ids.filter((id) => node.payees.includes(payeeOf(id))).slice(0, LIMITS.payees)
