/** A run as a tree of lines: state as word and shape, money in figures, the nine checks of a leaf as nine cells. */
import { formatMoney } from '../core/money.ts'
import type { ModelUseView, NodeView, RunDetail, RunView } from '../core/wire.ts'
import { type Io, shown, type Tone, tint, width } from './io.ts'

type Style = Pick<Io, 'colour' | 'columns'>

const CELLS = {
  passed: ['✓', 'good'],
  failed: ['✗', 'refused'],
  held: ['?', 'held'],
  'not-reached': ['·', 'idle'],
  'not-applicable': ['-', 'idle'],
} as const satisfies Record<string, readonly [string, Tone]>

const STATES: Readonly<Record<string, readonly [string, Tone]>> = {
  live: ['●', 'good'],
  settled: ['✓', 'good'],
  reserved: ['◐', 'good'],
  submitted: ['◐', 'good'],
  held: ['◆', 'held'],
  unknown: ['?', 'held'],
  awaiting_payer: ['◆', 'held'],
  refused: ['✗', 'refused'],
  revoked: ['✗', 'refused'],
  frozen: ['❄', 'frozen'],
  closing: ['◌', 'idle'],
  closed: ['○', 'idle'],
  released: ['⊘', 'idle'],
  running: ['●', 'good'],
  completed: ['✓', 'good'],
  cancelling: ['◌', 'idle'],
  cancelled: ['⊘', 'idle'],
  failed: ['✗', 'refused'],
}

/** A state as shape and word, coloured where the terminal shows colour. */
export function stateText(style: Pick<Io, 'colour'>, state: string): string {
  const [shape, tone] = STATES[state] ?? ['·', 'idle']
  return tint(style, tone, `${shape} ${state}`)
}

/** What one node is in now: its payment's state tells more than its standing, and a refusal more than either. */
export function nodeState(node: NodeView): string {
  if (node.standing === 'frozen' || node.standing === 'revoked') return node.standing
  if (node.payment !== undefined) return node.payment.state
  const last = node.lastChecks?.find(({ status }) => status === 'failed' || status === 'held')
  if (last !== undefined && node.standing === 'live') {
    return last.status === 'held' ? 'held' : 'refused'
  }
  return node.standing
}

export function runLine(style: Style, run: RunView): string {
  const money = (amount: number) => formatMoney(amount, run.currency)
  const { spent, reserved, available } = run.totals
  return [
    `${run.id}  ${stateText(style, run.state)}`,
    `ceiling ${money(run.ceiling)}`,
    `spent ${money(spent)}`,
    `reserved ${money(reserved)}`,
    `available ${money(available)}`,
    ...(run.heldCount > 0 ? [tint(style, 'held', `◆ ${run.heldCount} held`)] : []),
    ...(run.frozen ? [tint(style, 'frozen', '❄ frozen')] : []),
  ].join('   ')
}

/** The same in two lines where one is too narrow: what was spent is what a person looks for. */
function runLines(style: Style, run: RunView): string[] {
  const line = runLine(style, run)
  if (width(line) < style.columns) return [line]
  const [id, ceiling, ...others] = line.split('   ')
  return [`${id}   ${ceiling}`, `  ${others.join('   ')}`]
}

const SCRIPTED = /^scripted/

const many = (count: number, one: string): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : `${one}s`}`

/** What models used; undefined where nothing but the scripted engine was asked, and it had no need to step in. */
export function modelsText(used: ModelUseView | undefined): string | undefined {
  if (used === undefined) return undefined
  const { calls, inputTokens, outputTokens, costMicros, unanswered, fallbacks, fallback } = used
  const tokens = inputTokens + outputTokens
  const isReal = Object.keys(used.byModel).some((model) => !SCRIPTED.test(model))
  if (!isReal && tokens === 0 && fallbacks === 0) return undefined
  return [
    many(calls, 'call'),
    many(tokens, 'token'),
    `${(costMicros / 1_000_000).toFixed(6)} US dollars`,
    ...(unanswered === 0 ? [] : [`${unanswered} without an answer`]),
    ...(fallbacks === 0
      ? []
      : [
          `${many(fallbacks, 'plan')} by the scripted planner (last: ${shown(fallback ?? '', 40)})`,
        ]),
  ].join(', ')
}

interface Drawn {
  readonly node: NodeView
  readonly prefix: string
}

/** The tree in order, parents before children, with the lines that connect them. */
function arrange(nodes: readonly NodeView[]): Drawn[] {
  const below = new Map<string | undefined, NodeView[]>()
  for (const node of nodes) below.set(node.parent, [...(below.get(node.parent) ?? []), node])
  const drawn: Drawn[] = []
  const visit = (node: NodeView, prefix: string, indent: string) => {
    drawn.push({ node, prefix })
    const children = below.get(node.id) ?? []
    children.forEach((child, i) => {
      const last = i === children.length - 1
      visit(child, `${indent}${last ? '└─ ' : '├─ '}`, `${indent}${last ? '   ' : '│  '}`)
    })
  }
  for (const root of below.get(undefined) ?? []) visit(root, '', '')
  return drawn
}

const LABEL = 52

/** Columns that a label keeps however narrow the terminal is. */
const LABEL_LEAST = 24

/** Columns for two amounts; the words after them may be cut off. */
const AMOUNTS = 33

interface Cells {
  readonly name: string
  readonly state: string
  readonly checks: string
  readonly amounts: string
}

function cellsOf(style: Style, { node, prefix }: Drawn, run: RunView): Cells {
  const money = (amount: number) => formatMoney(amount, run.currency)
  const code = nodeState(node) === 'refused' && node.lastCode ? ` ${node.lastCode}` : ''
  const { payment } = node
  const back = payment?.reversed ? `, ${money(payment.reversed)} came back` : ''
  const pay = payment && `${money(payment.amount)} → ${shown(payment.payee, 30)}${back}`
  const given = `${money(node.spent + node.allotted)} of ${money(node.ceiling)} given or spent`
  return {
    name: `${prefix}${node.kind} ${shown(node.label, 60)}`,
    state: stateText(style, nodeState(node)) + code,
    checks: (node.lastChecks ?? [])
      .map(({ status }) => tint(style, CELLS[status][1], CELLS[status][0]))
      .join(''),
    amounts: node.kind === 'looker' ? '' : (pay ?? given),
  }
}

/** Lines in columns; where the terminal is narrow the labels give way first. */
function columns(style: Style, rows: readonly Cells[]): string[] {
  const widest = (of: keyof Cells) => Math.max(0, ...rows.map((row) => width(row[of])))
  const [state, checks] = [widest('state'), widest('checks')]
  const room = style.columns - state - checks - Math.min(widest('amounts'), AMOUNTS) - 7
  const label = Math.min(widest('name'), LABEL, Math.max(LABEL_LEAST, room))
  const pad = (text: string, to: number) => text + ' '.repeat(Math.max(0, to - width(text)))
  return rows.map((row) => {
    const name = [...row.name]
    const cut = name.length > label ? `${name.slice(0, label - 1).join('')}…` : row.name
    const parts = [pad(cut, label), pad(row.state, state), pad(row.checks, checks), row.amounts]
    return parts.join('  ').trimEnd()
  })
}

/** All lines of a run. With `most`, closed lookers go first and then the tail, with a count of what is not shown. */
export function treeLines(
  style: Style,
  detail: RunDetail,
  most = Number.MAX_SAFE_INTEGER,
): string[] {
  const isDone = (node: NodeView) => node.kind === 'looker' && node.standing === 'closed'
  const models = modelsText(detail.run.models)
  const head = [
    ...runLines(style, detail.run),
    ...(models === undefined ? [] : [`  models  ${models}`]),
  ]
  const room = Math.max(1, most - head.length)
  const isFull = detail.nodes.length > room
  const nodes = isFull ? detail.nodes.filter((node) => !isDone(node)) : detail.nodes
  const lines = columns(
    style,
    arrange(nodes).map((drawn) => cellsOf(style, drawn, detail.run)),
  )
  const kept = lines.length > room || isFull ? lines.slice(0, room - 1) : lines
  const hidden = detail.nodes.length - kept.length
  const rest = hidden === 0 ? [] : [tint(style, 'idle', `… and ${hidden} more nodes`)]
  return [...head, ...kept, ...rest]
}
