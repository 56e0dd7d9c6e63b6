/** Time: whole UTC seconds in everything signed or stored; milliseconds only for deadlines in a process. */
import { z } from 'zod'

declare const secondsUnit: unique symbol

/** Whole seconds since 1970-01-01T00:00:00Z. */
export type Seconds = number & { readonly [secondsUnit]: true }

/** The only source of time. `nowMs` never goes back within a process; a wall clock that does is a fault. */
export interface Clock {
  nowMs(): number
}

/** Waiting, as a port, so that a simulation decides when a wait is over. */
export interface Timers {
  /** Acts once, after `ms`; returns how to call it off. */
  after(ms: number, act: () => void): () => void
}

export function seconds(n: number): Seconds {
  if (!Number.isSafeInteger(n) || n < 0) throw new RangeError('expected whole seconds since 1970')
  return n as Seconds
}

/** 9999-12-31T23:59:59Z: the last second that every date library agrees on. */
export const LAST_SECOND = 253_402_300_799

/** Seconds from outside: a whole number up to `LAST_SECOND`; anything else is refused, never coerced. */
export const secondsSchema = z
  .number()
  .int()
  .min(0)
  .max(LAST_SECOND)
  .transform((n) => seconds(n))

export const nowSeconds = (clock: Clock): Seconds => seconds(Math.floor(clock.nowMs() / 1000))

export const later = (at: Seconds, bySeconds: number): Seconds => seconds(at + bySeconds)

export const isoTime = (at: Seconds): string =>
  new Date(at * 1000).toISOString().replace('.000Z', 'Z')

/** Made once for each zone, since making one costs more than all checks of a payment; a few zones are remembered. */
const wallClocks = new Map<string, Intl.DateTimeFormat>()
const ZONES_KEPT = 64

/** What a clock on the wall shows in a zone of the IANA database; throws RangeError where there is no such zone. */
export function wallClock(zone: string): Intl.DateTimeFormat {
  const known = wallClocks.get(zone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
  })
  if (wallClocks.size >= ZONES_KEPT) wallClocks.clear()
  wallClocks.set(zone, made)
  return made
}
