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
  ['available', 'Available'],
  ['ceiling', 'Ceiling'],
  ['checks', 'Last payment: nine checks'],
  ['state', 'State'],
])
const KEYS = 'Arrow keys or h j k l move, open and close; 1 to 9 open to a level; Home and End.'
const MONEY_COLUMNS = new Set(['spent', 'reserved', 'available', 'ceiling'])

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

/** The element and what it shows; `onSelect` is called when a person chooses a node. */
export class Tree {
  element
  /** @type {(item: Item) => void} */ #onSelect
  #head = h('div', { role: 'row', class: 'tree-row tree-head' })
  #body = h('div', { role: 'rowgroup', class: 'tree-body' })
  /** @type {Map<string, HTMLElement>} */ #rows = new Map()
  /** What each row shows now, so that a row without news is left alone. @type {WeakMap<HTMLElement, string>} */
  #painted = new WeakMap()
  /** @type {Map<string, Item>} */ #items = new Map()
  /** @type {Item[]} */ #roots = []
  /** Nodes whose children show. @type {Set<string>} */ #open = new Set()
  #currency = ''
  /** @type {string | undefined} */ #selected

  /** @param {(item: Item) => void} onSelect */
  constructor(onSelect) {
    this.#onSelect = onSelect
    const grid = h(
      'div',
      { role: 'treegrid', 'aria-label': 'Nodes of this run', 'aria-describedby': 'tree-keys' },
      h('div', { role: 'rowgroup' }, this.#head),
      this.#body,
    )
    grid.addEventListener('keydown', (event) => this.#pressed(event))
    const keys = h('p', { class: 'hint muted', id: 'tree-keys' }, KEYS)
    this.element = h('div', { class: 'tree' }, grid, keys)
  }

  /** @param {string} id */
  item(id) {
    return this.#items.get(id)
  }

  selected() {
    return this.#items.get(this.#selected ?? '')
  }

  /**
   * Opens the way to a node, selects it and brings it into view: for an address, once.
   * @param {string} id
   */
  reveal(id) {
    const item = this.#items.get(id)
    if (item === undefined) return
    this.#show(item)
    this.#rows.get(id)?.scrollIntoView({ block: 'nearest' })
  }

  /**
   * @param {readonly NodeView[]} nodes
   * @param {ReadonlySet<string>} heldNodes
   * @param {string} currency
   * @param {number} nowSeconds
   */
  update(nodes, heldNodes, currency, nowSeconds) {
    const known = this.#items
    const { roots, items } = buildTree(nodes, heldNodes, nowSeconds)
    this.#roots = roots
    this.#items = items
    if (this.#currency !== currency) fill(this.#head, headings(currency))
    this.#currency = currency
    if (known.size === 0) this.#open = openAtFirst(roots)
    // What appears while a person watches is shown, while the page stays of a size to read.
    else if (this.#rows.size < ROWS_AT_FIRST) {
      for (const id of items.keys()) if (!known.has(id)) this.#open.add(id)
    }
    this.#draw()
  }

  #draw() {
    const list = visibleItems(this.#roots, this.#open)
    const keep = new Set(list.map((item) => String(item.node.id)))
    for (const [id, row] of this.#rows) {
      if (keep.has(id)) continue
      row.remove()
      this.#rows.delete(id)
    }
    const selected = this.#selected ?? ''
    const tabStop = keep.has(selected) ? selected : list[0]?.node.id
    list.forEach((item, index) => {
      const row = this.#rows.get(item.node.id) ?? this.#makeRow(item.node.id)
      const there = this.#body.children[index]
      if (there !== row) this.#body.insertBefore(row, there ?? null)
      row.tabIndex = item.node.id === tabStop ? 0 : -1
      row.setAttribute('aria-selected', String(item.node.id === this.#selected))
      this.#paint(row, item)
    })
  }

  /** @param {string} id */
  #makeRow(id) {
    const row = h('div', { role: 'row', class: 'tree-row', 'data-node': id })
    row.addEventListener('click', (event) => {
      const item = this.#items.get(id)
      if (item === undefined) return
      const twist = event.target instanceof Element && event.target.closest('.twist') !== null
      if (twist) this.#toggle(item, !this.#open.has(id))
      this.#choose(item)
    })
    this.#rows.set(id, row)
    return row
  }

  /**
   * @param {HTMLElement} row
   * @param {Item} item
   */
  #paint(row, item) {
    const { node, level, position, siblings, children } = item
    const isOpen = this.#open.has(node.id)
    const painted = JSON.stringify([
      node,
      [item.sums, item.state, item.held],
      [level, position, siblings, children.length, isOpen],
    ])
    if (this.#painted.get(row) === painted) return
    this.#painted.set(row, painted)
    row.dataset.kind = node.kind
    row.setAttribute('aria-level', String(level))
    row.setAttribute('aria-posinset', String(position))
    row.setAttribute('aria-setsize', String(siblings))
    if (children.length > 0) row.setAttribute('aria-expanded', String(isOpen))
    else row.removeAttribute('aria-expanded')
    row.style.setProperty('--level', String(level))
    fill(row, rowCells(item, isOpen, this.#currency))
  }

  /**
   * @param {Item} item
   * @param {boolean} on
   */
  #toggle(item, on) {
    if (item.children.length === 0) return
    if (on) this.#open.add(item.node.id)
    else this.#open.delete(item.node.id)
    this.#draw()
  }

  /** @param {Item} item */
  #show(item) {
    for (let up = item.parent; up !== undefined; up = up.parent) this.#open.add(up.node.id)
    this.#selected = item.node.id
    this.#draw()
  }

  /** @param {Item} item */
  #choose(item) {
    this.#show(item)
    this.#rows.get(item.node.id)?.focus()
    this.#onSelect(item)
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const item = this.selected() ?? this.#roots[0]
    const next = item && this.#keyed(event.key, item)
    if (next === undefined) return
    event.preventDefault()
    this.#choose(next)
  }

  /**
   * @param {string} key
   * @param {Item} item
   * @returns {Item | undefined} where to go
   */
  #keyed(key, item) {
    const list = visibleItems(this.#roots, this.#open)
    const at = list.indexOf(item)
    if (key === 'ArrowDown' || key === 'j') return list[at + 1] ?? item
    if (key === 'ArrowUp' || key === 'k') return list[at - 1] ?? item
    if (key === 'ArrowRight' || key === 'l') return this.#inward(item)
    if (key === 'ArrowLeft' || key === 'h') return this.#outward(item)
    if (key === 'Home') return list[0]
    if (key === 'End') return list.at(-1)
    if (key === 'Enter' || key === ' ') return item
    if (!/^[1-9]$/.test(key)) return undefined
    const level = Number(key)
    const above = [...this.#items.values()].filter((each) => each.level < level)
    this.#open = new Set(above.map((each) => each.node.id))
    return pathTo(item)[level - 1] ?? item
  }

  /** @param {Item} item */
  #inward(item) {
    if (this.#open.has(item.node.id)) return item.children[0] ?? item
    this.#toggle(item, true)
    return item
  }

  /** @param {Item} item */
  #outward(item) {
    const isOpen = item.children.length > 0 && this.#open.has(item.node.id)
    if (!isOpen) return item.parent ?? item
    this.#toggle(item, false)
    return item
  }
}
