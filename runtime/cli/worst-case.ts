/** What a mandate can cost at worst, in one sentence: what a person reads before signing. */
import type { Mandate } from '../core/mandate.ts'
import { formatMoney } from '../core/money.ts'
import { isoTime } from '../core/time.ts'

export function worstCase(mandate: Mandate): string {
  const money = (amount: number) => formatMoney(amount, mandate.currency)
  const limits = [
    mandate.perPayment === undefined ? '' : `, ${money(mandate.perPayment)} in one payment`,
    mandate.window?.perHour === undefined ? '' : `, ${money(mandate.window.perHour)} in an hour`,
    mandate.window?.perDay === undefined ? '' : `, ${money(mandate.window.perDay)} in a day`,
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
