/** The run's nodes as a tree of items: order, levels, money rolled up, and the state that a person should read. Pure. */

/** @typedef {import('../runtime/core/wire.ts').NodeView} NodeView */
/** @typedef {{ spent: number, reserved: number, available: number, ceiling: number }} Sums */
/**
 * @typedef {object} Item
 * @property {NodeView} node
 * @property {number} level from 1
 * @property {number} position among its siblings, from 1
 * @property {number} siblings itself included
 * @property {Item[]} children
 * @property {Item | undefined} parent
 * @property {Sums} sums of the node and everything below it
 * @property {number} held open holds of the node and everything below it
 * @property {{ state: string, word: string }} state
 */

/** Branches are opened from the root down until about this many rows show; the rest is one key away. */
export const ROWS_AT_FIRST = 300

/**
 * @param {readonly NodeView[]} nodes in order of creation
 * @param {ReadonlySet<string>} heldNodes nodes with an open hold
 * @param {number} nowSeconds
 */
export function buildTree(nodes, heldNodes, nowSeconds) {
  /** @type {Map<string, Item>} */
  const items = new Map()
  /** @type {Item[]} */
  const roots = []
  for (const node of nodes) items.set(node.id, newItem(node))
  for (const item of items.values()) {
    item.parent = item.node.parent === undefined ? undefined : items.get(item.node.parent)
    const list = item.parent?.children ?? roots
    list.push(item)
  }
  const place = (/** @type {Item[]} */ list, /** @type {number} */ level) => {
    list.forEach((item, index) => {
      item.level = level
      item.position = index + 1
      item.siblings = list.length
      item.state = stateOf(item, heldNodes.has(item.node.id), nowSeconds)
      item.held = heldNodes.has(item.node.id) ? 1 : 0
      place(item.children, level + 1)
      for (const child of item.children) rollUp(item, child)
    })
  }
  place(roots, 1)
  return { roots, items }
}

/**
 * @param {NodeView} node
 * @returns {Item}
 */
function newItem(node) {
  const { spent, reserved, available, ceiling } = node
  return {
    node,
    level: 1,
    position: 1,
    siblings: 1,
    children: [],
    parent: undefined,
    sums: { spent, reserved, available, ceiling },
    held: 0,
    state: { state: node.standing, word: node.standing },
  }
}

/**
 * A ceiling is available + reserved + spent + allotted, and what is allotted is the children's ceilings: summed over
 * a branch, available + reserved + spent is the ceiling of its top.
 * @param {Item} item
 * @param {Item} child
 */
function rollUp(item, child) {
  item.sums.spent += child.sums.spent
  item.sums.reserved += child.sums.reserved
  item.sums.available += child.sums.available
  item.held += child.held
}

/**
 * @param {Item} item whose parent has its state
 * @param {boolean} held
 * @param {number} nowSeconds
 */
function stateOf(item, held, nowSeconds) {
  const own = item.node.standing
  const above = item.parent?.state.state
  const state = (/** @type {string} */ name, word = name) => ({ state: name, word })
  if (own === 'closed' || own === 'revoked') return state(own)
  if (above === 'revoked') return state('revoked', 'revoked above')
  if (own === 'frozen') return state('frozen')
  if (above === 'frozen') return state('frozen', 'frozen above')
  if (held) return state('held')
  if (own === 'live' && item.node.expiresAtSeconds <= nowSeconds) return state('expired')
  return state(own)
}

/**
 * @param {Item[]} list
 * @param {ReadonlySet<string>} open
 * @returns {Item[]} as rows, from the top
 */
export const visibleItems = (list, open) =>
  list.flatMap((item) => [
    item,
    ...(open.has(item.node.id) ? visibleItems(item.children, open) : []),
  ])

/**
 * @param {Item} item
 * @returns {Item[]}
 */
export const below = (item) => item.children.flatMap((child) => [child, ...below(child)])

/**
 * @param {Item} item
 * @returns {Item[]} root first, the item last
 */
export const pathTo = (item) => (item.parent ? [...pathTo(item.parent), item] : [item])

/**
 * Level by level while it stays readable, and the way to everything that waits for a person.
 * @param {Item[]} roots
 */
export function openAtFirst(roots) {
  /** @type {Set<string>} */
  const open = new Set()
  let rows = roots.length
  for (let level = roots; level.length > 0; level = level.flatMap((item) => item.children)) {
    rows += level.reduce((sum, item) => sum + item.children.length, 0)
    for (const item of level) {
      if (rows <= ROWS_AT_FIRST || item.held > 0) open.add(item.node.id)
    }
  }
  return open
}
