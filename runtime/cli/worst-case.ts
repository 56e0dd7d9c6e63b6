/** What a mandate can cost at worst, in one sentence: what a person reads before signing. */
import type { Mandate } from '../core/mandate.ts'
import { formatMoney } from '../core/money.ts'
import { isoTime } from '../core/time.ts'

export function worstCase(mandate: Mandate): string {
  const money = (amount: number) => formatMoney(amount, mandate.currency)
  // A limit over the ceiling limits nothing, and reads as if more could go than may.
  const limit = (most: number | undefined, of: string) =>
    most === undefined || most >= mandate.ceiling ? '' : `, ${money(most)} in ${of}`
  const limits = [
    limit(mandate.perPayment, 'one payment'),
    limit(mandate.window?.perHour, 'an hour'),
    limit(mandate.window?.perDay, `a day of ${mandate.window?.zone}`),
  ].join('')
  const people =
    mandate.approvalAbove === undefined
      ? ''
      : `; above ${money(mandate.approvalAbove)} a person is asked`
  return (
    `at worst ${money(mandate.ceiling)} in all${limits} goes to ${mandate.payees.join(', ')} ` +
    `before ${isoTime(mandate.exp)}, and nobody else is paid${people}`
  )
}
