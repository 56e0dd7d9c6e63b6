/**
 * The scripted planner. A task of several categories becomes a branch each, a category or a flat list a branch per
 * line, and a single line a purchase; a branch’s task reads back to the same lines, so every level is planned by the
 * same function. When nodes or children are short the tree gets flatter, never larger.
 */
import type { Plan, PlanPart, PlanRequest } from '../../runtime/core/agents.ts'
import { type Minor, minor } from '../../runtime/core/money.ts'
import { shares } from './budget.ts'
import { forbiddenIn } from './forbidden.ts'
import { renderTask, sharedLength } from './render.ts'
import { replan } from './replan.ts'
import { categoryOf } from './stems.ts'
import { type Cap, readTask, type TaskLine } from './task.ts'

/** Nodes that one purchase may use: a looker and a leaf, and both again if a quote runs out. */
const PURCHASE_NODES = 2
const SPARE_NODES = 2

/** Plans one planner’s task; the same request always gives the same plan. */
export function planTask(request: PlanRequest): Plan {
  const forbidden = forbiddenIn(request.task)
  if (forbidden !== undefined) return { kind: 'unreadable', reason: `${forbidden}.` }
  const reading = readTask(request.task, request.currency)
  if (reading.kind === 'unreadable') return reading
  if (request.outcomes !== undefined) return replan(request, reading)
  const available = Math.min(request.available, reading.most ?? request.available)
  const { lines, caps } = reading
  const money = shares(lines, caps, available)
  const job: Job = { request, caps, lines: lines.map((line, i) => ({ line, money: money[i] })) }
  return { kind: 'parts', parts: partsOf(job) }
}

interface Funded {
  readonly line: TaskLine
  readonly money: Minor | undefined
}

interface Job {
  readonly request: PlanRequest
  readonly caps: readonly Cap[]
  readonly lines: readonly Funded[]
}

/** One part before it is written down: a purchase if it is a single line that no planner needs to see again. */
interface Sketch {
  readonly lines: readonly Funded[]
  readonly label: string
  readonly isPurchase: boolean
  /** The name under which the branch’s lines stand, where the task gave none. */
  readonly heading?: string
}

function partsOf(job: Job): readonly PlanPart[] {
  const { depthLeft, fanOut, nodesLeft } = job.request
  const flat = job.lines.map(purchase)
  if (job.lines.length === 1 || depthLeft <= 1) return flat.map((sketch) => part(job, sketch, 0))
  const deep = fitted(sketches(job.lines, depthLeft), fanOut, depthLeft)
  for (const spare of [SPARE_NODES, 0]) {
    if (nodesOf(deep, depthLeft, spare) <= nodesLeft) {
      return deep.map((sketch) => part(job, sketch, spare))
    }
  }
  return fitted(flat, fanOut, depthLeft).map((sketch) => part(job, sketch, 0))
}

const purchase = (funded: Funded): Sketch => ({
  lines: [funded],
  label: labelOf(funded.line),
  isPurchase: true,
})

/** The parts of several lines where a level of planners below is possible. */
function sketches(lines: readonly Funded[], depthLeft: number): readonly Sketch[] {
  if (depthLeft >= 3) {
    const groups = groupsOf(lines)
    if (groups.length > 1) return groups
  }
  return lines.map((funded) => ({ ...purchase(funded), isPurchase: false }))
}

/** By heading, below the headings that all share; without any, by what the things are. */
function groupsOf(lines: readonly Funded[]): readonly Sketch[] {
  const paths = lines.map(({ line }) => line.path)
  const shared = paths.reduce((a, b) => a.slice(0, sharedLength(a, b)), paths[0] ?? [])
  const isHeaded = paths.some((path) => path.length > 0)
  const groups = new Map<string, Funded[]>()
  const singles: Sketch[] = []
  for (const funded of lines) {
    const name = isHeaded ? funded.line.path[shared.length] : categoryOf(funded.line.text).name
    if (name === undefined) singles.push({ ...purchase(funded), isPurchase: false })
    else groups.set(name, [...(groups.get(name) ?? []), funded])
  }
  const named = [...groups].map(([name, members]) => {
    const base = { lines: members, label: name.slice(0, 80), isPurchase: false }
    return isHeaded ? base : { ...base, heading: name }
  })
  return groups.size > 1 || singles.length > 0 ? [...singles, ...named] : []
}

/** Nodes that these parts need, with everything below them. */
function nodesOf(parts: readonly Sketch[], depthLeft: number, spare: number): number {
  return parts.reduce((sum, sketch) => {
    if (sketch.isPurchase) return sum + PURCHASE_NODES + spare
    return sum + 1 + below(sketch, depthLeft, spare)
  }, 0)
}

/** Nodes below one branch. */
function below({ lines }: Sketch, depthLeft: number, spare: number): number {
  const left = depthLeft - 1
  if (lines.length === 1 || left <= 1) return lines.length * (PURCHASE_NODES + spare) + spare
  return nodesOf(sketches(lines, left), left, spare) + spare
}

/** At most as many parts as there may be children: neighbours are put together into branches. */
function fitted(parts: readonly Sketch[], fanOut: number, depthLeft: number): readonly Sketch[] {
  const children = parts.reduce((sum, { isPurchase }) => sum + (isPurchase ? PURCHASE_NODES : 1), 0)
  if (children <= fanOut || depthLeft < 2) return parts
  const most = Math.max(1, fanOut - PURCHASE_NODES)
  const size = Math.ceil(parts.length / most)
  const chunks: Sketch[] = []
  for (let i = 0; i < parts.length; i += size) {
    const members = parts.slice(i, i + size)
    const lines = members.flatMap((sketch) => sketch.lines.map((one) => headed(one, sketch)))
    const [first] = members
    const more = lines.length - (first?.lines.length ?? 0)
    const label = more === 0 ? (first?.label ?? '') : `${first?.label ?? ''} and ${more} more`
    chunks.push({ lines, label, isPurchase: false })
  }
  return chunks
}

const headed = (funded: Funded, { heading }: Sketch): Funded =>
  heading === undefined
    ? funded
    : { ...funded, line: { ...funded.line, path: [heading, ...funded.line.path] } }

function part(job: Job, sketch: Sketch, spare: number): PlanPart {
  const { currency, depthLeft } = job.request
  const ceiling = minor(sketch.lines.reduce((sum, { money }) => sum + (money ?? 0), 0))
  const [first] = sketch.lines
  if (sketch.isPurchase && first !== undefined) {
    return { kind: 'purchase', label: sketch.label, need: needOf(first.line), ceiling }
  }
  const lines = sketch.lines.map((funded) => headed(funded, sketch).line)
  const task = renderTask(lines, capsWithin(lines, job.caps), currency)
  const nodes = below(sketch, depthLeft, spare)
  return { kind: 'branch', label: sketch.label, task, ceiling, nodes }
}

/** Caps that bind only some of these lines; one over all of them is in the branch’s ceiling. */
const capsWithin = (lines: readonly TaskLine[], caps: readonly Cap[]): readonly Cap[] =>
  caps.filter(
    (cap) => !lines.every((line) => sharedLength(line.path, cap.path) === cap.path.length),
  )

const needOf = ({ text, quantity, maxUnit, maxTotal, prefer }: TaskLine) => ({
  text,
  quantity,
  ...(maxUnit === undefined ? {} : { maxUnit }),
  ...(maxTotal === undefined ? {} : { maxTotal }),
  prefer,
})

const labelOf = ({ quantity, text }: TaskLine): string =>
  `${quantity} × ${text}`.slice(0, 80).trim()
