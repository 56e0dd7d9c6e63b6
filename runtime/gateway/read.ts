/** Who may read: a planner that proves its token, its own subtree. What is then read is for the interface to say. */
import type { NodeId, RunId } from '../core/ids.ts'
import { ZERO } from '../core/money.ts'
import type { Answer } from './answers.ts'
import type { RawRequest } from './attempt.ts'
import type { Gate } from './gate.ts'
import { identify, unauthenticated } from './identify.ts'
import { parseBare } from './parse.ts'
import { withPermission } from './permission.ts'
import { refuseRequest } from './refuse.ts'
import { spendProof } from './spend.ts'

export type Reader =
  | { readonly ok: true; readonly run: RunId; readonly node: NodeId }
  | { readonly ok: false; readonly answer: Answer }

/** Checks 1 to 5 for a read; its proof is used up in the gateway's stream, so that reading lengthens no node's chain. */
export async function admitReader(gate: Gate, raw: RawRequest): Promise<Reader> {
  const parsed = parseBare(raw, gate.facts.gatewayUrl)
  const identified = await identify(gate, { operation: 'read', parsed })
  if (!identified.ok) return { ok: false, answer: unauthenticated(gate, identified.code) }
  const { caller } = identified
  const { attempt, trial, node, snapshot } = caller
  const payees = node.payees.slice(0, 1)
  const facts = await withPermission(gate, caller, { operation: 'read', amount: ZERO, payees })
  const denial = trial.judge('monitor', attempt, facts)
  if (denial) return { ok: false, answer: await refuseRequest(gate, caller, denial) }
  const data = { act: 'view', node: node.node }
  const isFresh = await spendProof(gate, caller, { stream: 'gateway', type: 'read', data })
  if (!isFresh) return { ok: false, answer: unauthenticated(gate, 'proof_replayed') }
  return { ok: true, run: snapshot.run.id, node: node.node }
}
