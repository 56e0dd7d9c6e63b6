/**
 * Builds elements. Nothing here or elsewhere in the console parses markup: text is always a text node, so a
 * merchant's words can never become structure.
 */
import { shown } from './text.js'

/** @typedef {Node | string | number | false | null | undefined} Child */
/** @typedef {Record<string, string | number | boolean | undefined | ((event: any) => void)>} Attributes */

/**
 * `h('p', { class: 'x', onclick: f }, 'text', node)`. An attribute that is `undefined` or `false` is left out;
 * `true` is written empty; a function is a listener.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? '' : String(value))
  }
  fill(element, children)
  return element
}

/**
 * Puts `children` in the place of what the element holds.
 * @param {Element} element
 * @param {Child[]} children
 */
export function fill(element, children) {
  element.replaceChildren(
    ...children
      .filter((child) => child !== false && child !== null && child !== undefined)
      .map((child) => (child instanceof Node ? child : String(child))),
  )
}

/**
 * Text that an outsider wrote: isolated, capped, its invisible characters made visible.
 * @param {string} text
 * @param {number} [cap]
 */
export function words(text, cap) {
  const element = h('bdi', { class: 'words' })
  for (const part of shown(text, cap)) {
    element.append(
      part.odd
        ? h('span', { class: 'odd', title: 'an invisible character' }, part.text)
        : part.text,
    )
  }
  return element
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`expected an element #${id}`)
  return element
}

/**
 * Says something once in the polite live region: holds, freezes and loss of the link, nothing else.
 * @param {string} sentence
 */
export function announce(sentence) {
  byId('announce').append(h('p', {}, sentence))
  while (byId('announce').childElementCount > 5) byId('announce').firstElementChild?.remove()
}
