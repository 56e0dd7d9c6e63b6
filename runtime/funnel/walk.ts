/**
 * One planner's part of the walk: plan, judge the plan, split, carry the parts out side by side, and again
 * for what another plan can help, out of what came home. Recursive: a branch is walked the same way one level down. Each
 * planner writes down what became of it before it closes, so a resumed walk passes over what has ended.
 */
import type { PlanPart } from '../core/agents.ts'
import { Fault } from '../core/errors.ts'
import type { NodeRecord } from '../core/records.ts'
import { BranchEnded, type Walk } from './context.ts'
import { closeNode, makeChild } from './nodes.ts'
import { nodeShares, withinRoom } from './plan.ts'
import { planOnce } from './planning.ts'
import { purchase } from './purchase.ts'
import { firstResult, merge, NOTHING, resultSchema, type WalkResult } from './results.ts'
import { once } from './steps.ts'

/** What no other words or money of two further plans can help is left. */
const ROUNDS = 3

/** A secret where a model would have read or written it: the log says so of every planner above. */
const WITHHELD = 'secret_withheld'

/** Walks one planner to its end and writes the result down; what it did not spend then goes home. */
export const walkPlanner = (walk: Walk, node: NodeRecord, task: string): Promise<WalkResult> =>
  once(walk, {
    node: node.id,
    name: 'result',
    schema: resultSchema,
    work: async () => {
      const value = await bounded(walk, () => rounds(walk, node, task))
      const { bought, unmet, ended } = value
      const isWithheld = [ended, ...unmet.map(({ code }) => code)].includes(WITHHELD)
      const isWorthSaying = isWithheld || (unmet.length > 0 && ended === undefined)
      const data = { bought, unmet: unmet.length, ...(isWithheld ? { code: WITHHELD } : {}) }
      return { value, ...(isWorthSaying ? { note: { type: 'unmet', data } } : {}) }
    },
  })

/**
 * A bound, a stop or a bug that ends this branch ends nothing else, and its money goes home. A fault is not the
 * branch's doing: it passes through, and the walk is taken up again.
 */
async function bounded(walk: Walk, work: () => Promise<WalkResult>): Promise<WalkResult> {
  try {
    return await work()
  } catch (error) {
    walk.signal.throwIfAborted()
    if (error instanceof Fault) throw error
    if (error instanceof BranchEnded) return { ...NOTHING, ended: error.reason }
    walk.onFault?.(error)
    return { ...NOTHING, ended: 'internal' }
  }
}

async function rounds(walk: Walk, node: NodeRecord, task: string): Promise<WalkResult> {
  let result = NOTHING
  for (let round = 1; round <= ROUNDS; round += 1) {
    const isFirst = round === 1
    const work = await planOnce(walk, node, { round, task, result }).catch((error: unknown) => {
      if (isFirst || !(error instanceof BranchEnded)) throw error
      // What came of the rounds before stands, and nobody above asks about it once more.
      result = merge(result, [], [])
      return undefined
    })
    if (work === undefined) break
    if (work.plan.kind === 'unreadable') {
      return isFirst ? { ...NOTHING, unreadable: work.plan.reason } : result
    }
    const fits = withinRoom(work.plan.parts, work)
    // In a further round a part without room stays what it was before.
    const parts = isFirst ? work.plan.parts : work.plan.parts.slice(0, fits)
    const shares = nodeShares(parts, work.nodesLeft)
    const ends = await allEnded(
      parts.map((part, i) => {
        const step = `r${round}-p${i + 1}`
        if (i >= fits) return Promise.resolve({ ...NOTHING, ended: 'no_room' })
        return carryOut(walk, node, { part, step, nodes: shares[i] ?? 0 })
      }),
    )
    result = isFirst ? firstResult(parts, ends) : merge(result, parts, ends)
    if (!isFirst && parts.length === 0) break
  }
  return result
}

/** Waits for every branch before a fault of one is passed on, so that no branch is ever walked twice at a time. */
async function allEnded(branches: readonly Promise<WalkResult>[]): Promise<WalkResult[]> {
  const ends = await Promise.allSettled(branches)
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}

interface ToCarryOut {
  readonly part: PlanPart
  readonly step: string
  readonly nodes: number
}

async function carryOut(
  walk: Walk,
  node: NodeRecord,
  { part, step, nodes }: ToCarryOut,
): Promise<WalkResult> {
  const { label, ceiling } = part
  return bounded(walk, async () => {
    if (part.kind === 'purchase') {
      const { need } = part
      const { places, change } = walk
      const resting: Walk = { ...walk, change: (ms) => places.lend(() => change(ms)) }
      return places.take(() => purchase(resting, node, { step, label, need, ceiling }))
    }
    const child = await makeChild(walk, node, { step, kind: 'planner', label, ceiling, nodes })
    const result = await walkPlanner(walk, child, part.task)
    await closeNode(walk, child.id)
    return result
  })
}
