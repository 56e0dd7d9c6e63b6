/** One run: its money, what waits for a person, the live tree, and one node in full. */
import { askCancel } from './actions.js'
import * as api from './api.js'
import { announce, byId, fill, h, words } from './dom.js'
import { createCheques } from './holds.js'
import { createInspector } from './inspector.js'
import { Feed } from './live.js'
import { bar } from './node-parts.js'
import { button, facts, identifier, pause, slots, time } from './parts.js'
import { badge } from './shapes.js'
import { money, oneLine } from './text.js'
import { Tree } from './tree.js'

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

/** @param {RunView} run whether an account of it differs from its log, and whether its words are gone */
const marks = (run) => [run.haltedAtSeconds !== undefined, run.erasedAtSeconds !== undefined]

/** @param {RunView} run */
function totals({ currency, ceiling, totals: { spent, reserved, available } }) {
  const sums = { spent, reserved, available, ceiling }
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

/** @param {string} text */
const lines = (text) =>
  h('div', {}, ...text.split(/\r?\n/).map((line) => h('div', {}, words(line, 1_000))))

/** @param {RunView} run */
const mandate = (run) =>
  h(
    'details',
    {},
    h('summary', {}, 'Mandate and seal'),
    facts([
      ['Task', lines(run.task)],
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
  /** @param {RunView} run @param {boolean} whole whether the freeze is of the whole run */
  return (run, whole) => {
    const { id, task, state, frozen, heldCount, seal, reason } = run
    const [isHalted, isErased] = marks(run)
    put('over', id, () => [h('a', { href: '/' }, 'Runs'), ' / ', identifier(id)])
    put('title', task, () => [h('h1', {}, words(oneLine(task), 160))])
    put('states', [state, isHalted, isErased, frozen, whole, heldCount, seal, isFinal(run)], () => [
      badge(state),
      isHalted && badge('failed', 'halted'),
      isErased && badge('final', 'erased'),
      frozen && badge('frozen', whole ? 'frozen' : 'frozen in part'),
      heldCount > 0 && badge('held', `${heldCount} held`),
      seal !== undefined && badge('passed', 'sealed'),
      !isFinal(run) && button('Cancel run', () => askCancel(id, changed)),
    ])
    put('reason', reason, () => [reason !== undefined && h('p', {}, words(reason, 600))])
    put('totals', [run.totals, run.ceiling], () => totals(run))
    put('mandate', [seal, run.finishedAtSeconds], () => [mandate(run)])
  }
}

export class RunPage {
  /** @type {string} */ #id
  /** @type {import('./shell.js').Shell} */ #shell
  #head = h('section', { class: 'summary', 'aria-label': 'The run' })
  #side = h('aside', { class: 'inspector', 'aria-label': 'The chosen node' })
  #lost = h('div')
  #summarise = createSummary(this.#head, () => this.read())
  #cheques = createCheques(() => this.read())
  #tree = new Tree((item) => {
    history.replaceState(null, '', `#${item.node.id}`)
    fill(this.#lost, [])
    this.#inspect()
  })
  /** @type {ReturnType<typeof createInspector> | undefined} */ #inspector
  /** @type {Feed | undefined} */ #feed
  /** @type {RunDetail | undefined} */ #detail
  #reading = false
  #dirty = false

  /**
   * @param {string} id
   * @param {import('./shell.js').Shell} shell
   */
  constructor(id, shell) {
    this.#id = id
    this.#shell = shell
    fill(this.#side, [h('p', { class: 'muted' }, 'Choose a node to see it in full.')])
    window.addEventListener('hashchange', () => this.#goToHash())
    setInterval(() => document.hidden && this.read(), HIDDEN_READ_MS)
    this.read()
  }

  /** Asks for a reading; readings never overlap and are never closer than `READ_EVERY_MS`. */
  async read() {
    this.#dirty = true
    if (this.#reading) return
    this.#reading = true
    while (this.#dirty) {
      this.#dirty = false
      try {
        await this.#readOnce()
      } catch (error) {
        const status = error instanceof api.Refusal ? error.status : 0
        if (status === 404) this.#missing()
        if ([401, 403, 404].includes(status)) {
          this.#feed?.close()
          break
        }
        this.#unread()
        this.#dirty = true
        await pause(RETRY_MS)
      }
      await pause(READ_EVERY_MS)
    }
    this.#reading = false
  }

  async #readOnce() {
    const [next, holds] = await Promise.all([api.runDetail(this.#id), api.holds()])
    const own = holds.filter((hold) => hold.run === this.#id)
    this.#paint(next, own)
    this.#shell.held(holds)
    const link = (/** @type {Link} */ state) => this.#shell.link(state, () => this.#feed?.refresh())
    this.#feed ??= new Feed(this.#id, next.position, { changed: () => this.read(), link })
    this.#feed.caughtUp(next.position, isFinal(next.run))
  }

  #unread() {
    if (this.#feed) this.#feed.failedToRead()
    else this.#shell.link({ state: 'stale', sinceMs: Date.now() }, () => this.read())
  }

  /**
   * @param {RunDetail} next
   * @param {HoldView[]} holds of this run
   */
  #paint(next, holds) {
    const first = this.#detail === undefined
    if (this.#detail?.run.frozen === false && next.run.frozen) announce('This run is frozen.')
    if (this.#detail?.run.frozen !== next.run.frozen) this.#shell.check()
    this.#detail = next
    if (first) {
      const columns = h('div', { class: 'columns' }, this.#tree.element, this.#side)
      fill(byId('main'), [this.#head, this.#lost, this.#cheques.element, columns])
    }
    const frozen = next.nodes.filter((node) => node.standing === 'frozen')
    // Frozen without a frozen node: it is the gateway that is.
    const whole = frozen.length === 0 || frozen.some((node) => node.id === next.run.root)
    this.#summarise(next.run, whole)
    this.#cheques.update(holds, first)
    const waiting = new Set(holds.filter((hold) => hold.state === 'open').map((hold) => hold.node))
    this.#tree.update(next.nodes, waiting, next.run.currency, api.nowMs() / 1000)
    if (first) this.#goToHash()
    else this.#inspect()
  }

  #inspect() {
    const item = this.#tree.selected()
    if (item === undefined || this.#detail === undefined) return
    this.#inspector ??= createInspector(this.#side)
    const { currency } = this.#detail.run
    this.#inspector(item, { run: this.#id, currency, changed: () => this.read() })
  }

  #goToHash() {
    const id = location.hash.slice(1)
    if (!id.startsWith('nd_')) return
    const found = this.#tree.item(id) !== undefined
    const message = h('p', { class: 'banner' }, 'No node of this run is ', identifier(id))
    fill(this.#lost, [!found && message])
    if (found) this.#tree.reveal(id)
    this.#inspect()
  }

  #missing() {
    fill(byId('main'), [
      h('h1', {}, 'No such run'),
      h('p', {}, 'No run has the address ', identifier(this.#id), '.'),
      h('p', {}, h('a', { href: '/' }, 'All runs')),
    ])
  }
}
