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
