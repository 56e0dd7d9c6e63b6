/** Whether the rail can be used, and what of an answer keeps a gateway from starting. */
import { Fault } from '../core/errors.ts'
import type { Rail } from '../core/rail.ts'

/**
 * What the account behind the credentials may not do, as a sentence; undefined where it may do everything. Throws what
 * `ready` throws where the rail cannot be used at all.
 */
export async function askReady(rail: Rail): Promise<string | undefined> {
  try {
    await rail.ready()
    return undefined
  } catch (error) {
    if (error instanceof Fault && error.code === 'rail_limited') return error.message
    throw error
  }
}

interface Warning {
  readonly level: 'warn'
  readonly code: string
  readonly message: string
}

/**
 * Asks before anything is served. A rail that is down comes back, and an account that may not do everything can still pay:
 * both are a line of the log. Throws Fault `rail_unconfigured` for credentials that the rail does not accept.
 */
export async function askAtStart(rail: Rail, log: (entry: Warning) => void): Promise<void> {
  try {
    const limit = await askReady(rail)
    if (limit !== undefined) log({ level: 'warn', code: 'rail_limited', message: limit })
  } catch (error) {
    if (!(error instanceof Fault) || !error.retryable) throw error
    log({ level: 'warn', code: error.code, message: error.message })
  }
}
