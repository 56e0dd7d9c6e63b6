/** What an operator can do to a branch, a run or the gateway: each asks first, and says what the gateway answered. */
import * as api from './api.js'
import { confirm } from './dialogs.js'
import { announce, h, words } from './dom.js'
import { facts, identifier } from './parts.js'
import { count, money } from './text.js'
import { below } from './tree-model.js'

/** @typedef {import('./tree-model.js').Item} Item */
/** @typedef {'freeze' | 'resume' | 'revoke'} Verb */

/**
 * What the gateway acknowledged, and what it says was already past stopping.
 * @param {string} done
 * @param {{ onTheirWay?: readonly string[] } | undefined} answer
 */
function acknowledged(done, answer) {
  const way = answer?.onTheirWay ?? []
  announce(done)
  return [
    h('p', {}, done),
    way.length > 0 && h('p', {}, `${count(way.length, 'payment')} had already been submitted:`),
    way.length > 0 && h('ul', {}, ...way.map((id) => h('li', {}, identifier(id)))),
  ]
}

const GO_ON = 'Payments that were already submitted go on.'

const VERBS = /** @type {const} */ ({
  freeze: {
    title: 'Freeze this branch?',
    name: 'Freeze',
    says: `Nothing in it is searched, split or paid until you resume it. ${GO_ON}`,
    done: 'Frozen. Nothing below is submitted until you resume it.',
  },
  revoke: {
    title: 'Revoke this branch for good?',
    name: 'Revoke',
    says: `Its tokens never work again; this cannot be undone. ${GO_ON}`,
    done: 'Revoked for good. What was not spent goes back up as the branch closes.',
  },
  resume: {
    title: 'Resume this branch?',
    name: 'Resume',
    says: 'It can spend again, up to its ceiling, unless something above it is frozen.',
    done: 'Resumed.',
  },
})

/**
 * @param {Item} item
 * @param {Verb} verb
 * @param {{ run: string, currency: string, changed: () => void }} context
 */
export function askStanding(item, verb, { run, currency, changed }) {
  const { title, name, says, done } = VERBS[verb]
  const nodes = below(item).length + 1
  confirm({
    title,
    danger: verb === 'revoke',
    verb: `${name} ${count(nodes, 'node')}`,
    body: [
      h('p', {}, h('strong', {}, words(item.node.label, 80)), ' and everything below it.'),
      h('p', {}, says),
      facts([
        ['Nodes', String(nodes)],
        ['Still available there', money(item.sums.available, currency)],
        ['Reserved for payments', money(item.sums.reserved, currency)],
      ]),
    ],
    act: () => api.setStanding(run, item.node.id, verb).finally(changed),
    outcome: (answer) => acknowledged(done, answer),
  })
}

/**
 * @param {string} run
 * @param {() => void} changed
 */
export function askCancel(run, changed) {
  confirm({
    title: 'Cancel this run?',
    verb: 'Cancel the run',
    danger: true,
    body: [
      h('p', {}, 'Every node of it closes and what was not spent is given back.'),
      h('p', {}, `This cannot be undone. ${GO_ON}`),
    ],
    act: () => api.cancel(run).finally(changed),
    outcome: (answer) => acknowledged('The run is being cancelled.', answer),
  })
}

/**
 * @param {'freeze' | 'resume'} verb
 * @param {() => void} changed
 */
export function askGateway(verb, changed) {
  const freezing = verb === 'freeze'
  confirm({
    title: freezing ? 'Freeze the whole gateway?' : 'Resume the gateway?',
    verb: freezing ? 'Freeze everything' : 'Resume the gateway',
    danger: freezing,
    body: [
      freezing
        ? h('p', {}, `Every run, every node: nothing is paid until you resume. ${GO_ON}`)
        : h('p', {}, 'Runs can spend again, except branches that were frozen by themselves.'),
    ],
    act: () => api.setGateway(verb).finally(changed),
    outcome: (answer) =>
      acknowledged(freezing ? 'The gateway is frozen.' : 'The gateway is resumed.', answer),
  })
}
