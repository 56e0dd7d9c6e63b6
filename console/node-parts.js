/** How one node looks: its ledger bar, its nine cells, the cells of its row. */
import { h, words } from './dom.js'
import { badge, glyph } from './shapes.js'
import { count, figures, money } from './text.js'
import { below } from './tree-model.js'

/** @typedef {import('../runtime/core/wire.ts').NodeView} NodeView */
/** @typedef {import('./tree-model.js').Item} Item */
/** @typedef {import('./tree-model.js').Sums} Sums */

export const KIND_WORDS = {
  planner: 'planner',
  looker: 'looker · search-only',
  leaf: 'leaf · pay-only',
}

/** Deeper than this the indentation stops and the level is printed. */
const INDENTED_LEVELS = 9

/**
 * Three segments as wide as their share. The numbers stand beside it, so it is hidden from a screen reader.
 * @param {Sums} sums
 */
export function bar({ spent, reserved, available }) {
  const element = h('span', { class: 'bar', 'aria-hidden': 'true' })
  const parts = /** @type {const} */ ([
    ['spent', spent],
    ['reserved', reserved],
    ['available', available],
  ])
  for (const [name, amount] of parts) {
    if (amount === 0) continue
    const segment = h('span', { class: `bar-${name}` })
    segment.style.flexGrow = String(amount)
    element.append(segment)
  }
  return element
}

const CELL_WORDS = /** @type {Record<string, string>} */ ({
  'not-reached': 'not reached',
  'not-applicable': 'not applicable',
})

/** @param {string} status */
export const checkWord = (status) => CELL_WORDS[status] ?? status

/**
 * The nine cells of the node's last payment, in their fixed order.
 * @param {NodeView} node
 */
export function strip(node) {
  const cells = (node.lastChecks ?? []).map((check) => {
    const label = `${check.n} ${check.name}: ${checkWord(check.status)}`
    return glyph(check.status, { role: 'img', title: label, 'aria-label': label })
  })
  return h('span', { class: 'strip' }, ...cells)
}

/**
 * `8 funds: insufficient`, of the first check that did not pass.
 * @param {NodeView} node
 */
export function verdict(node) {
  const stopped = node.lastChecks?.find(({ status }) => status === 'failed' || status === 'held')
  if (stopped === undefined) return undefined
  const what = `${stopped.n} ${stopped.name}`
  return badge(stopped.status, node.lastCode === undefined ? what : `${what}: ${node.lastCode}`)
}

/**
 * @param {NodeView} node
 * @param {string} currency
 */
function lastPayment(node, currency) {
  if (node.kind === 'looker') return [h('span', { class: 'muted' }, 'never pays')]
  if (node.kind === 'planner') return [h('span', { class: 'muted' }, 'never pays itself')]
  if (node.lastChecks === undefined && node.payment === undefined) {
    return [h('span', { class: 'muted' }, 'none yet')]
  }
  const { payment } = node
  return [
    strip(node),
    h(
      'span',
      { class: 'outcome' },
      verdict(node),
      payment && badge(payment.state),
      payment && h('span', { class: 'figure' }, money(payment.amount, currency)),
    ),
  ]
}

/**
 * The cells of one row, in the order of `COLUMNS`.
 * @param {Item} item
 * @param {boolean} isOpen
 * @param {string} currency
 */
export function rowCells(item, isOpen, currency) {
  const { node, sums, level } = item
  const looker = node.kind === 'looker'
  const cell = (/** @type {string} */ name, /** @type {import('./dom.js').Child[]} */ ...content) =>
    h('span', { role: 'gridcell', class: `cell cell-${name}` }, ...content)
  const sum = (/** @type {keyof Sums} */ name) =>
    cell(
      name,
      looker && h('span', { class: 'unseen' }, 'no money'),
      !looker && h('span', { class: 'of', 'aria-hidden': 'true' }, name),
      !looker &&
        h(
          'span',
          { class: `figure${sums[name] === 0 ? ' nil' : ''}` },
          figures(sums[name], currency),
        ),
    )
  const folded = !isOpen && item.children.length > 0
  const twist = item.children.length === 0 ? 'none' : isOpen ? 'open' : 'shut'
  return [
    cell(
      'node',
      h('span', { class: `twist twist-${twist}`, 'aria-hidden': 'true' }),
      h(
        'span',
        { class: 'who' },
        h('span', { class: 'label' }, words(node.label, 80)),
        h(
          'span',
          { class: 'muted' },
          KIND_WORDS[node.kind],
          level > INDENTED_LEVELS && ` · level ${level}`,
          folded && ` · ${count(below(item).length, 'node')} folded`,
          folded && item.held > 0 && `, ${item.held} held`,
        ),
      ),
    ),
    sum('spent'),
    sum('reserved'),
    sum('available'),
    sum('ceiling'),
    cell('checks', ...lastPayment(node, currency)),
    cell('state', badge(item.state.state, item.state.word)),
    !looker && bar(sums),
  ]
}
