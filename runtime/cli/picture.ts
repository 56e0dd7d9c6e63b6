/**
 * A run as a picture (SVG 1.1, no script, no outside reference): one row a planner, its purchase folded into it. A bar is
 * what the node was given at most; its filled part is what was spent below it. Light and dark follow the reader.
 */
import { formatMoney } from '../core/money.ts'
import type { NodeView, RunDetail } from '../core/wire.ts'
import { shown } from './io.ts'

const WIDTH = 1180
const ROW = 27
const TOP = 92
const BAR = { x: 400, width: 190 }
const MONEY_X = 606
const PAYEE_X = 800
const CELLS_X = 950
const CELL = 22

const STYLE = `text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#16191d}.m{fill:#525b66}.n{font-variant-numeric:tabular-nums}
.t{font-size:17px;font-weight:600}.bg{fill:#fff}.line{stroke:#b6bdc6;fill:none}.bar{fill:#e3e8ee}.spent{fill:#4570a8}
.passed{fill:#4570a8}.held{fill:#8e6714}.failed{fill:#80041a}.not-reached,.not-applicable{fill:#c9d0d8}.g{fill:#fff;font-size:12px}
@media (prefers-color-scheme:dark){text{fill:#e8ecf1}.m{fill:#a3adb9}.bg{fill:#0e1116}.line{stroke:#4a5462}.bar{fill:#262d37}
.spent,.passed{fill:#81cffc}.held{fill:#f5c33a}.failed{fill:#e1595b}.not-reached,.not-applicable{fill:#3a434f}.g{fill:#0e1116}}`

const GLYPHS = {
  passed: '✓',
  held: '?',
  failed: '✗',
  'not-reached': '·',
  'not-applicable': '–',
} as const

/** One row: a planner and, where it bought something itself, the leaf that paid. */
interface Row {
  readonly node: NodeView
  readonly leaf?: NodeView
  readonly parentRow: number
}

/** The whole picture as text; every label in it is escaped. */
export function pictureOf(detail: RunDetail): string {
  const rows = rowsOf(detail.nodes)
  const height = TOP + rows.length * ROW + 46
  const spent = spentBelow(detail.nodes)
  const money = (amount: number) => formatMoney(amount, detail.run.currency)
  const { run } = detail
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="The tree of one run">`,
    `<style>${STYLE}</style><rect class="bg" width="${WIDTH}" height="${height}"/>`,
    text(24, 34, 't', `One mandate, ${money(run.ceiling)} at most: ${detail.nodes.length} nodes`),
    text(24, 58, 'm', summary(detail, money)),
    ...heads(),
    ...rows.map((row, i) => rowOf(row, i, { money, spent: spent(row.node) })),
    text(24, height - 18, 'm', footer(detail)),
    '</svg>\n',
  ].join('\n')
}

const summary = ({ run }: RunDetail, money: (amount: number) => string): string =>
  `${run.state}: ${money(run.totals.spent)} spent, ${money(run.totals.available)} home again, ${money(run.totals.reserved)} reserved`

const footer = ({ nodes }: RunDetail): string => {
  const lookers = nodes.filter(({ kind }) => kind === 'looker').length
  return `Not drawn: ${lookers} lookers, which read what strangers wrote, and hold no money.`
}

const heads = (): string[] => [
  text(BAR.x, TOP - 10, 'm', 'given, and spent of it'),
  text(PAYEE_X, TOP - 10, 'm', 'paid to'),
  text(CELLS_X, TOP - 10, 'm', 'the nine checks'),
]

function rowsOf(nodes: readonly NodeView[]): Row[] {
  const rows: Row[] = []
  const visit = (node: NodeView, parentRow: number) => {
    const below = nodes.filter(({ parent }) => parent === node.id)
    const leaves = below.filter(({ kind }) => kind === 'leaf')
    const leaf = leaves.findLast(({ payment }) => payment?.state === 'settled') ?? leaves.at(-1)
    const at = rows.push({ node, parentRow, ...(leaf === undefined ? {} : { leaf }) }) - 1
    for (const child of below) if (child.kind === 'planner') visit(child, at)
  }
  for (const node of nodes) if (node.parent === undefined) visit(node, -1)
  return rows
}

/** What was spent at a node and all below it. */
function spentBelow(nodes: readonly NodeView[]): (node: NodeView) => number {
  const sum = (node: NodeView): number =>
    nodes
      .filter(({ parent }) => parent === node.id)
      .reduce<number>((total, child) => total + sum(child), node.spent)
  return sum
}

const indentOf = (node: NodeView): number => 32 + node.depth * 22

function rowOf(
  { node, leaf, parentRow }: Row,
  i: number,
  { money, spent }: { money: (amount: number) => string; spent: number },
): string {
  const y = TOP + i * ROW
  const middle = y + ROW / 2
  const filled = Math.round((BAR.width * spent) / node.tokenCeiling)
  const label = node.parent === undefined ? 'the mandate' : shown(node.label, 44)
  return [
    parentRow < 0 ? '' : branch(indentOf(node), middle, TOP + parentRow * ROW + ROW / 2),
    `<circle class="spent" cx="${indentOf(node)}" cy="${middle}" r="4"/>`,
    text(indentOf(node) + 12, middle + 4, '', label),
    `<rect class="bar" x="${BAR.x}" y="${y + 7}" width="${BAR.width}" height="12" rx="3"/>`,
    `<rect class="spent" x="${BAR.x}" y="${y + 7}" width="${filled}" height="12" rx="3"/>`,
    text(MONEY_X, middle + 4, 'n', `${plain(money(spent))} of ${plain(money(node.tokenCeiling))}`),
    ...(leaf === undefined ? [] : leafCells(leaf, y)),
  ].join('')
}

/** The currency stands in the title, once. */
const plain = (amount: string): string => amount.slice(4)

function branch(x: number, y: number, fromY: number): string {
  const stem = x - 22
  return `<path class="line" d="M${stem} ${fromY + 5}V${y}H${x - 6}"/>`
}

function leafCells(leaf: NodeView, y: number): string[] {
  const cells = (leaf.lastChecks ?? []).map(({ n, name, status }) => {
    const x = CELLS_X + (n - 1) * CELL
    return `<g><title>${n} ${name}: ${status}</title><rect class="${status}" x="${x}" y="${y + 5}" width="${CELL - 4}" height="17" rx="3"/>${text(x + 5, y + 18, 'g', GLYPHS[status])}</g>`
  })
  return [text(PAYEE_X, y + ROW / 2 + 4, '', shown(leaf.payment?.payee ?? '', 24)), ...cells]
}

const text = (x: number, y: number, style: string, words: string): string =>
  `<text x="${x}" y="${y}"${style === '' ? '' : ` class="${style}"`}>${escaped(words)}</text>`

const escaped = (words: string): string =>
  words.replace(/[<>&"']/g, (c) => `&#${c.codePointAt(0)};`)
