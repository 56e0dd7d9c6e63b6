/** Small pieces that several pages share. */
import { fill, h, words } from './dom.js'
import { moment } from './text.js'

/** @typedef {import('./dom.js').Child} Child */

/** @param {number} atSeconds */
export function time(atSeconds) {
  const { iso, local } = moment(atSeconds)
  return h('time', { datetime: iso, title: iso }, local)
}

/**
 * A list of facts: name, value.
 * @param {readonly (readonly [string, Child])[]} entries
 */
export const facts = (entries) =>
  h(
    'dl',
    { class: 'facts' },
    ...entries.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  )

/** @param {string} id */
export const identifier = (id) => h('code', { class: 'id' }, words(id))

/**
 * @param {string} name
 * @param {() => void} act
 * @param {string} [look]
 */
export const button = (name, act, look = 'plain') =>
  h('button', { type: 'button', class: look, onclick: act }, name)

/**
 * Named places inside `parent`, each filled again only when its own facts change: a button that a person is about to
 * press is not replaced because a number beside it moved.
 * @template {string} N
 * @param {Element} parent
 * @param {readonly N[]} names
 * @returns {(name: N, facts: unknown, build: () => Child[]) => void}
 */
export function slots(parent, names) {
  const places = new Map(
    names.map((name) => [name, { element: h('div', { class: name }), key: '' }]),
  )
  fill(
    parent,
    [...places.values()].map(({ element }) => element),
  )
  return (name, about, build) => {
    const place = places.get(name)
    const key = JSON.stringify(about) ?? 'nothing'
    if (place === undefined || place.key === key) return
    place.key = key
    fill(place.element, build())
  }
}

/** @param {number} ms */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
