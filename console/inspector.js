/** One node in full, and what an operator can do about its branch. */
import { askStanding } from './actions.js'
import { h, words } from './dom.js'
import { bar, checkWord, KIND_WORDS, verdict } from './node-parts.js'
import { button, facts, identifier, slots, time } from './parts.js'
import { badge } from './shapes.js'
import { modelsUsed, money, plain } from './text.js'
import { pathTo } from './tree-model.js'

/** @typedef {import('./tree-model.js').Item} Item */
/** @typedef {import('./dom.js').Child} Child */
/** @typedef {{ run: string, currency: string, changed: () => void }} Context */

/** @param {Item} item @returns {Child[]} */
function checks({ node }) {
  if (node.lastChecks === undefined) return []
  return [
    h('h3', {}, 'Nine checks of its last payment'),
    h(
      'ol',
      { class: 'check-list' },
      ...node.lastChecks.map((check) =>
        h(
          'li',
          {},
          h('span', {}, `${check.n} ${check.name}`),
          badge(check.status, checkWord(check.status)),
          h(
            'span',
            { class: 'muted figure' },
            check.status.startsWith('not') ? '' : `${check.ms} ms`,
          ),
        ),
      ),
    ),
    verdict(node),
  ]
}

/** @param {Item} item @param {string} currency @returns {Child[]} */
function account({ node, sums }, currency) {
  if (node.kind === 'looker')
    return [h('p', { class: 'muted' }, 'A looker has no money: its ceiling is 0.')]
  const adds = node.available + node.reserved + node.spent + node.allotted === node.ceiling
  const sum = (/** @type {string} */ name, /** @type {number} */ amount) =>
    /** @type {const} */ ([name, h('span', { class: 'figure' }, money(amount, currency))])
  return [
    h('h3', {}, 'Money, here and below'),
    h('div', { class: 'bar-line' }, bar(sums)),
    facts([
      sum('Spent', sums.spent),
      sum('Reserved', sums.reserved),
      sum('Available', sums.available),
    ]),
    h('h3', {}, 'Its own account'),
    facts([
      sum('Available', node.available),
      sum('+ reserved', node.reserved),
      sum('+ spent', node.spent),
      sum('+ allotted to children', node.allotted),
      sum('= ceiling', node.ceiling),
      sum('Ceiling in its token', node.tokenCeiling),
    ]),
    !adds && h('p', { class: 'problem' }, badge('failed', 'these do not add up to the ceiling')),
  ]
}

/** @param {Item['node']} node @param {string} currency @returns {Child[]} */
function payment({ payment }, currency) {
  if (payment === undefined) return []
  const { id, state, overdue, payee, amount, reversed } = payment
  const figure = (/** @type {number} */ minor) =>
    h('span', { class: 'figure' }, money(minor, currency))
  return [
    h('h3', {}, 'Payment'),
    facts([
      ['State', badge(state, overdue ? `${state}, overdue` : state)],
      ['Payee', words(payee)],
      ['Amount', figure(amount)],
      ...(reversed === undefined ? [] : [/** @type {const} */ (['Came back', figure(reversed)])]),
      ['Payment', identifier(id)],
    ]),
  ]
}

/**
 * @param {() => Item} item as it is when a button is pressed
 * @param {Context} context
 * @returns {Child[]}
 */
function actions(item, context) {
  const { standing } = item().node
  if (standing === 'closed' || standing === 'revoked') return []
  return [
    standing === 'frozen'
      ? button('Resume branch', () => askStanding(item(), 'resume', context))
      : button('Freeze branch', () => askStanding(item(), 'freeze', context)),
    button('Revoke branch', () => askStanding(item(), 'revoke', context), 'danger-plain'),
  ]
}

/** @param {Element} element */
export function createInspector(element) {
  const put = slots(
    element,
    /** @type {const} */ ([
      'title',
      'states',
      'actions',
      'path',
      'account',
      'payment',
      'checks',
      'rest',
    ]),
  )
  /** @type {Item | undefined} */
  let current

  /** @param {Item} item @param {Context} context */
  return (item, context) => {
    current = item
    const { node, sums, state } = item
    const { currency } = context
    put('title', [node.id, node.label], () => [h('h2', {}, words(node.label))])
    put('states', [node.id, state], () => [
      badge(state.state, state.word),
      h('span', { class: 'muted' }, KIND_WORDS[node.kind]),
    ])
    put('actions', [node.id, node.standing], () => actions(() => current ?? item, context))
    const path = pathTo(item).map((up) => [up.node.id, up.node.label])
    put('path', path, () => [
      h(
        'ol',
        { class: 'crumbs', 'aria-label': 'Path of the money' },
        ...path.map(([id, label]) =>
          h(
            'li',
            {},
            h('a', { href: `#${id}`, title: plain(label ?? '') }, words(label ?? '', 32)),
          ),
        ),
      ),
    ])
    put('account', [node, sums], () => account(item, currency))
    put('payment', node.payment, () => payment(node, currency))
    put('checks', [node.id, node.lastChecks, node.lastCode], () => checks(item))
    put('rest', [node.id, node.payees, node.expiresAtSeconds, node.seq, node.models], () => [
      h('h3', {}, 'Token'),
      facts([
        ['May pay', words(node.payees.join(', '), 600)],
        ['Expires', time(node.expiresAtSeconds)],
        ['Depth', String(node.depth)],
        ['Entries in its chain', String(node.seq)],
        ...(node.models === undefined
          ? []
          : [/** @type {const} */ (['Models', modelsUsed(node.models)])]),
        ['Node', identifier(node.id)],
      ]),
    ])
  }
}
