/** The rail that a configuration names, over the credentials that were resolved for it. */
import { Fault } from '../core/errors.ts'
import type { Rail } from '../core/rail.ts'
import type { Clock } from '../core/time.ts'
import type { Transport } from './exchange.ts'
import { createPaypalRail } from './paypal.ts'
import { createRazorpayRail } from './razorpay.ts'
import { createSimulatedRail } from './simulated.ts'

/** As `headgate.json` says it under `rail`. */
export type RailSettings =
  | { readonly name: 'simulated'; readonly url: string }
  | {
      readonly name: 'razorpay'
      readonly mode: 'test' | 'live'
      readonly accountNumber: string
      readonly url?: string | undefined
    }
  | {
      readonly name: 'paypal'
      readonly mode: 'sandbox' | 'live'
      readonly url?: string | undefined
    }

export interface RailParts {
  /** The value of a credential by the name of its variable; undefined where it was not given. */
  readonly credential: (name: string) => string | undefined
  readonly clock: Clock
  /** `exchange` if absent. */
  readonly transport?: Transport | undefined
  /** For one call with everything that it asks; `LIMITS.railMs` if absent. */
  readonly timeoutMs?: number | undefined
}

/** Throws Fault: `config_invalid` for a credential that is missing, `rail_unconfigured` for one that cannot be. */
export function openRail(
  rail: RailSettings,
  { credential, clock, transport, timeoutMs }: RailParts,
): Rail {
  const need = (name: string): string => {
    const value = credential(name)
    if (value !== undefined) return value
    const said = `expected the rail’s credential: set ${name} or ${name}_FILE`
    throw new Fault('config_invalid', said, { retryable: false })
  }
  const at = {
    clock,
    ...(rail.url === undefined ? {} : { url: rail.url }),
    ...(transport === undefined ? {} : { transport }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
  switch (rail.name) {
    case 'simulated':
      return createSimulatedRail({ ...at, url: rail.url, apiKey: need('HEADGATE_RAIL_KEY') })
    case 'razorpay':
      return createRazorpayRail({
        ...at,
        mode: rail.mode,
        keyId: need('RAZORPAY_KEY_ID'),
        keySecret: need('RAZORPAY_KEY_SECRET'),
        accountNumber: rail.accountNumber,
        webhookSecrets: [
          need('RAZORPAY_WEBHOOK_SECRET'),
          credential('RAZORPAY_WEBHOOK_SECRET_PREVIOUS'),
        ].filter((secret) => secret !== undefined),
      })
    case 'paypal': {
      const webhookId = credential('PAYPAL_WEBHOOK_ID')
      const instrument = credential('PAYPAL_INSTRUMENT')
      return createPaypalRail({
        ...at,
        mode: rail.mode,
        clientId: need('PAYPAL_CLIENT_ID'),
        clientSecret: need('PAYPAL_CLIENT_SECRET'),
        ...(webhookId === undefined ? {} : { webhookId }),
        ...(instrument === undefined ? {} : { instrument }),
      })
    }
  }
}
