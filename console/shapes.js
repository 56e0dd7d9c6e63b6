/** A state is always a word, a shape and a colour together. The shapes are drawn here; the colours are in the style. */
import { h } from './dom.js'

const SVG = 'http://www.w3.org/2000/svg'

/** @typedef {'check' | 'dot' | 'pause' | 'cross' | 'snow' | 'hollow' | 'half' | 'slash' | 'question' | 'small' | 'dash'} Shape */
/** @typedef {'good' | 'held' | 'refused' | 'frozen' | 'idle'} Tone */

/** Each shape as filled paths `f`, cut-out strokes `c` and plain strokes `s`, on a field of 16. */
const PATHS = /** @type {Record<Shape, { f?: string, c?: string, s?: string }>} */ ({
  check: { f: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1z', c: 'M4.8 8.3l2.3 2.3 4.2-4.8' },
  dot: { f: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z' },
  pause: { f: 'M8 .5L15.5 8 8 15.5.5 8z', c: 'M6.5 5.6v4.8M9.5 5.6v4.8' },
  cross: { f: 'M1.5 1.5h13v13h-13z', c: 'M5 5l6 6M11 5l-6 6' },
  snow: { s: 'M8 1v14M2 4.5l12 7M14 4.5l-12 7' },
  hollow: { s: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z' },
  half: { s: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z', f: 'M8 2.5a5.5 5.5 0 0 1 0 11z' },
  slash: { s: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 11.8l7.6-7.6' },
  question: {
    f: 'M8 .5L15.5 8 8 15.5.5 8z',
    c: 'M6.2 6.6c0-2.3 3.6-2.3 3.6-.1 0 1.3-1.8 1.3-1.8 2.6M8 11.1v.6',
  },
  small: { s: 'M8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z' },
  dash: { s: 'M4.5 8h7' },
})

/** @param {Shape} name */
export function shape(name) {
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', '0 0 16 16')
  svg.setAttribute('class', 'shape')
  svg.setAttribute('aria-hidden', 'true')
  for (const [kind, d] of Object.entries(PATHS[name])) {
    const path = document.createElementNS(SVG, 'path')
    path.setAttribute('d', d)
    path.setAttribute('class', `shape-${kind}`)
    svg.append(path)
  }
  return svg
}

/** @type {Record<string, [Shape, Tone]>} */
const STATES = {
  live: ['dot', 'good'],
  running: ['dot', 'good'],
  completed: ['check', 'good'],
  settled: ['check', 'good'],
  passed: ['check', 'good'],
  approved: ['check', 'good'],
  consumed: ['check', 'good'],
  held: ['pause', 'held'],
  open: ['pause', 'held'],
  'catching up': ['pause', 'held'],
  stale: ['cross', 'refused'],
  unknown: ['question', 'held'],
  failed: ['cross', 'refused'],
  refused: ['cross', 'refused'],
  revoked: ['cross', 'refused'],
  frozen: ['snow', 'frozen'],
  cancelling: ['half', 'idle'],
  closing: ['half', 'idle'],
  reserved: ['half', 'good'],
  submitted: ['half', 'good'],
  final: ['hollow', 'idle'],
  closed: ['hollow', 'idle'],
  released: ['slash', 'idle'],
  cancelled: ['slash', 'idle'],
  expired: ['slash', 'idle'],
  'not-reached': ['small', 'idle'],
  'not-applicable': ['dash', 'idle'],
}

/**
 * The word with its shape, in its colour. `state` picks the shape; `word` is what is read.
 * @param {string} state
 * @param {string} [word]
 */
export function badge(state, word = state) {
  const [form, tone] = STATES[state] ?? ['hollow', 'idle']
  return h('span', { class: `badge tone-${tone}` }, shape(form), h('span', {}, word))
}

/**
 * Only the shape, for a cell that carries its words in its own label.
 * @param {string} state
 * @param {Record<string, string>} attributes
 */
export function glyph(state, attributes) {
  const [form, tone] = STATES[state] ?? ['hollow', 'idle']
  return h('span', { ...attributes, class: `glyph tone-${tone}` }, shape(form))
}
