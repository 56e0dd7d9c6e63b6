/** One run: its money, what waits for a person, the live tree, and one node in full. */
import { askCancel } from './actions.js'
import * as api from './api.js'
import { announce, byId, fill, h, words } from './dom.js'
import { createCheques } from './holds.js'
import { createInspector } from './inspector.js'
import { follow } from './live.js'
import { bar } from './node-parts.js'
import { button, facts, identifier, pause, slots, time } from './parts.js'
import { badge } from './shapes.js'
import { money } from './text.js'
import { createTree } from './tree.js'

/** @typedef {import('../runtime/core/wire.ts').RunView} RunView */
/** @typedef {import('../runtime/core/wire.ts').RunDetail} RunDetail */
/** @typedef {import('../runtime/core/wire.ts').HoldView} HoldView */
/** @typedef {import('./live.js').Link} Link */

/** However many facts arrive, the run is read again at most this often. */
const READ_EVERY_MS = 250
const RETRY_MS = 3_000
/** A hidden page has no stream; its title still says what waits. */
const HIDDEN_READ_MS = 30_000

/** @param {RunView} run */
const isFinal = (run) => run.finishedAtSeconds !== undefined

/** @param {RunView} run */
function totals({ currency, ceiling, totals: { spent, reserved, available } }) {
  const free = available
  const sums = { spent, reserved, free, ceiling }
  return [
    h(
      'dl',
      { class: 'sums' },
      ...Object.entries(sums).map(([name, amount]) =>
        h(
          'div',
          { class: `sum-${name}` },
          h('dt', {}, h('span', { class: `key key-${name}`, 'aria-hidden': 'true' }), name),
          h('dd', { class: 'figure' }, money(amount, currency)),
        ),
      ),
    ),
    h('div', { class: 'bar-line' }, bar(sums)),
  ]
}

/** @param {RunView} run */
const mandate = (run) =>
  h(
    'details',
    {},
    h('summary', {}, 'Mandate and seal'),
    facts([
      ['Principal', words(run.principal)],
      ['May pay', words(run.payees.join(', '), 1_000)],
      ['Started', time(run.createdAtSeconds)],
      ['Expires', time(run.expiresAtSeconds)],
      ['Finished', run.finishedAtSeconds === undefined ? 'not yet' : time(run.finishedAtSeconds)],
      [
        'Seal',
        run.seal === undefined ? 'not yet' : h('code', { class: 'id' }, words(run.seal, 4_000)),
      ],
    ]),
  )

/**
 * @param {Element} element
 * @param {() => void} changed
 */
function createSummary(element, changed) {
  const names = /** @type {const} */ (['over', 'title', 'states', 'reason', 'totals', 'mandate'])
  const put = slots(element, names)
  /** @param {RunView} run @param {boolean} root whether the freeze is of the whole run */
  return (run, root) => {
    const { id, task, state, frozen, heldCount, seal, reason } = run
    put('over', id, () => [h('a', { href: '/' }, 'Runs'), ' / ', identifier(id)])
    put('title', task, () => [h('h1', {}, words(task, 300))])
    put('states', [state, frozen, root, heldCount, seal, isFinal(run)], () => [
      badge(state),
      frozen && badge('frozen', root ? 'frozen' : 'frozen in part'),
      heldCount > 0 && badge('held', `${heldCount} held`),
      seal !== undefined && badge('passed', 'sealed'),
      !isFinal(run) && button('Cancel run', () => askCancel(id, changed)),
    ])
    put('reason', reason, () => [reason !== undefined && h('p', {}, words(reason, 600))])
    put('totals', [run.totals, run.ceiling], () => totals(run))
    put('mandate', [seal, run.finishedAtSeconds], () => [mandate(run)])
  }
}

/**
 * @param {string} runId
 * @param {import('./shell.js').Shell} shell
 */
export function runPage(runId, shell) {
  const head = h('section', { class: 'summary', 'aria-label': 'The run' })
  const side = h('aside', { class: 'inspector', 'aria-label': 'The chosen node' })
  const lost = h('div', {})
  const summarise = createSummary(head, read)
  const cheques = createCheques(read)
  const tree = createTree((item) => {
    history.replaceState(null, '', `#${item.node.id}`)
    fill(lost, [])
    inspect()
  })
  /** @type {ReturnType<typeof createInspector> | undefined} */
  let inspector
  /** @type {ReturnType<typeof follow> | undefined} */
  let stream
  /** @type {RunDetail | undefined} */
  let detail
  let reading = false
  let dirty = false
  fill(side, [h('p', { class: 'muted' }, 'Choose a node to see it in full.')])

  function inspect() {
    const item = tree.selected()
    if (item === undefined || detail === undefined) return
    inspector ??= createInspector(side)
    inspector(item, { run: runId, currency: detail.run.currency, changed: read })
  }

  function goToHash() {
    const id = location.hash.slice(1)
    if (!id.startsWith('nd_')) return
    const found = tree.item(id) !== undefined
    fill(lost, [!found && h('p', { class: 'banner' }, 'No node of this run is ', identifier(id))])
    if (found) tree.reveal(id)
    inspect()
  }

  /**
   * @param {RunDetail} next
   * @param {HoldView[]} holds
   */
  function paint(next, holds) {
    const first = detail === undefined
    if (detail?.run.frozen === false && next.run.frozen) announce('This run is frozen.')
    detail = next
    if (first)
      fill(byId('main'), [
        head,
        lost,
        cheques.element,
        h('div', { class: 'columns' }, tree.element, side),
      ])
    const root = next.nodes.find((node) => node.id === next.run.root)
    summarise(next.run, root?.standing === 'frozen')
    cheques.update(holds, first)
    const waiting = new Set(holds.filter((hold) => hold.state === 'open').map((hold) => hold.node))
    tree.update(next.nodes, waiting, next.run.currency, api.nowMs() / 1000)
    if (first) goToHash()
    else inspect()
  }

  function retry() {
    if (stream === undefined) read()
    else stream.refresh()
  }

  async function readOnce() {
    const [next, holds] = await Promise.all([api.runDetail(runId), api.holds()])
    paint(
      next,
      holds.filter((hold) => hold.run === runId),
    )
    shell.held(holds)
    const link = (/** @type {Link} */ state) => shell.link(state, retry)
    stream ??= follow(runId, next.position, { changed: read, link })
    stream.caughtUp(next.position, isFinal(next.run))
  }

  /** Asks for a reading; readings never overlap and are never closer than `READ_EVERY_MS`. */
  async function read() {
    dirty = true
    if (reading) return
    reading = true
    while (dirty) {
      dirty = false
      try {
        await readOnce()
      } catch (error) {
        const status = error instanceof api.Refusal ? error.status : 0
        if (status === 404) missing()
        if ([401, 403, 404].includes(status)) {
          stream?.close()
          break
        }
        stream?.failedToRead()
        if (stream === undefined) shell.link({ state: 'stale', sinceMs: Date.now() }, retry)
        dirty = true
        await pause(RETRY_MS)
      }
      await pause(READ_EVERY_MS)
    }
    reading = false
  }

  const missing = () =>
    fill(byId('main'), [
      h('h1', {}, 'No such run'),
      h('p', {}, 'No run has the address ', identifier(runId), '.'),
      h('p', {}, h('a', { href: '/' }, 'All runs')),
    ])

  window.addEventListener('hashchange', goToHash)
  setInterval(() => document.hidden && read(), HIDDEN_READ_MS)
  read()
}
