/** What the adapters of the rails say in the same words: outcomes, the faults of a configuration, and what a key looks like. */
import { Fault } from '../core/errors.ts'
import type { RailOutcomeOf, RailStatus } from '../core/rail.ts'

/** Whatever is not the rail's own definite word; `reference` and `status` where they were learned all the same. */
export const unknown = (
  reason: string,
  more: { readonly reference?: string; readonly status?: RailStatus } = {},
): RailOutcomeOf<'unknown'> => ({ kind: 'unknown', reason, ...more })

/** The rail's own definite refusal. */
export const declined = (reason: string, status?: RailStatus): RailOutcomeOf<'declined'> => ({
  kind: 'declined',
  reason,
  ...(status === undefined ? {} : { status }),
})

/** Only where no byte of what moves money has left. */
export const notSent = (reason: string): RailOutcomeOf<'notSent'> => ({ kind: 'notSent', reason })

/** Never throws: what is thrown by a clock that cannot be trusted, or by a mistake of ours, hides how far it came. */
export async function safely<T>(act: () => Promise<T>): Promise<T | RailOutcomeOf<'unknown'>> {
  try {
    return await act()
  } catch (error) {
    return unknown(error instanceof Fault ? error.code : 'internal')
  }
}

/** Fault `rail_unconfigured` for what no other try makes right. */
export const unconfigured = (message: string): Fault =>
  new Fault('rail_unconfigured', message, { retryable: false })

/** Fault `rail_unconfigured` for a list of what moved that is not whole, which another try may be. */
export const unreadable = (reason: string): Fault =>
  new Fault('rail_unconfigured', `the rail’s list of what moved cannot be read: ${reason}`)

/** The origin of a stand-in on this machine, over plain HTTP and with nothing after it; undefined for any other address. */
export function standInAt(text: string): URL | undefined {
  const url = URL.parse(text)
  if (url === null || !['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)) return undefined
  return url.protocol === 'http:' && url.href === `${url.origin}/` ? url : undefined
}

/** The text where it has the shape of the gateway's own keys. */
export const ourKeyIn = (text: unknown): string | undefined =>
  typeof text === 'string' && /^hg-[A-Za-z0-9_-]{27}$/.test(text) ? text : undefined
