/** Transitions that change the tree: a split, a standing, a close. Money only ever moves between neighbours. */
import { eventWord } from '../core/events.ts'
import type { NodeId } from '../core/ids.ts'
import type { Close, Commands, Refused, SetStanding, Split } from '../core/ledger.ts'
import { minus, plus, ZERO } from '../core/money.ts'
import type { Account, NodeRecord, Standing, StandingState } from '../core/records.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import {
  assertNotHalted,
  climb,
  isOpen,
  judgeStanding,
  pathKeys,
  refused,
  sameList,
} from './rules.ts'
import { openNode } from './runs.ts'

export function* split(input: Split, draft: Draft): Steps<Commands['split']['result']> {
  const { child, nodes } = input
  const above = child.path.slice(0, -1)
  const parentId = above.at(-1)
  if (parentId === undefined || child.parent !== parentId) return refused('conflict')
  yield [
    keys.node(child.id),
    keys.account(child.id),
    keys.node(parentId),
    keys.account(parentId),
    keys.run(child.run),
    ...pathKeys(above),
  ]
  const existing = draft.get(keys.node(child.id))
  if (existing !== undefined) {
    if (!isSameChild(existing, child)) return refused('conflict')
    return { ok: true, child: existing, account: draft.need(keys.account(child.id)) }
  }
  const parent = draft.get(keys.node(parentId))
  if (parent === undefined) return refused('not_found')
  if (!isNarrower(child, parent, nodes)) return refused('conflict')
  const standing = judgeStanding(draft, above)
  if (standing) return standing
  if (parent.expiresAtSeconds <= input.now) return refused('expired')
  assertNotHalted(draft, child.run)
  const account = draft.need(keys.account(parentId))
  const shortage = shortageOf(account, input)
  if (shortage) return shortage
  draft.move(parentId, {
    available: minus(account.available, child.ceiling),
    allotted: plus(account.allotted, child.ceiling),
    nodesLeft: account.nodesLeft - 1 - nodes,
    children: account.children + 1,
    openChildren: account.openChildren + 1,
  })
  const anchor = draft.append(parentId, 'split', {
    child: child.id,
    amount: child.ceiling,
    nodes,
  })
  openNode(draft, child, { nodes, anchor: anchor.hash, token: input.token })
  return { ok: true, child, account: draft.need(keys.account(child.id)) }
}

const isSameChild = (a: NodeRecord, b: NodeRecord): boolean =>
  a.parent === b.parent && a.ceiling === b.ceiling && sameList(a.revocationIds, b.revocationIds)

/** The ledger's own reading of what a child may be, beside the token's. */
function isNarrower(child: NodeRecord, parent: NodeRecord, nodes: number): boolean {
  const isKind =
    child.kind === 'planner' ||
    (nodes === 0 && (child.kind === 'looker' ? child.ceiling === 0 : child.ceiling > 0))
  return (
    isKind &&
    parent.kind === 'planner' &&
    nodes >= 0 &&
    child.run === parent.run &&
    child.currency === parent.currency &&
    child.ceiling <= parent.ceiling &&
    child.expiresAtSeconds <= parent.expiresAtSeconds &&
    child.payees.every((payee) => parent.payees.includes(payee)) &&
    sameList(child.path, [...parent.path, child.id]) &&
    child.revocationIds.length === child.path.length &&
    sameList(child.revocationIds.slice(0, -1), parent.revocationIds)
  )
}

function shortageOf(account: Account, { child, nodes, fanOut }: Split): Refused | undefined {
  if (account.children >= fanOut) return refused('fan_out')
  if (account.nodesLeft < nodes + 1) return refused('node_limit')
  return account.available < child.ceiling ? refused('insufficient') : undefined
}

const ACTS = { live: 'resumed', frozen: 'frozen', revoked: 'revoked' } as const

export function* setStanding(
  input: SetStanding,
  draft: Draft,
): Steps<Commands['setStanding']['result']> {
  const { node, state } = input
  yield [
    keys.standing(node),
    keys.submittedBelow(node),
    node === 'gateway' ? keys.gatewayHead() : keys.account(node),
  ]
  if (node === 'gateway' && state === 'revoked') return refused('conflict')
  if (node !== 'gateway' && draft.get(keys.account(node)) === undefined) return refused('not_found')
  const before = draft.standing(node)
  const onTheirWay = draft.get(keys.submittedBelow(node)) ?? []
  const isEnding = !isOpen(before)
  if (state === 'live' && (isEnding || before.state === 'revoked')) {
    return refused(isEnding ? 'run_closed' : 'revoked')
  }
  // A closing node and a revoked one already let nothing through: a lesser stop changes nothing.
  const isHeld = isEnding || before.state === state || before.state === 'revoked'
  if (isHeld) return { ok: true, standing: before, onTheirWay }
  const standing = setState(draft, before, state)
  const data = { by: eventWord(input.by), version: standing.version }
  if (node === 'gateway') draft.appendGateway(ACTS[state], data)
  else draft.append(node, ACTS[state], data)
  return { ok: true, standing, onTheirWay }
}

function setState(draft: Draft, before: Standing, state: StandingState): Standing {
  const standing = { ...before, state, version: before.version + 1 }
  draft.put(keys.standing(before.node), standing)
  return standing
}

export function* close(input: Close, draft: Draft): Steps<Commands['close']['result']> {
  const { node: id } = input
  yield [keys.node(id), keys.account(id), keys.standing(id)]
  const node = draft.get(keys.node(id))
  if (node === undefined) return refused('not_found')
  if (isOpen(draft.standing(id))) {
    const { version } = setState(draft, draft.standing(id), 'closing')
    draft.append(id, 'closing', { by: eventWord(input.by), version })
  }
  if (draft.standing(id).state === 'closing') {
    yield* climb(draft, node)
    const { reserved, openChildren } = draft.need(keys.account(id))
    if (reserved === ZERO && openChildren === 0) yield* end(draft, id, node.parent)
  }
  return { ok: true, standing: draft.standing(id), account: draft.need(keys.account(id)) }
}

/** The parent keeps the ended child's head, so that the root's head commits to everything below it. */
function* end(draft: Draft, id: NodeId, parent: NodeId | undefined): Steps<void> {
  const { version } = setState(draft, draft.standing(id), 'closed')
  const head = draft.append(id, 'ended', { version })
  if (parent === undefined) return
  yield [keys.account(parent)]
  draft.move(parent, { openChildren: draft.need(keys.account(parent)).openChildren - 1 })
  draft.append(parent, 'closed', { child: id, ...head })
}
