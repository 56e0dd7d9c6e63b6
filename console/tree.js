/**
 * The treegrid (APG pattern, focus on rows). Rows are keyed by node id and patched in place: an event never scrolls,
 * never moves the selection and never rebuilds a row under the pointer.
 */
import { fill, h } from './dom.js'
import { rowCells } from './node-parts.js'
import { buildTree, openAtFirst, pathTo, ROWS_AT_FIRST, visibleItems } from './tree-model.js'

/** @typedef {import('../runtime/core/wire.ts').NodeView} NodeView */
/** @typedef {import('./tree-model.js').Item} Item */

const COLUMNS = /** @type {const} */ ([
  ['node', 'Node'],
  ['spent', 'Spent'],
  ['reserved', 'Reserved'],
  ['free', 'Free'],
  ['ceiling', 'Ceiling'],
  ['checks', 'Last payment: nine checks'],
  ['state', 'State'],
])
const KEYS = 'Arrow keys or h j k l move, open and close; 1 to 9 open to a level; Home and End.'
const MONEY_COLUMNS = new Set(['spent', 'reserved', 'free', 'ceiling'])

/** @param {string} currency */
const headings = (currency) =>
  COLUMNS.map(([name, title]) =>
    h(
      'span',
      { role: 'columnheader', class: `cell cell-${name}` },
      h('span', { class: `key key-${name}`, 'aria-hidden': 'true' }),
      title,
      MONEY_COLUMNS.has(name) && h('span', { class: 'unit' }, ` ${currency}`),
    ),
  )

/**
 * @param {(item: Item) => void} onSelect a person chose this node
 */
export function createTree(onSelect) {
  const head = h('div', { role: 'row', class: 'tree-row tree-head' })
  const body = h('div', { role: 'rowgroup', class: 'tree-body' })
  const grid = h(
    'div',
    { role: 'treegrid', 'aria-label': 'Nodes of this run', 'aria-describedby': 'tree-keys' },
    h('div', { role: 'rowgroup' }, head),
    body,
  )
  const element = h(
    'div',
    { class: 'tree' },
    grid,
    h('p', { class: 'hint muted', id: 'tree-keys' }, KEYS),
  )
  /** @type {Map<string, HTMLElement>} */
  const rows = new Map()
  /** @type {Map<string, Item>} */
  let items = new Map()
  /** @type {Item[]} */
  let roots = []
  /** @type {Set<string>} */
  let open = new Set()
  /** @type {Set<string>} */
  let known = new Set()
  /** What each row shows now, so that a row without news is left alone. @type {WeakMap<HTMLElement, string>} */
  const paintings = new WeakMap()
  let currency = ''
  /** @type {string | undefined} */
  let selected

  function draw() {
    const list = visibleItems(roots, open)
    const keep = new Set(list.map((item) => item.node.id))
    for (const [id, row] of rows) {
      if (keep.has(/** @type {NodeView['id']} */ (id))) continue
      row.remove()
      rows.delete(id)
    }
    const tabStop = selected ?? roots[0]?.node.id
    list.forEach((item, index) => {
      const row = rows.get(item.node.id) ?? makeRow(item.node.id)
      if (body.children[index] !== row) body.insertBefore(row, body.children[index] ?? null)
      paint(row, item, item.node.id === tabStop)
    })
  }

  /** @param {string} id */
  function makeRow(id) {
    const row = h('div', { role: 'row', class: 'tree-row', 'data-node': id })
    row.addEventListener('click', (event) => {
      const item = items.get(id)
      if (item === undefined) return
      const twist = event.target instanceof Element && event.target.closest('.twist') !== null
      if (twist) toggle(item)
      choose(item)
    })
    rows.set(id, row)
    return row
  }

  /**
   * @param {HTMLElement} row
   * @param {Item} item
   * @param {boolean} tabStop
   */
  function paint(row, item, tabStop) {
    const { node, level, position, siblings, children } = item
    const isOpen = open.has(node.id)
    row.tabIndex = tabStop ? 0 : -1
    row.setAttribute('aria-selected', String(node.id === selected))
    const painted = JSON.stringify([
      node,
      [item.sums, item.state, item.held],
      [level, position, siblings, children.length, isOpen],
    ])
    if (paintings.get(row) === painted) return
    paintings.set(row, painted)
    row.dataset.kind = node.kind
    row.setAttribute('aria-level', String(level))
    row.setAttribute('aria-posinset', String(position))
    row.setAttribute('aria-setsize', String(siblings))
    if (children.length > 0) row.setAttribute('aria-expanded', String(isOpen))
    else row.removeAttribute('aria-expanded')
    row.style.setProperty('--level', String(level))
    fill(row, rowCells(item, isOpen, currency))
  }

  /**
   * @param {Item} item
   * @param {boolean} [on]
   */
  function toggle(item, on = !open.has(item.node.id)) {
    if (item.children.length === 0) return
    if (on) open.add(item.node.id)
    else open.delete(item.node.id)
    draw()
  }

  /** @param {Item} item */
  function show(item) {
    for (let up = item.parent; up !== undefined; up = up.parent) open.add(up.node.id)
    selected = item.node.id
    draw()
  }

  /** @param {Item} item */
  function choose(item) {
    show(item)
    rows.get(item.node.id)?.focus()
    onSelect(item)
  }

  /**
   * @param {string} key
   * @param {Item} item
   * @returns {Item | undefined} where to go
   */
  function keyed(key, item) {
    const list = visibleItems(roots, open)
    const at = list.indexOf(item)
    const isOpen = item.children.length > 0 && open.has(item.node.id)
    if (key === 'ArrowDown' || key === 'j') return list[at + 1] ?? item
    if (key === 'ArrowUp' || key === 'k') return list[at - 1] ?? item
    if (key === 'Home') return list[0]
    if (key === 'End') return list.at(-1)
    if (key === 'Enter' || key === ' ') return item
    if (key === 'ArrowRight' || key === 'l') {
      if (isOpen) return item.children[0]
      toggle(item, true)
      return item
    }
    if (key === 'ArrowLeft' || key === 'h') {
      if (!isOpen) return item.parent ?? item
      toggle(item, false)
      return item
    }
    if (/^[1-9]$/.test(key)) {
      open = new Set([...items.values()].filter((i) => i.level < Number(key)).map((i) => i.node.id))
      return pathTo(item)[Number(key) - 1] ?? item
    }
    return undefined
  }

  grid.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const item = items.get(selected ?? '') ?? roots[0]
    const next = item && keyed(event.key, item)
    if (next === undefined) return
    event.preventDefault()
    choose(next)
  })

  return {
    element,
    /** @param {string} id */
    item: (id) => items.get(id),
    selected: () => (selected === undefined ? undefined : items.get(selected)),
    /**
     * Opens the way to a node, selects it and brings it into view: for an address, once.
     * @param {string} id
     */
    reveal(id) {
      const item = items.get(id)
      if (item === undefined) return
      show(item)
      rows.get(id)?.scrollIntoView({ block: 'nearest' })
    },
    /**
     * @param {readonly NodeView[]} nodes
     * @param {ReadonlySet<string>} heldNodes
     * @param {string} inCurrency
     * @param {number} nowSeconds
     */
    update(nodes, heldNodes, inCurrency, nowSeconds) {
      ;({ roots, items } = buildTree(nodes, heldNodes, nowSeconds))
      if (currency !== inCurrency) fill(head, headings(inCurrency))
      currency = inCurrency
      if (known.size === 0) open = openAtFirst(roots)
      // What appears while a person watches is shown, while the page stays of a size to read.
      else if (rows.size < ROWS_AT_FIRST) {
        for (const id of items.keys()) if (!known.has(id)) open.add(id)
      }
      known = new Set(items.keys())
      draw()
    },
  }
}
