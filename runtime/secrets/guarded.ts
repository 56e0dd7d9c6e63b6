/**
 * The last line: what would carry a secret into the log, the store or out of a rail stops here, whoever let it come so
 * far. Redaction elsewhere is what keeps this from ever happening; this is what keeps a mistake there from mattering.
 */
import type { TextGuard } from '../core/agents.ts'
import { Fault } from '../core/errors.ts'
import type { Ledger } from '../core/ledger.ts'
import type { Rail } from '../core/rail.ts'

/** Stands for what was not let through. */
export const WITHHELD = 'secret_withheld'

const withheld = (what: string) =>
  new Fault(WITHHELD, `${what} held a secret and was stopped`, { retryable: false })

/** Every string in a value, keys included, as one text that no escape of JSON hides anything in. */
function textsIn(value: unknown): string {
  const texts: string[] = []
  const walk = (each: unknown): void => {
    if (typeof each === 'string') texts.push(each)
    else if (each instanceof Uint8Array) texts.push(Buffer.from(each).toString('base64'))
    else if (each instanceof Map || each instanceof Set) walk([...each])
    else if (Array.isArray(each)) each.forEach(walk)
    else if (typeof each === 'object' && each !== null) walk(Object.entries(each))
  }
  walk(value)
  // Between two fields stands what no packing takes away.
  return texts.join('\u{2}|')
}

export const holdsIn = (guard: TextGuard, value: unknown): boolean =>
  guard.holdsSecret(textsIn(value))

/** A log whose lines hold no secret: one that would is said to have been. */
export function guardedLog<T extends { readonly code: string; readonly message: string }>(
  guard: TextGuard,
  log: (entry: T) => void,
): (entry: T) => void {
  return (entry) => {
    if (!holdsIn(guard, entry)) return log(entry)
    log({ ...entry, code: WITHHELD, message: 'a line of the log held a secret and was withheld' })
  }
}

/** The error itself, or one that says only that it held a secret. */
export function guardedError(guard: TextGuard, error: unknown): unknown {
  const holds = error instanceof Error && holdsIn(guard, [error.message, error.stack, { ...error }])
  return holds ? withheld('what failed') : error
}

type Instead = { readonly [method: string]: () => unknown }

/** The same object, with answers of the methods in `instead` replaced where they hold a secret. */
function answering<T extends object>(
  guard: TextGuard,
  target: T,
  instead: Instead,
  parts: { readonly [part: string]: unknown } = {},
): T {
  return new Proxy(target, {
    get(_target, property) {
      const name = String(property)
      if (parts[name] !== undefined) return parts[name]
      const value: unknown = Reflect.get(target, property)
      if (typeof value !== 'function') return value
      const stand = instead[name]
      if (stand === undefined) return value.bind(target)
      return async (...asked: readonly unknown[]): Promise<unknown> => {
        const said: unknown = await value.apply(target, asked)
        return holdsIn(guard, said) ? stand() : said
      }
    },
  })
}

/** A ledger that no command carries a secret into: its `execute` throws Fault `secret_withheld`, and nothing happened. */
export function guardedLedger(guard: TextGuard, ledger: Ledger): Ledger {
  const execute: Ledger['execute'] = async (name, input) => {
    if (holdsIn(guard, input)) throw withheld('a command for the ledger')
    return ledger.execute(name, input)
  }
  return answering(guard, ledger, {}, { execute })
}

const unknown = () => ({ kind: 'unknown', reason: WITHHELD })

/**
 * A rail whose words hold no secret. An answer that does says nothing about money, so it is `unknown`: what moved stays
 * reserved until the rail says so without it.
 */
export function guardedRail(guard: TextGuard, rail: Rail): Rail {
  const { authorisations, events, refunds } = rail
  const statement = () => {
    throw withheld('a statement of the rail')
  }
  const ask = { pay: unknown, lookup: unknown, complete: unknown, cancel: unknown }
  const held = { place: unknown, lookup: unknown, draw: unknown, void: unknown }
  const hear = () => ({ kind: 'unverified', reason: WITHHELD })
  return answering(
    guard,
    rail,
    { ...ask, statement },
    {
      authorisations: authorisations && answering(guard, authorisations, held),
      refunds: refunds && answering(guard, refunds, { make: unknown, lookup: unknown }),
      events: events && answering(guard, events, { hear, fetch: unknown }),
    },
  )
}
