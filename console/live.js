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
 * @typedef {object} Listener
 * @property {() => void} changed something happened: read the run again
 * @property {(link: Link) => void} link how fresh the page is
 */

export class Feed {
  /** @type {string} */ #run
  /** @type {Listener} */ #on
  /** The last position that a stream gave us: where the next one begins. */
  #position
  /** The position that the page shows. */
  #read
  /** The last position that the gateway spoke of. */
  #head
  #failures = 0
  #final = false
  /** When the stream, or the reading of the run, was first found not to work; 0 while it works. */
  #streamStaleMs = 0
  #readStaleMs = 0
  /** @type {EventSource | undefined} */ #source
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #watchdog
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #reopening
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #hiding
  #leaving = new AbortController()

  /**
   * @param {string} run
   * @param {number} after feed position that the caller has read
   * @param {Listener} on
   */
  constructor(run, after, on) {
    this.#run = run
    this.#on = on
    this.#position = after
    this.#read = after
    this.#head = after
    const { signal } = this.#leaving
    document.addEventListener('visibilitychange', () => this.#seen(), { signal })
    window.addEventListener('online', () => this.refresh(), { signal })
    this.#open()
  }

  /**
   * The caller has read the run as of this position.
   * @param {number} at
   * @param {boolean} final nothing more is expected
   */
  caughtUp(at, final) {
    this.#read = at
    this.#readStaleMs = 0
    this.#moved(at)
    this.#final = final
    if (final) this.#shut()
    else if (!this.#source && !this.#reopening && !document.hidden) this.#open()
    this.#report()
  }

  /** The caller could not read the run. */
  failedToRead() {
    this.#readStaleMs ||= Date.now()
    this.#report()
  }

  /** Reads again and connects again, at once. */
  refresh() {
    this.#failures = 0
    this.#on.changed()
    if (!this.#final) this.#open()
  }

  close() {
    this.#leaving.abort()
    this.#final = true
    this.#shut()
  }

  #open() {
    this.#shut()
    const after = this.#position
    const stream = new EventSource(`/runs/${encodeURIComponent(this.#run)}/events?after=${after}`)
    this.#source = stream
    this.#watchdog = setTimeout(() => this.#lost(), SILENCE_MS)
    stream.addEventListener('open', () => this.#heard())
    stream.addEventListener('fact', (event) => {
      this.#moved(Number(event.lastEventId))
      this.#heard()
      this.#on.changed()
    })
    stream.addEventListener('hb', (event) => {
      this.#head = JSON.parse(event.data).head
      this.#heard()
    })
    stream.addEventListener('reset', () => this.#reset())
    stream.addEventListener('bye', () => this.#reopen(FIRST_PAUSE_MS))
    stream.addEventListener('error', () => {
      // The browser never says why. The session does: without one, `api` sends the page to the login form.
      if (stream.readyState === EventSource.CLOSED) api.session().catch(() => undefined)
      this.#lost()
    })
  }

  /** Our position cannot be served: what is read next says where to go on from, and opens the stream again. */
  #reset() {
    this.#position = 0
    this.#head = 0
    this.#shut()
    this.#on.changed()
  }

  #shut() {
    this.#source?.close()
    this.#source = undefined
    clearTimeout(this.#watchdog)
    clearTimeout(this.#reopening)
    this.#reopening = undefined
  }

  /** @param {number} pauseMs */
  #reopen(pauseMs) {
    this.#shut()
    if (this.#final || document.hidden) return
    this.#reopening = setTimeout(() => this.#open(), pauseMs * (0.5 + Math.random()))
  }

  #heard() {
    this.#failures = 0
    this.#streamStaleMs = 0
    clearTimeout(this.#watchdog)
    this.#watchdog = setTimeout(() => this.#lost(), SILENCE_MS)
    this.#report()
  }

  #lost() {
    this.#streamStaleMs ||= Date.now()
    this.#report()
    this.#reopen(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures))
    this.#failures += 1
  }

  /** @param {number} to */
  #moved(to) {
    if (Number.isSafeInteger(to) && to > this.#position) this.#position = to
  }

  #seen() {
    clearTimeout(this.#hiding)
    if (document.hidden) this.#hiding = setTimeout(() => this.#shut(), HIDDEN_MS)
    else if (!this.#source) this.refresh()
  }

  #report() {
    const sinceMs = this.#readStaleMs || this.#streamStaleMs
    const behind = Math.max(this.#head, this.#position) - this.#read
    if (sinceMs > 0) this.#on.link({ state: 'stale', sinceMs })
    else if (this.#final) this.#on.link({ state: 'final' })
    else if (behind > 0) this.#on.link({ state: 'catching up', behind })
    else this.#on.link({ state: 'live' })
  }
}
