/**
 * Planners that live elsewhere: they mint their children themselves, and a child exists once its whole chain is
 * recorded here. The gateway judges the parent as the caller and the child's chain as what is asked for; then the
 * ledger moves the money, or refuses.
 */
import type { BlockClaims } from '../core/block.ts'
import { type Denial, deny } from '../core/codes.ts'
import type { VerifiedToken } from '../core/engine.ts'
import { allottedNodeIdOf, freshId, type NodeId, type RunId } from '../core/ids.ts'
import type { LedgerRefusal } from '../core/ledger.ts'
import { ZERO } from '../core/money.ts'
import { nodeRecord } from '../core/records.ts'
import { nowSeconds } from '../core/time.ts'
import { registerNodeBody } from '../core/wire.ts'
import { closeSubtree } from '../ledger/closing.ts'
import { type Answer, CONFLICT, json, NOT_FOUND } from './answers.ts'
import type { RawRequest } from './attempt.ts'
import { finishIfClosed } from './finish.ts'
import type { Gate } from './gate.ts'
import { type Caller, identify, unauthenticated } from './identify.ts'
import { parseBare, parseRequest } from './parse.ts'
import { withPermission } from './permission.ts'
import { refuseRequest, secondRecord } from './refuse.ts'
import { spendProof } from './spend.ts'
import { unexpected } from './unexpected.ts'

/** `POST /runs/{run}/nodes`: a planner registers one child that it split off. */
export async function registerNode(gate: Gate, run: RunId, raw: RawRequest): Promise<Answer> {
  const parsed = parseRequest(raw, registerNodeBody, gate.facts.gatewayUrl)
  const identified = await identify(gate, { operation: 'delegate', parsed })
  if (!identified.ok) return unauthenticated(gate, identified.code)
  const { caller } = identified
  if (caller.snapshot.run.id !== run) return elsewhere(gate, caller)
  const { attempt, trial, facts } = caller
  const stopped = trial.judge('standing', attempt, facts)
  if (stopped) return refuseRequest(gate, caller, stopped)

  const { body } = caller.request
  const verdict = await gate.engine.verify(body.token)
  if (!verdict.ok) return refuseRequest(gate, caller, trial.refuse(deny(verdict.code)))
  const child = verdict.token.blocks.at(-1)
  if (child === undefined || !continues(caller, verdict.token, child)) {
    return refuseRequest(gate, caller, trial.refuse(deny('token_invalid')))
  }
  const tooWide = trial.judge('depth', attempt, { ...facts, token: verdict })
  if (tooWide) return refuseRequest(gate, caller, tooWide)
  const { ceiling: amount, payees } = child
  const idle = idleChild(child, body.nodes ?? 0)
  if (idle) return refuseRequest(gate, caller, trial.refuse(idle))
  const asked = await withPermission(gate, caller, { operation: 'delegate', amount, payees })
  const forbidden = trial.judge('monitor', attempt, asked)
  if (forbidden) return refuseRequest(gate, caller, forbidden)
  return split(gate, caller, { child, chain: verdict.token, nodes: body.nodes ?? 0 })
}

/** There is nothing for the caller in another run, and its proof is used up by that answer too. */
async function elsewhere(gate: Gate, caller: Caller<unknown>): Promise<Answer> {
  const data = { act: 'register', node: caller.node.node }
  const isFresh = await spendProof(gate, caller, { stream: 'gateway', type: 'read', data })
  return isFresh ? NOT_FOUND : unauthenticated(gate, 'proof_replayed')
}

/** The child's chain is the caller's recorded one and one block more, under the next id that the caller was allotted. */
function continues(
  { snapshot, token, node, facts }: Caller<unknown>,
  chain: VerifiedToken,
  child: BlockClaims,
): boolean {
  const fanOut = facts.mandate?.limits.fanOut ?? 0
  const indices = Array.from({ length: fanOut }, (_, i) => i)
  return (
    chain.revocationIds.length === token.revocationIds.length + 1 &&
    token.revocationIds.every((id, i) => id === chain.revocationIds[i]) &&
    indices.some((i) => allottedNodeIdOf(node.node, i) === child.node) &&
    (child.kind === 'planner' || chain.sealed) &&
    snapshot.path.at(-1)?.id === node.node
  )
}

/** What no child may be whatever its token says; the ledger would call it a conflict, as it does an id that is taken. */
function idleChild({ kind, ceiling }: BlockClaims, nodes: number): Denial | undefined {
  if (kind !== 'planner' && nodes > 0) return deny('not_a_leaf')
  return kind === 'leaf' && ceiling === ZERO ? deny('capability') : undefined
}

interface ToSplit {
  readonly child: BlockClaims
  readonly chain: VerifiedToken
  readonly nodes: number
}

async function split(
  gate: Gate,
  caller: Caller<unknown>,
  { child, chain, nodes }: ToSplit,
): Promise<Answer> {
  const { snapshot, facts, node } = caller
  const data = { act: 'register', child: child.node, amount: child.ceiling, nodes }
  const isFresh = await spendProof(gate, caller, { stream: node.node, type: 'planned', data })
  if (!isFresh) return unauthenticated(gate, 'proof_replayed')
  const now = nowSeconds(gate.clock)
  const record = nodeRecord(child, {
    run: snapshot.run.id,
    path: [...snapshot.path.map(({ id }) => id), child.node],
    label: child.kind,
    revocationIds: chain.revocationIds,
    custody: 'outside',
    createdAtSeconds: now,
    salt: freshId(),
  })
  const fanOut = facts.mandate?.limits.fanOut ?? 0
  const result = await gate.ledger.execute('split', { child: record, nodes, fanOut, now })
  if (result.ok) {
    gate.engine.recognise(child.holder)
    return json(201, { node: { id: child.node, kind: child.kind } })
  }
  if (result.code === 'conflict') return CONFLICT
  return refuseSplit(gate, caller, result.code)
}

/** The proof went with the note of what was asked, so the refusal is this attempt's second record. */
function refuseSplit(gate: Gate, caller: Caller<unknown>, code: LedgerRefusal): Promise<Answer> {
  const denial = caller.trial.refuse(shortage(code))
  return refuseRequest(gate, secondRecord(gate, caller), denial)
}

/** Nodes are allotted like money, so having too few of them is the same refusal. */
function shortage(code: LedgerRefusal): Denial {
  switch (code) {
    case 'insufficient':
    case 'node_limit':
    case 'fan_out':
      return deny('insufficient')
    case 'expired':
    case 'frozen':
    case 'revoked':
    case 'run_closed':
      return deny(code)
    default:
      throw unexpected('split', code)
  }
}

/** `POST /runs/{run}/nodes/{node}/close`: a planner closes its own node or one below it. */
export async function closeNode(
  gate: Gate,
  run: RunId,
  target: NodeId,
  raw: RawRequest,
): Promise<Answer> {
  const parsed = parseBare(raw, gate.facts.gatewayUrl)
  const identified = await identify(gate, { operation: 'delegate', parsed })
  if (!identified.ok) return unauthenticated(gate, identified.code)
  const { caller } = identified
  const { attempt, trial, node, snapshot } = caller
  const payees = node.payees.slice(0, 1)
  const facts = await withPermission(gate, caller, { operation: 'delegate', amount: ZERO, payees })
  const denial = trial.judge('monitor', attempt, facts)
  if (denial) return refuseRequest(gate, caller, denial)
  const data = { act: 'close', child: target }
  const isFresh = await spendProof(gate, caller, { stream: node.node, type: 'planned', data })
  if (!isFresh) return unauthenticated(gate, 'proof_replayed')
  // Only now: what is not there yet may be there when the same request is sent again.
  const record = await gate.ledger.node(target)
  const isBelow = record?.run === run && record.path.includes(node.node)
  if (snapshot.run.id !== run || !isBelow) return NOT_FOUND
  const closed = await closeSubtree(gate.ledger, target, node.node, gate.clock)
  if (!closed.ok) throw unexpected('close', closed.code)
  await finishIfClosed(gate, run)
  return json(200, { node: { id: target, standing: closed.standing.state } })
}
