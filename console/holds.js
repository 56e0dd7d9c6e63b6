/**
 * Holds, shown as cheques. A decision carries the digest of what the card shows and is sent once; the gateway decides.
 * A card never moves or changes its buttons' place while it is on the page: new ones are added below.
 */
import * as api from './api.js'
import { announce, fill, h, words } from './dom.js'
import { facts, identifier, time } from './parts.js'
import { badge } from './shapes.js'
import { duration, figures, money, plain } from './text.js'

/** @typedef {import('../runtime/core/wire.ts').HoldView} HoldView */
/** @typedef {{ element: HTMLElement, hold: HoldView, decided: boolean, settle: (hold: HoldView | undefined) => void, tick: () => void }} Card */

const WHY = /** @type {Record<string, string>} */ ({
  approval_required: 'A rule asks for a person.',
  monitor_unavailable: 'The monitor gave no usable answer.',
  payee_from_untrusted: 'This run never fetched the quote, and somebody chose its payee.',
  amount_from_untrusted: 'This run never fetched the quote, and it asks for more than was written.',
})

const DECIDED = /** @type {Record<string, string>} */ ({
  approved: 'approved: the agent may send exactly this payment once',
  refused: 'refused',
  consumed: 'approved and used',
  expired: 'expired: nobody decided in time',
})

/** @param {HoldView} hold */
function lines(hold) {
  const { currency } = hold
  return h(
    'table',
    { class: 'lines' },
    h('caption', {}, 'The merchant says, in its signed quote:'),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...['Quantity', 'What', 'Each', 'Sum'].map((name) => h('th', { scope: 'col' }, name)),
      ),
    ),
    h(
      'tbody',
      {},
      ...hold.lines.map((line) =>
        h(
          'tr',
          {},
          h('td', { class: 'figure' }, String(line.quantity)),
          h('td', {}, words(line.title, 120), ' ', h('span', { class: 'muted' }, words(line.sku))),
          h('td', { class: 'figure' }, figures(line.unitAmount, currency)),
          h('td', { class: 'figure' }, figures(line.unitAmount * line.quantity, currency)),
        ),
      ),
    ),
  )
}

/** @param {readonly string[]} said by the gateway, of ids and amounts alone */
const trail = (said) =>
  h('ul', { class: 'trail' }, ...said.map((line) => h('li', {}, words(line, 300))))

/** @param {HoldView} hold */
function front(hold) {
  const { currency } = hold
  return [
    h(
      'p',
      { class: 'pay' },
      h('span', { class: 'muted' }, 'Pay '),
      h('strong', { class: 'payee' }, words(hold.payeeName)),
      h('span', { class: 'amount figure' }, money(hold.amount, currency)),
    ),
    lines(hold),
    facts([
      [
        'Why it waits',
        h(
          'span',
          {},
          WHY[hold.code] ?? words(hold.code),
          hold.rule ? (hold.code === 'monitor_unavailable' ? ' Reason: ' : ' Rule: ') : '',
          hold.rule ? words(hold.rule) : '',
        ),
      ],
      [
        'Path of the money',
        h(
          'ol',
          { class: 'crumbs' },
          ...hold.path.map((step) =>
            h('li', {}, h('a', { href: `/runs/${hold.run}#${step.id}` }, words(step.label, 60))),
          ),
        ),
      ],
      .../** @type {[string, HTMLElement][]} */ (
        hold.trail === undefined ? [] : [['Where it came from', trail(hold.trail)]]
      ),
      ['Payee', identifier(hold.payee)],
      ['Merchant', identifier(hold.merchant)],
      ['Payment', identifier(hold.payment)],
      ['Digest of all this', identifier(hold.digest)],
    ]),
  ]
}

/**
 * @param {HoldView} first
 * @param {() => void} changed
 * @returns {Card}
 */
function makeCard(first, changed) {
  const left = h('span', { class: 'figure' })
  const due = h('span', { class: 'muted due' }, left, ' until ', time(first.expiresAtSeconds))
  const foot = h('div', { class: 'actions' })
  const problem = h('p', { class: 'problem', role: 'alert' })
  const title = `cheque-${first.id}`
  const stamp = h('p', { class: 'stamp', tabindex: -1 })
  const status = h('span', {}, badge('held'))
  /** @type {Card} */
  const card = { hold: first, decided: false, settle, tick, element: h('article', {}) }

  const buttons = /** @type {const} */ ([
    ['approve', 'Approve once', 'primary'],
    ['refuse', 'Refuse', 'plain'],
  ]).map(([verb, name, look]) => {
    const label = `${name}: ${money(first.amount, first.currency)} to ${plain(first.payeeName)}`
    const onclick = () => decide(verb)
    return h('button', { type: 'button', class: look, 'aria-label': label, onclick }, name)
  })
  fill(foot, buttons)
  fill(card.element, [
    h('header', {}, h('h3', { id: title }, 'Cheque'), status, due),
    h('div', { class: 'front' }, ...front(first)),
    problem,
    foot,
  ])
  card.element.classList.add('cheque')
  card.element.setAttribute('aria-labelledby', title)

  /** @param {'approve' | 'refuse'} verb */
  async function decide(verb) {
    for (const button of buttons) button.disabled = true
    fill(problem, [])
    try {
      await api.decide(first.id, verb, first.digest)
      finish(verb === 'approve' ? 'approved' : 'refused')
      stamp.focus()
      changed()
    } catch (error) {
      fill(problem, [words(error instanceof Error ? error.message : 'It was not decided.', 300)])
      for (const button of buttons) button.disabled = false
    }
  }
  /** @param {string} state @param {string} [by] */
  function finish(state, by) {
    card.decided = true
    card.element.classList.add('decided')
    fill(status, [badge(state)])
    due.hidden = true
    fill(stamp, [DECIDED[state] ?? state, by === undefined ? '' : ', by ', by && words(by)])
    if (!stamp.isConnected) fill(foot, [stamp])
  }
  /** @param {HoldView | undefined} hold as the gateway has it now; undefined: not among the open ones */
  async function settle(hold) {
    if (card.decided) return
    const now = hold ?? (await api.hold(first.id).catch(() => undefined))
    if (now !== undefined && now.state !== 'open') finish(now.state, now.decidedBy)
  }
  function tick() {
    if (card.decided) return
    const seconds = first.expiresAtSeconds - api.nowMs() / 1000
    if (seconds <= 0) finish('expired')
    else left.textContent = duration(seconds)
  }
  settle(first)
  tick()
  return card
}

/**
 * @param {() => void} changed a decision was taken
 */
export function createCheques(changed) {
  const element = h('div', { class: 'cheques' })
  /** @type {Map<string, Card>} */
  const cards = new Map()
  const ticking = setInterval(() => {
    for (const card of cards.values()) card.tick()
  }, 1_000)
  return {
    element,
    /**
     * @param {readonly HoldView[]} holds
     * @param {boolean} quiet the first time, when nothing is news
     */
    update(holds, quiet) {
      const byId = new Map(holds.map((hold) => [/** @type {string} */ (hold.id), hold]))
      for (const [id, card] of cards) card.settle(byId.get(id))
      for (const hold of holds) {
        if (cards.has(hold.id)) continue
        const card = makeCard(hold, changed)
        cards.set(hold.id, card)
        element.append(card.element)
        if (!quiet && hold.state === 'open') {
          announce(`Held: ${money(hold.amount, hold.currency)} to ${plain(hold.payeeName, 60)}`)
        }
      }
    },
    close: () => clearInterval(ticking),
  }
}
