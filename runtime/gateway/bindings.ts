/** Payees and the accounts that the operator bound them to. */
import { Fault } from '../core/errors.ts'
import { type Digest, type PayeeId, sha256 } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import { CURRENCIES, minor } from '../core/money.ts'
import { digestAt } from '../core/personal.ts'
import type { Rail } from '../core/rail.ts'

/** A registered destination of money; `accounts` by the rail's name. */
export interface Payee {
  readonly id: PayeeId
  /** For people. */
  readonly name: string
  readonly accounts: Readonly<Record<string, string>>
}

export interface Binding {
  readonly name: string
  readonly account: string
  /**
   * What a run pins, salted with its root's secret: changes whenever the rail or the account does. It stands in receipts,
   * and an account's number alone could be found by trying. Without a secret, for runs of before salts, it is bare.
   */
  readonly digest: (salt: string | undefined) => Digest
}

export type Bindings = ReadonlyMap<PayeeId, Binding>

/** The payees that have an account on this rail. */
export function bindingsOf(payees: readonly Payee[], rail: string): Bindings {
  return new Map(
    payees.flatMap(({ id, name, accounts }) => {
      const account = Object.hasOwn(accounts, rail) ? accounts[rail] : undefined
      if (account === undefined) return []
      const bound = canonicalJson({ payee: id, rail, account })
      const digest = (salt: string | undefined) =>
        (salt === undefined ? undefined : digestAt({ salt }, 'binding', bound)) ?? sha256(bound)
      return [[id, { name, account, digest }] as const]
    }),
  )
}

/** Payees whose account is none that this rail could ever pay, whatever the amount and currency: to be refused at a start. */
export function unpayable(bindings: Bindings, rail: Rail): readonly PayeeId[] {
  const isAccount = (account: string) =>
    CURRENCIES.some((currency) => {
      const order = { account, amount: minor(1_000_000), currency }
      return rail.expressible?.(order) !== 'account'
    })
  return [...bindings].flatMap(([id, { account }]) => (isAccount(account) ? [] : [id]))
}

/** Throws Fault `config_invalid` that names every payee whose account the rail could never pay. */
export function assertPayable(payees: readonly Payee[], rail: Rail): void {
  const wrong = unpayable(bindingsOf(payees, rail.name), rail)
  if (wrong.length === 0) return
  const said = wrong.map(
    (payee) => `expected an account that ${rail.name} can pay for the payee ${payee}`,
  )
  throw new Fault('config_invalid', said.join('; '), { retryable: false })
}
