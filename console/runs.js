/** All runs, and all holds: two plain lists, read again every few seconds. */
import * as api from './api.js'
import { byId, fill, h, words } from './dom.js'
import { createCheques } from './holds.js'
import { bar } from './node-parts.js'
import { button, time } from './parts.js'
import { badge } from './shapes.js'
import { money, oneLine } from './text.js'

/** @typedef {import('../runtime/core/wire.ts').RunView} RunView */
/** @typedef {import('./shell.js').Shell} Shell */

const READ_EVERY_MS = 4_000

/**
 * Reads now and again and again; a failure marks the page stale and keeps what it shows.
 * @param {Shell} shell
 * @param {() => Promise<void>} read
 */
function keepReading(shell, read) {
  let sinceMs = 0
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  const now = async () => {
    clearTimeout(timer)
    shell.check()
    try {
      await read()
      sinceMs = 0
      shell.link({ state: 'live' }, now)
    } catch (error) {
      if (error instanceof api.Refusal && error.status === 401) return
      sinceMs ||= Date.now()
      shell.link({ state: 'stale', sinceMs }, now)
    }
    timer = setTimeout(now, READ_EVERY_MS)
  }
  now()
  return now
}

const HEADINGS = ['Task', 'State', 'Spent', 'Ceiling', 'Held', 'Started']

/** @param {RunView} run */
function row(run) {
  const { currency, totals, ceiling } = run
  const sums = {
    spent: totals.spent,
    reserved: totals.reserved,
    available: totals.available,
    ceiling,
  }
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('a', { href: `/runs/${run.id}` }, words(oneLine(run.task), 120))),
    h(
      'td',
      {},
      h(
        'span',
        { class: 'states-cell' },
        badge(run.state),
        run.haltedAtSeconds !== undefined && badge('failed', 'halted'),
        run.frozen && badge('frozen'),
      ),
    ),
    h('td', { class: 'figure' }, money(totals.spent, currency), bar(sums)),
    h('td', { class: 'figure' }, money(ceiling, currency)),
    h(
      'td',
      {},
      run.heldCount > 0
        ? badge('held', `${run.heldCount} held`)
        : h('span', { class: 'muted' }, 'none'),
    ),
    h('td', { class: 'muted' }, time(run.createdAtSeconds)),
  )
}

/** @param {readonly RunView[]} runs */
const table = (runs) =>
  h(
    'table',
    { class: 'runs' },
    h('thead', {}, h('tr', {}, ...HEADINGS.map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', {}, ...runs.map(row)),
  )

/** @param {(problem: string) => void} failed */
async function startDemo(failed) {
  try {
    const { run } = await api.demo()
    location.assign(`/runs/${encodeURIComponent(run.id)}`)
  } catch (error) {
    failed(error instanceof Error ? error.message : 'The demo did not start.')
  }
}

/** @param {boolean} demo whether this gateway can start one */
function empty(demo) {
  const problem = h('p', { class: 'problem', role: 'alert' })
  const start = button(
    'Start the demo run',
    async () => {
      start.disabled = true
      await startDemo((why) => {
        fill(problem, [words(why, 300)])
        start.disabled = false
      })
    },
    'primary',
  )
  return h(
    'section',
    { class: 'empty' },
    h('h1', {}, 'No run yet'),
    h('p', {}, 'Agents can spend at most what you signed. Watch the money split, stop any branch.'),
    !demo && h('p', {}, 'A run begins when a principal posts a signed mandate.'),
    demo &&
      h(
        'p',
        { class: 'muted' },
        'The demo signs a mandate and buys from simulated shops with simulated money. It needs no key and no network.',
      ),
    demo && start,
    problem,
  )
}

/**
 * @param {Shell} shell
 * @param {boolean} demo
 */
export function runsPage(shell, demo) {
  const list = h('div', { class: 'list' })
  let shown = ''
  fill(byId('main'), [list])
  return keepReading(shell, async () => {
    const [runs, holds] = await Promise.all([api.runs(), api.holds()])
    shell.held(holds)
    const key = JSON.stringify(runs)
    if (key === shown) return
    shown = key
    fill(list, runs.length === 0 ? [empty(demo)] : [h('h1', {}, 'Runs'), table(runs)])
  })
}

/**
 * @param {Shell} shell
 * @param {string} [id] of the one hold to show, in whatever state it is
 */
export function holdsPage(shell, id) {
  const none = h(
    'p',
    { class: 'muted' },
    'Nothing waits for you. A cheque appears when a check asks for a person.',
  )
  const cheques = createCheques(() => now())
  let first = true
  const title = id === undefined ? 'Held payments' : 'Held payment'
  fill(byId('main'), [h('h1', {}, title), none, cheques.element])
  none.hidden = true
  const now = keepReading(shell, async () => {
    const holds = await api.holds()
    shell.held(holds)
    cheques.update(id === undefined ? holds : [await api.hold(id)], first)
    none.hidden = cheques.element.childElementCount > 0
    first = false
  })
  return now
}
