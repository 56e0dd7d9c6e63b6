/**
 * Making and ending nodes. A child exists once its split is recorded, with the chain that was minted for it; a walk
 * that finds it there takes it as it is. Money goes down with the split and comes home with the close.
 */
import type { BlockClaims } from '../core/block.ts'
import { Fault } from '../core/errors.ts'
import { childNodeIdOf, type Digest, freshId, type NodeId, type PayeeId } from '../core/ids.ts'
import type { LedgerRefusal } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { Minor } from '../core/money.ts'
import { type NodeRecord, nodeRecord } from '../core/records.ts'
import { nowSeconds, type Seconds } from '../core/time.ts'
import { closeSubtree } from '../ledger/closing.ts'
import { BranchEnded, type Walk } from './context.ts'

export interface ChildSpec {
  /** Names the step of the parent that this child is made for; the same step has the same child. */
  readonly step: string
  readonly kind: BlockClaims['kind']
  readonly label: string
  readonly ceiling: Minor
  /** Nodes that the child may make below itself. */
  readonly nodes: number
  readonly payees?: readonly PayeeId[]
  readonly quote?: Digest
  readonly expiresAtSeconds?: Seconds
}

/** The child of this step, minted and recorded unless it was before. Throws BranchEnded if the ledger refuses. */
export async function makeChild(
  walk: Walk,
  parent: NodeRecord,
  spec: ChildSpec,
): Promise<NodeRecord> {
  walk.assertOurs()
  const id = childNodeIdOf(parent.id, spec.step)
  const existing = await walk.ledger.node(id)
  if (existing !== undefined) return existing
  const claims = claimsOf(walk, parent, id, spec)
  const parentToken = await tokenOf(walk, parent.id)
  const { token, revocationIds } = await walk.engine.mintChild(
    parentToken,
    walk.holderKeys.privateKey(parent.id),
    claims,
  )
  for (;;) {
    const now = nowSeconds(walk.clock)
    const result = await walk.ledger.execute('split', {
      child: nodeRecord(claims, {
        run: parent.run,
        path: [...parent.path, id],
        label: spec.label.slice(0, LIMITS.titleChars),
        revocationIds,
        custody: 'funnel',
        createdAtSeconds: now,
        salt: freshId(),
      }),
      token,
      nodes: spec.nodes,
      fanOut: walk.mandate.limits.fanOut,
      now,
    })
    if (result.ok) return result.child
    if (result.code !== 'frozen') throw new BranchEnded(splitReason(result.code))
    await waitWhileFrozen(walk, parent)
  }
}

function claimsOf(walk: Walk, parent: NodeRecord, id: NodeId, spec: ChildSpec): BlockClaims {
  return {
    node: id,
    kind: spec.kind,
    currency: parent.currency,
    ceiling: spec.ceiling,
    holder: walk.holderKeys.publicKey(id),
    expiresAtSeconds: spec.expiresAtSeconds ?? parent.expiresAtSeconds,
    payees: [...(spec.payees ?? parent.payees)].sort(),
    ...(spec.quote === undefined ? {} : { quote: spec.quote }),
  }
}

function splitReason(code: LedgerRefusal): string {
  switch (code) {
    case 'conflict':
    case 'not_found':
    case 'proof_replayed':
    case 'proofs_full':
    case 'quote_spent':
    case 'counter':
    case 'hold_limit':
    case 'stale':
    case 'same_operator':
    case 'run_live':
    case 'money_waiting':
      throw new Fault('internal', `a split was refused: ${code}`)
    case 'insufficient':
    case 'node_limit':
    case 'fan_out':
    case 'expired':
    case 'frozen':
    case 'revoked':
    case 'run_closed':
      return code
  }
}

export async function tokenOf(walk: Walk, node: NodeId): Promise<string> {
  const token = await walk.ledger.token(node)
  if (token === undefined) throw new Fault('ledger_corrupt', 'a node of the funnel has no token')
  return token
}

/** The gateway as this node reaches it. */
export const connectAs = async (walk: Walk, node: NodeId) => {
  walk.assertOurs()
  return walk.connect({
    token: await tokenOf(walk, node),
    holder: walk.holderKeys.privateKey(node),
  })
}

/** Returns when nothing on the path is frozen; throws BranchEnded once something on it, or the run's time, has ended. */
export async function waitWhileFrozen(walk: Walk, node: NodeRecord): Promise<void> {
  for (;;) {
    walk.assertOurs()
    const path = await Promise.all(
      (['gateway', ...node.path] as const).map((id) => walk.ledger.standing(id)),
    )
    const states = path.map(({ state }) => state)
    if (states.includes('revoked')) throw new BranchEnded('revoked')
    if (states.includes('closing') || states.includes('closed')) throw new BranchEnded('run_closed')
    if (node.expiresAtSeconds <= nowSeconds(walk.clock)) throw new BranchEnded('expired')
    const untilMs = walk.run.createdAtSeconds * 1000 + walk.bounds.wallMs
    if (walk.clock.nowMs() >= untilMs) throw new BranchEnded('wall_time')
    if (!states.includes('frozen')) return
    await walk.change(walk.bounds.pauseMs)
  }
}

/** Closes a node and what is below it; money that waits for the rail's word follows later by itself. */
export async function closeNode(walk: Walk, node: NodeId): Promise<void> {
  walk.assertOurs()
  const closed = await closeSubtree(walk.ledger, node, 'funnel', walk.clock)
  if (!closed.ok) throw new Fault('internal', `a close was refused: ${closed.code}`)
}
