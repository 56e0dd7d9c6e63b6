/** What a rail cannot do as it is configured, in sentences for whoever set it up. */
import type { Config } from '../config.ts'
import { CURRENCIES, minor } from '../core/money.ts'
import type { Rail } from '../core/rail.ts'
import { bindingsOf, unpayable } from '../gateway/bindings.ts'
import type { Credentials } from '../secrets/resolve.ts'

/** Without the account's own word, which only `ready` gives. */
export function limitsOf(
  { rail: configured, payees }: Pick<Config, 'rail' | 'payees'>,
  rail: Rail,
  credentials: Credentials,
): readonly string[] {
  const isPaypal = configured.name === 'paypal'
  const limits: string[] = [...currencyLimits(payees, rail)]
  if (rail.refunds === undefined) limits.push('it makes no refunds')
  if (rail.authorisations === undefined) {
    limits.push(
      isPaypal
        ? 'PAYPAL_INSTRUMENT is not given: a merchant is paid once a payer approves, and nothing is authorised for later'
        : 'it authorises nothing for later: each payment is made by itself',
    )
  }
  if (rail.events === undefined) {
    limits.push('it sends no messages: what changes there is found by asking')
  } else if (isPaypal && credentials.PAYPAL_WEBHOOK_ID === undefined) {
    limits.push('PAYPAL_WEBHOOK_ID is not given: none of its messages is believed')
  }
  if (rail.statement === undefined)
    limits.push('it has no list of its own to hold the ledger against')
  return limits
}

/** Payees that cannot be paid in every currency, those with the same ones together. */
function currencyLimits(payees: Config['payees'], rail: Rail): readonly string[] {
  const bindings = bindingsOf(payees, rail.name)
  const never = unpayable(bindings, rail)
  const groups = new Map<string, string[]>()
  for (const [payee, { account }] of bindings) {
    const carried = CURRENCIES.filter((currency) => {
      const order = { account, amount: minor(1_000_000), currency }
      return rail.expressible?.(order) === undefined
    })
    if (carried.length === CURRENCIES.length || never.includes(payee)) continue
    const only = carried.join(', ')
    groups.set(only, [...(groups.get(only) ?? []), payee])
  }
  return [...groups].map(([only, ids]) => `it pays in ${only} only: ${listOf(ids)}`)
}

const SHOWN = 5

const listOf = (ids: readonly string[]): string =>
  ids.length <= SHOWN
    ? ids.join(', ')
    : `${ids.slice(0, SHOWN).join(', ')} and ${ids.length - SHOWN} more`
