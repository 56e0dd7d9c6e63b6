/**
 * Follows one run's feed. It only says that something happened and how fresh the page is; the caller reads the run
 * again. A stream that ends is opened again from the last position seen, after a pause that grows and varies.
 */
import * as api from './api.js'

/** Heartbeats come every 15 seconds: after three of them missing the stream is dead, whatever the browser thinks. */
const SILENCE_MS = 45_000
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** A hidden page gives its connection back: browsers allow six per host, and Freeze must get through. */
const HIDDEN_MS = 5_000

/** @typedef {{ state: 'live' } | { state: 'catching up', behind: number } | { state: 'stale', sinceMs: number } | { state: 'final' }} Link */

/**
 * @param {string} run
 * @param {number} after feed position that the caller has read
 * @param {{ changed: () => void, link: (link: Link) => void }} on
 */
export function follow(run, after, on) {
  let position = after
  let read = after
  /** The last position that the gateway spoke of. */
  let head = after
  let failures = 0
  let ended = false
  /** When the stream, or the reading of the run, was first found not to work. */
  const stale = { stream: 0, read: 0 }
  /** @type {EventSource | undefined} */
  let source
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let watchdog
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let reopening
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let hiding

  const known = () => Math.max(head, position)
  const report = () => {
    const sinceMs = stale.read || stale.stream
    if (sinceMs > 0) on.link({ state: 'stale', sinceMs })
    else if (ended) on.link({ state: 'final' })
    else if (known() > read) on.link({ state: 'catching up', behind: known() - read })
    else on.link({ state: 'live' })
  }
  const heard = () => {
    failures = 0
    stale.stream = 0
    clearTimeout(watchdog)
    watchdog = setTimeout(lost, SILENCE_MS)
    report()
  }
  const shut = () => {
    source?.close()
    source = undefined
    clearTimeout(watchdog)
    clearTimeout(reopening)
    reopening = undefined
  }
  const again = (/** @type {number} */ pauseMs) => {
    shut()
    if (!ended && !document.hidden) reopening = setTimeout(open, pauseMs * (0.5 + Math.random()))
  }
  const lost = () => {
    stale.stream ||= Date.now()
    report()
    again(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures++))
  }
  const moved = (/** @type {number} */ to) => {
    if (Number.isSafeInteger(to) && to > position) position = to
  }

  function open() {
    shut()
    const stream = new EventSource(`/runs/${encodeURIComponent(run)}/events?after=${position}`)
    source = stream
    watchdog = setTimeout(lost, SILENCE_MS)
    stream.addEventListener('open', heard)
    stream.addEventListener('fact', (event) => {
      moved(Number(event.lastEventId))
      heard()
      on.changed()
    })
    stream.addEventListener('hb', (event) => {
      head = JSON.parse(event.data).head
      heard()
    })
    stream.addEventListener('reset', () => {
      // Our position cannot be served: what is read next says where to go on from, and opens the stream again.
      position = 0
      head = 0
      shut()
      on.changed()
    })
    stream.addEventListener('bye', () => again(FIRST_PAUSE_MS))
    stream.addEventListener('error', () => {
      // The browser never says why. The session does: without one, `api` sends the page to the login form.
      if (stream.readyState === EventSource.CLOSED) api.session().catch(() => undefined)
      lost()
    })
  }
  const visible = () => {
    clearTimeout(hiding)
    if (document.hidden) hiding = setTimeout(shut, HIDDEN_MS)
    else if (source === undefined) refresh()
  }
  const refresh = () => {
    failures = 0
    on.changed()
    if (!ended) open()
  }

  document.addEventListener('visibilitychange', visible)
  window.addEventListener('online', refresh)
  open()

  return {
    refresh,
    /**
     * The caller has read the run as of this position.
     * @param {number} at
     * @param {boolean} final nothing more is expected
     */
    caughtUp(at, final) {
      read = at
      stale.read = 0
      moved(at)
      ended = final
      if (ended) shut()
      else if (source === undefined && reopening === undefined && !document.hidden) open()
      report()
    },
    /** The caller could not read the run. */
    failedToRead() {
      stale.read ||= Date.now()
      report()
    },
    close() {
      document.removeEventListener('visibilitychange', visible)
      window.removeEventListener('online', refresh)
      ended = true
      shut()
    },
  }
}
