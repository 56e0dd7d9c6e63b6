/** What operators read: the ledger’s records as the documented shapes. Nothing here decides or writes. */
import { chainDigest, type NodeId, type RunId } from '../core/ids.ts'
import { parseJws } from '../core/jws.ts'
import type { Ledger, NodeState } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { type Mandate, mandateSchema } from '../core/mandate.ts'
import { type Minor, minor } from '../core/money.ts'
import { ERASED } from '../core/personal.ts'
import { type HoldRecord, type PaymentRecord, type RunRecord, shownState } from '../core/records.ts'
import { type Clock, nowSeconds } from '../core/time.ts'
import type { HoldView, NodeView, RunDetail, RunView } from '../core/wire.ts'
import { addUse, createModelUses } from '../ledger/model-use.ts'
import type { Feeds } from './feed.ts'
import { trailLines } from './trail.ts'

export interface Views {
  run(record: RunRecord): Promise<RunView>
  /** The position is read first: an event that comes in between is seen twice and never missed. */
  detail(record: RunRecord): Promise<RunDetail>
  /** As much of a run as the planner `node` may see: what is below it, and no word about the rest. */
  subtree(record: RunRecord, node: NodeId): Promise<RunDetail>
  hold(record: HoldRecord): Promise<HoldView>
  /** What a person can still decide, the earliest deadline first: open, in time, and for a leaf that has not ended. */
  waiting(run?: RunId): Promise<readonly HoldRecord[]>
}

export function createViews(options: {
  ledger: Ledger
  feeds: Feeds
  clock: Clock
  payeeName: (payee: string) => string
}): Views {
  const { ledger, feeds, clock } = options
  const uses = createModelUses(ledger)

  const waiting = async (run?: RunId): Promise<readonly HoldRecord[]> => {
    const limit = LIMITS.pageItems
    const open = await ledger.holds({
      states: ['open'],
      limit,
      ...(run === undefined ? {} : { run }),
    })
    const leaves = await Promise.all(open.map(({ node }) => ledger.standing(node)))
    const now = nowSeconds(clock)
    return open.filter(({ expiresAtSeconds }, i) => {
      const state = leaves[i]?.state
      return expiresAtSeconds > now && (state === 'live' || state === 'frozen')
    })
  }

  const runView = async (record: RunRecord, tree: readonly NodeState[]): Promise<RunView> => {
    const held = await waiting(record.id)
    const gateway = await ledger.standing('gateway')
    return viewOfRun(record, tree, { heldCount: held.length, frozen: gateway.state === 'frozen' })
  }

  return {
    waiting,
    run: async (record) => runView(record, await ledger.tree(record.id)),
    detail: async (record) => {
      const position = await feeds.head(record.id)
      const tree = await ledger.tree(record.id)
      const used = await uses.of(record.id)
      const nodes = tree.map((each) => {
        const models = used.get(each.node.id)
        const chain = chainDigest(each.node.revocationIds)
        return { ...viewOfNode(each), ...(models === undefined ? {} : { models }), chain }
      })
      const models = used.size === 0 ? {} : { models: [...used.values()].reduce(addUse) }
      return { run: { ...(await runView(record, tree)), ...models }, nodes, position }
    },
    subtree: async (record, top) => {
      const position = await feeds.head(record.id)
      const tree = (await ledger.tree(record.id)).filter(({ node }) => node.path.includes(top))
      const ids = new Set(tree.map(({ node }) => node.id))
      const held = await waiting(record.id)
      const heldCount = held.filter(({ node }) => ids.has(node)).length
      const whole = viewOfRun(record, tree, { heldCount, frozen: false })
      const run = top === record.root ? whole : narrowed(whole, tree[0])
      return { run, nodes: tree.map(viewOfNode), position }
    },
    hold: async (record) => {
      const node = await ledger.node(record.node)
      const above = await Promise.all((node?.path ?? []).map((id) => ledger.node(id)))
      const path = above.flatMap((each) =>
        each === undefined ? [] : [{ id: each.id, label: each.label }],
      )
      return viewOfHold(record, path, options.payeeName(record.payee))
    },
  }
}

/** The claims of a mandate that was verified when its run was made: for display only, never for a decision. */
function shownMandate(record: RunRecord): Mandate | undefined {
  const parsed = parseJws(record.mandate, 'mandate+jwt')
  return parsed && mandateSchema.safeParse(parsed.claims).data
}

/** A run as a planner below its root sees it: its own ceiling, payees and time, and not the whole task. */
function narrowed(view: RunView, top: NodeState | undefined): RunView {
  if (top === undefined) return view
  const { node, account } = top
  return {
    ...view,
    task: node.label,
    ceiling: account.ceiling,
    root: node.id,
    payees: [...node.payees],
    expiresAtSeconds: node.expiresAtSeconds,
  }
}

type Balance = 'available' | 'reserved' | 'spent'

const total = (tree: readonly NodeState[], field: Balance): Minor =>
  minor(tree.reduce((sum, { account }) => sum + account[field], 0))

function viewOfRun(
  record: RunRecord,
  tree: readonly NodeState[],
  now: { heldCount: number; frozen: boolean },
): RunView {
  const mandate = shownMandate(record)
  return {
    id: record.id,
    state: record.state,
    ...(record.reason === undefined ? {} : { reason: record.reason }),
    principal: record.principal,
    task: record.erasedAtSeconds === undefined ? (mandate?.task ?? '') : ERASED,
    currency: record.currency,
    ceiling: record.ceiling,
    root: record.root,
    payees: Object.keys(record.bindings).sort(),
    createdAtSeconds: record.createdAtSeconds,
    expiresAtSeconds: record.expiresAtSeconds,
    ...(record.finishedAtSeconds === undefined
      ? {}
      : { finishedAtSeconds: record.finishedAtSeconds }),
    ...(record.seal === undefined ? {} : { seal: record.seal }),
    ...(record.erasedAtSeconds === undefined ? {} : { erasedAtSeconds: record.erasedAtSeconds }),
    ...(record.halted === undefined ? {} : { haltedAtSeconds: record.halted.atSeconds }),
    totals: {
      available: total(tree, 'available'),
      reserved: total(tree, 'reserved'),
      spent: total(tree, 'spent'),
    },
    heldCount: now.heldCount,
    frozen: now.frozen || tree.some(({ standing }) => standing.state === 'frozen'),
  }
}

function viewOfNode({ node, account, standing, ...last }: NodeState): NodeView {
  const { payment } = last
  return {
    id: node.id,
    ...(node.parent === undefined ? {} : { parent: node.parent }),
    kind: node.kind,
    depth: node.path.length - 1,
    label: node.label,
    standing: standing.state,
    payees: [...node.payees],
    expiresAtSeconds: node.expiresAtSeconds,
    tokenCeiling: node.ceiling,
    ceiling: account.ceiling,
    available: account.available,
    reserved: account.reserved,
    spent: account.spent,
    allotted: account.allotted,
    seq: account.head.seq,
    ...(payment === undefined
      ? {}
      : {
          payment: {
            id: payment.id,
            payee: payment.payee,
            amount: payment.settledAmount ?? payment.amount,
            state: shownState(payment),
            ...(payment.railStatus === undefined ? {} : { railStatus: payment.railStatus }),
            ...(isOverdue(payment) ? { overdue: true } : {}),
            ...(account.reversed === 0 ? {} : { reversed: account.reversed }),
          },
        }),
    ...(last.lastChecks === undefined ? {} : { lastChecks: [...last.lastChecks] }),
    ...(last.lastCode === undefined ? {} : { lastCode: last.lastCode }),
  }
}

const isOverdue = ({ state, overdue }: PaymentRecord): boolean =>
  overdue !== undefined && (state === 'submitted' || state === 'unknown')

function viewOfHold(record: HoldRecord, path: HoldView['path'], payeeName: string): HoldView {
  return {
    id: record.id,
    run: record.run,
    node: record.node,
    payment: record.payment,
    digest: record.digest,
    code: record.code,
    ...(record.rule === undefined ? {} : { rule: record.rule }),
    payee: record.payee,
    payeeName,
    merchant: record.merchant,
    amount: record.amount,
    currency: record.currency,
    lines: [...record.lines],
    ...(record.provenance === undefined
      ? {}
      : { provenance: record.provenance, trail: trailLines(record) }),
    path,
    state: record.state,
    createdAtSeconds: record.createdAtSeconds,
    expiresAtSeconds: record.expiresAtSeconds,
    ...(record.decidedBy === undefined ? {} : { decidedBy: record.decidedBy }),
  }
}

/** Runs of a list, each with its sums, one after another: a list is never worth starving a payment. */
export async function listRuns(ledger: Ledger, views: Views, limit: number, after?: RunId) {
  const records = await ledger.runs({ limit, ...(after === undefined ? {} : { after }) })
  const list: RunView[] = []
  for (const record of records) list.push(await views.run(record))
  return list
}
