/**
 * Runs cases one after another and scores each on the rail's own book and on the ledger's balances. A case that
 * throws, answers otherwise, moves other money than it says or leaves books that do not add up is wrong.
 */
import type { RunId } from '../../runtime/core/ids.ts'
import type { NodeView } from '../../runtime/core/wire.ts'
import {
  type AttackCase,
  type CaseResult,
  type Expected,
  layerOf,
  type Seen,
  Wrong,
} from './types.ts'
import { Bench } from './world/bench.ts'
import { moveLines, movesBetween } from './world/rail-desk.ts'
import type { World } from './world/world.ts'

export async function runCase(attack: AttackCase, world: World): Promise<CaseResult> {
  const started = performance.now()
  const bench = new Bench(world)
  const before = await world.desk.book()
  const reasons: string[] = []
  let moved: Seen['moved']
  let residual: number | undefined
  try {
    const seen = await attack.run(bench)
    moved = seen.moved ?? []
    residual = seen.residual
    reasons.push(...answerReasons(attack.expected, seen))
  } catch (error) {
    reasons.push(reasonOf(error))
  }
  // Nothing of one case's script of faults may meet the next.
  await world.desk.clearScript()
  const money = moveReasons(moved ?? [], movesBetween(before, await world.desk.book()))
  if (moved !== undefined || money.length > 0) reasons.push(...money)
  for (const run of bench.runs) reasons.push(...(await bookReasons(bench, run)))
  const ms = Math.round(performance.now() - started)
  return {
    id: attack.id,
    layer: layerOf(attack.id),
    ms,
    ...(residual === undefined ? {} : { residual }),
    ...(reasons.length === 0 ? {} : { why: reasons.join('; ') }),
    ...(money.length === 0 ? {} : { moneyWrong: true }),
  }
}

const reasonOf = (error: unknown): string => {
  if (error instanceof Wrong) return error.message
  return `the case broke: ${error instanceof Error ? error.message : String(error)}`
}

const say = ({ status, code, verdict }: Expected): string =>
  [status, code, verdict].filter((part) => part !== undefined).join(' ')

function answerReasons(expected: Expected, seen: Seen): string[] {
  const isSame =
    seen.status === expected.status &&
    (expected.code === undefined || seen.code === expected.code) &&
    (expected.verdict === undefined || seen.verdict === expected.verdict)
  return isSame ? [] : [`expected ${say(expected)}, got ${say(seen)}`]
}

function moveReasons(expected: NonNullable<Seen['moved']>, actual: NonNullable<Seen['moved']>) {
  const [wanted, found] = [moveLines(expected), moveLines(actual)]
  if (wanted.join('\n') === found.join('\n')) return []
  const list = (lines: readonly string[]) => (lines.length === 0 ? 'nothing' : lines.join(', '))
  return [`the rail should have moved ${list(wanted)} and moved ${list(found)}`]
}

/** The invariants of every node of a run, as an operator reads them. */
async function bookReasons(bench: Bench, run: RunId): Promise<string[]> {
  try {
    const { nodes } = await bench.detail(run)
    return nodes.flatMap((node) => [
      ...(isBalanced(node) ? [] : [`the books of ${node.id} do not add up`]),
      ...(isAllotted(node, nodes) ? [] : [`${node.id} has not allotted what its children have`]),
    ])
  } catch (error) {
    return [reasonOf(error)]
  }
}

const isBalanced = ({ ceiling, available, reserved, spent, allotted }: NodeView): boolean =>
  ceiling === available + reserved + spent + allotted

const isAllotted = ({ id, allotted }: NodeView, nodes: readonly NodeView[]): boolean =>
  nodes.filter(({ parent }) => parent === id).reduce((sum, child) => sum + child.ceiling, 0) ===
  allotted
