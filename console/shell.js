/** The frame of every page: what waits for a person, how fresh the page is, and the stop of everything. */
import { askGateway } from './actions.js'
import * as api from './api.js'
import { announce, byId, fill, h } from './dom.js'
import { button } from './parts.js'
import { badge } from './shapes.js'
import { clockTime } from './text.js'

/** @typedef {import('../runtime/core/wire.ts').HoldView} HoldView */
/** @typedef {import('./live.js').Link} Link */
/**
 * @typedef {object} Shell
 * @property {(link: Link, retry: () => void) => void} link
 * @property {(holds: readonly HoldView[]) => void} held
 * @property {(frozen: boolean) => void} frozen
 * @property {() => void} check asks whether the gateway is frozen
 */

/** @param {Link} link */
function linkWords(link) {
  if (link.state === 'stale') return `stale since ${clockTime(link.sinceMs)}`
  return link.state === 'catching up' ? `catching up: ${link.behind} behind` : link.state
}

/**
 * @param {string} page name of the page for the title
 * @param {() => void} changed
 * @returns {Shell}
 */
export function createShell(page, changed) {
  let retry = () => {}
  let last = ''
  const status = button('', () => retry(), 'link')
  status.id = 'link'
  status.title = 'How fresh this page is. Press to read it again.'
  const stop = button('Freeze everything', () => askGateway('freeze', changed), 'danger-plain')
  const leave = button('Sign out', () => api.logout().finally(() => location.reload()), 'link')
  fill(byId('tools'), [status, stop, leave])
  byId('tools').hidden = false
  byId('nav').hidden = false
  const here = location.pathname.startsWith('/holds') ? 'nav-holds' : 'nav-runs'
  byId(here).setAttribute(
    'aria-current',
    location.pathname === '/' || here === 'nav-holds' ? 'page' : 'true',
  )
  document.title = `${page} · Headgate`
  fill(status, [badge('catching up', 'connecting')])

  return {
    link(link, again) {
      retry = again
      if (link.state === 'stale' && last !== 'stale') announce('The link to the gateway is lost.')
      if (link.state === 'live' && last === 'stale') announce('The link to the gateway is back.')
      const said = linkWords(link)
      if (status.textContent !== said) fill(status, [badge(link.state, said)])
      if (link.state !== 'catching up') last = link.state
    },
    held(holds) {
      const open = holds.filter((hold) => hold.state === 'open').length
      const shown = byId('held-count')
      shown.textContent = String(open)
      shown.classList.toggle('some', open > 0)
      document.title = `${open > 0 ? `(${open} held) ` : ''}${page} · Headgate`
    },
    check() {
      api.session().then(
        (session) => this.frozen(session.frozen),
        () => undefined,
      )
    },
    frozen(frozen) {
      const banner = h(
        'div',
        { class: 'banner frozen' },
        badge('frozen', 'The whole gateway is frozen: nothing is paid.'),
        button('Resume the gateway', () => askGateway('resume', changed)),
      )
      if (frozen === byId('banners').childElementCount > 0) return
      fill(byId('banners'), [frozen && banner])
      stop.hidden = frozen
    },
  }
}
