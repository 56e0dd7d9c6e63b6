/**
 * One round on a rail, by its port alone: what the account cannot do, and then each thing that Headgate asks of a rail,
 * with what the rail said to it. It moves the smallest sums there are, and refuses keys that move real money.
 */
import { Fault } from '../../runtime/core/errors.ts'
import {
  freshId,
  type PaymentId,
  railKeyOf,
  refundIdOf,
  refundKeyOf,
} from '../../runtime/core/ids.ts'
import { type Currency, minor } from '../../runtime/core/money.ts'
import type { Rail, RailKnown, RailOrder, RailOutcome } from '../../runtime/core/rail.ts'

/** Accounts to try it with; what has none is said to be left out. */
export interface SmokeAccounts {
  /** Paid out to. */
  readonly payout?: string
  /** An order or link that a payer approves, or that is drawn from an authorisation. */
  readonly order?: string
}

export interface SmokeStep {
  readonly step: string
  /** `done`: as it should be; `left`: not tried, and why; `failed`: the rail said something else. */
  readonly result: 'done' | 'left' | 'failed'
  readonly said: string
}

interface Round {
  readonly rail: Rail
  readonly currency: Currency
  readonly nowSeconds: () => number
  readonly steps: SmokeStep[]
}

/** Minor units: enough for every rail's least amount. */
const AUTHORISED = 1_000
const PART = 400
const OVER = 700
const PAID = 200
const BACK = 100

export async function smoke(
  rail: Rail,
  currency: Currency,
  accounts: SmokeAccounts,
  nowSeconds: () => number,
): Promise<readonly SmokeStep[]> {
  const round: Round = { rail, currency, nowSeconds, steps: [] }
  if (!(await account(round))) return round.steps
  await statement(round)
  await payout(round, accounts.payout)
  await authorisation(round, accounts.order)
  await approval(round, accounts.order)
  return round.steps
}

const add = ({ steps }: Round, step: string, result: SmokeStep['result'], said: string): void =>
  void steps.push({ step, result, said })

const worded = (word: {
  readonly kind: string
  readonly reason?: string
  readonly status?: string
}) => [word.kind, word.reason, word.status].filter((part) => part !== undefined).join(', ')

const knownOf = ({ nowSeconds }: Round, order: RailOrder, more: Partial<RailKnown> = {}) => ({
  order,
  submittedAtSeconds: nowSeconds(),
  ...more,
})

function orderOf({ currency }: Round, account: string, amount: number): RailOrder {
  const payment: PaymentId = `pay_${freshId()}`
  const key = railKeyOf(payment)
  return { payment, key, account, amount: minor(amount), currency, note: 'Headgate smoke' }
}

/** False where nothing can be asked of it; what it cannot do is said, and the rest is tried. */
async function account(round: Round): Promise<boolean> {
  try {
    await round.rail.ready()
    add(
      round,
      'account',
      'done',
      'the keys are accepted and everything that is asked below is open',
    )
    return true
  } catch (error) {
    const isLimited = error instanceof Fault && error.code === 'rail_limited'
    const said = error instanceof Error ? error.message : 'not ready'
    add(round, 'account', isLimited ? 'left' : 'failed', said)
    return isLimited
  }
}

async function statement(round: Round): Promise<void> {
  const { rail, nowSeconds } = round
  if (rail.statement === undefined) return add(round, 'statement', 'left', 'the rail has none')
  const toSeconds = nowSeconds()
  try {
    const { objects } = await rail.statement({ fromSeconds: toSeconds - 86_400, toSeconds })
    add(round, 'statement', 'done', `${objects.length} movements in the last day`)
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it cannot be read'
    add(round, 'statement', 'failed', why)
  }
}

async function payout(round: Round, account: string | undefined): Promise<void> {
  if (account === undefined)
    return add(round, 'payout', 'left', 'no account to pay out to was named')
  const { rail } = round
  const order = orderOf(round, account, PAID)
  const problem = rail.expressible?.(order)
  if (problem !== undefined) {
    return add(round, 'payout', 'failed', `the rail cannot express the ${problem}`)
  }
  const said = await rail.pay(order)
  add(round, 'payout', isTakenBy(said) ? 'done' : 'failed', worded(said))
  const again = await rail.pay(order)
  // It may have gone on meanwhile, and then has another reference; its book is looked at next.
  const isSame =
    again.kind === said.kind ? referenceOf(again) === referenceOf(said) : isTakenBy(again)
  add(round, 'the same payout again', isSame ? 'done' : 'failed', worded(again))
  const found = await rail.lookup(order.key, knownOf(round, order, reference(said)))
  add(round, 'look-up', found.kind === 'absent' ? 'failed' : 'done', worded(found))
}

const isTakenBy = ({ kind }: RailOutcome): boolean => kind === 'settled' || kind === 'pending'

const referenceOf = (said: RailOutcome): string | undefined =>
  'reference' in said ? said.reference : undefined

const reference = (said: RailOutcome): { reference?: string } => {
  const found = referenceOf(said)
  return found === undefined ? {} : { reference: found }
}

async function authorisation(round: Round, account: string | undefined): Promise<void> {
  const { authorisations } = round.rail
  const { currency } = round
  if (account === undefined || !authorisations?.takes({ account, currency })) {
    const why = 'the rail holds nothing for later, or no payer’s instrument is saved'
    return add(round, 'authorise', 'left', why)
  }
  const asked = orderOf(round, account, AUTHORISED)
  const placed = await authorisations.place(asked)
  if (placed.kind !== 'authorised') return add(round, 'authorise', 'failed', worded(placed))
  add(round, 'authorise', 'done', `${placed.amount} ${placed.currency} in minor units`)
  const part = orderOf(round, account, PART)
  const drawn = await authorisations.draw(part, placed.reference)
  add(round, 'part capture', drawn.kind === 'settled' ? 'done' : 'failed', worded(drawn))
  const over = await authorisations.draw(orderOf(round, account, OVER), placed.reference)
  add(round, 'over-draw refused', over.kind === 'settled' ? 'failed' : 'done', worded(over))
  const voided = await authorisations.void(placed.reference)
  add(round, 'void', voided.kind === 'voided' ? 'done' : 'failed', worded(voided))
  if (drawn.kind === 'settled') await refund(round, part, drawn.reference)
}

async function refund(round: Round, paid: RailOrder, paymentReference: string): Promise<void> {
  const { rail, currency } = round
  const { payment, key: paymentKey, account: paymentAccount } = paid
  const key = refundKeyOf(refundIdOf(payment, 'smoke'))
  const asked = { payment, key, paymentKey, paymentAccount, paymentReference, currency }
  const order = { ...asked, amount: minor(BACK) }
  const { refunds } = rail
  if (refunds === undefined) return add(round, 'refund', 'left', 'the rail makes no refunds')
  const said = await refunds.make(order)
  add(round, 'refund', said.kind === 'refunded' ? 'done' : 'failed', worded(said))
  const found = await refunds.lookup(order)
  add(round, 'look-up of the refund', found.kind === said.kind ? 'done' : 'failed', worded(found))
}

/** A payer’s part is not played here: what waits for one is ended again. */
async function approval(round: Round, account: string | undefined): Promise<void> {
  const { rail, currency } = round
  if (account === undefined)
    return add(round, 'approval', 'left', 'no account for orders was named')
  if (rail.authorisations?.takes({ account, currency })) {
    return add(round, 'approval', 'left', 'a saved instrument needs nobody’s approval')
  }
  const order = orderOf(round, account, PAID)
  const said = await rail.pay(order)
  const isWaiting = said.kind === 'pending' && said.awaits === 'payer'
  add(round, 'an order waits for its payer', isWaiting ? 'done' : 'failed', worded(said))
  if (!isWaiting || rail.cancel === undefined) return
  const ended = await rail.cancel(knownOf(round, order, reference(said)))
  add(round, 'and is called off', ended.kind === 'declined' ? 'done' : 'failed', worded(ended))
}
