/**
 * What a rail is used for, from a payment to its return, through the port and nothing else: so that every request that an
 * adapter can compose is composed once, against a stand-in that answers.
 */
import { freshId, railKeyOf, refundKeyOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailKnown, RailOrder, RailOutcome } from '../../runtime/core/rail.ts'

/** What a scenario does at the rail's own side. */
export interface FarSide {
  readonly currency: RailOrder['currency']
  /** One of each kind that a payee's account may be. */
  readonly accounts: readonly string[]
  nowSeconds(): number
  advance(seconds: number): void
  script(on: string, fault: 'pending' | 'html502After' | 'resetAfter'): void
  /** Of what creates a payment to this account. */
  operationOf(account: string): string
  approve(reference: string): void
  comeBack(key: string): void
  messages(): readonly {
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }[]
}

/** Carries all of them out; answers what did not go as a scenario needs it, in sentences. */
export async function useRail(rail: Rail, far: FarSide): Promise<readonly string[]> {
  const problems: string[] = []
  const attempt = async (what: string, act: () => Promise<unknown>) => {
    try {
      await act()
    } catch (error) {
      problems.push(`${what}: ${error instanceof Error ? error.message : 'failed'}`)
    }
  }
  await attempt('ready', () => rail.ready())
  for (const account of far.accounts) {
    await attempt(`pay ${account}`, () => payAndReturn(rail, far, account))
    await attempt(`lose ${account}`, () => loseAndFind(rail, far, account))
    await attempt(`cancel ${account}`, () => cancelPending(rail, far, account))
    await attempt(`authorise ${account}`, () => authorise(rail, far, account))
  }
  await attempt('messages', () => hearAll(rail, far))
  await attempt('statement', () => readStatement(rail, far))
  return problems
}

const orderFor = (far: FarSide, account: string): RailOrder => {
  const payment = `pay_${freshId()}` as const
  const { currency } = far
  const key = railKeyOf(payment)
  return { payment, key, account, amount: minor(12_550), currency, note: 'two chairs' }
}

const knownOf = (order: RailOrder, far: FarSide, reference?: string): RailKnown => ({
  order,
  submittedAtSeconds: far.nowSeconds(),
  ...(reference === undefined ? {} : { reference }),
})

const referenceOf = (outcome: RailOutcome): string | undefined =>
  'reference' in outcome ? outcome.reference : undefined

/** Until it has settled, doing whatever it waits for. */
async function settle(rail: Rail, far: FarSide, order: RailOrder): Promise<RailKnown> {
  let outcome = await rail.pay(order)
  let known = knownOf(order, far, referenceOf(outcome))
  for (let turn = 0; turn < 6 && outcome.kind !== 'settled'; turn += 1) {
    if (outcome.kind === 'pending' && outcome.awaits === 'payer') far.approve(outcome.reference)
    const isOurs = outcome.kind === 'pending' && outcome.awaits === 'capture'
    const next = isOurs && rail.complete ? await rail.complete(known) : await look(rail, known)
    outcome = next
    known = knownOf(order, far, referenceOf(outcome) ?? known.reference)
  }
  if (outcome.kind !== 'settled') throw new Error(`ended ${outcome.kind} ${reasonOf(outcome)}`)
  return known
}

async function look(rail: Rail, known: RailKnown): Promise<RailOutcome> {
  const found = await rail.lookup(known.order.key, known)
  return found.kind === 'absent' ? { kind: 'unknown', reason: 'absent' } : found
}

const reasonOf = (outcome: RailOutcome): string => ('reason' in outcome ? outcome.reason : '')

async function payAndReturn(rail: Rail, far: FarSide, account: string): Promise<void> {
  const order = orderFor(far, account)
  const known = await settle(rail, far, order)
  await rail.lookup(order.key)
  await rail.lookup(order.key, known)
  // The same key again: whatever it answers, it asks.
  await rail.pay(order)
  await refundSome(rail, far, known)
  try {
    far.comeBack(order.key)
  } catch {
    // Not everything that has settled comes back by itself.
  }
  await rail.lookup(order.key, known)
}

async function refundSome(rail: Rail, far: FarSide, { order, reference }: RailKnown) {
  if (rail.refunds === undefined || reference === undefined) return
  const refund = {
    payment: order.payment,
    key: refundKeyOf(`rfd_${freshId()}`),
    paymentKey: order.key,
    paymentAccount: order.account,
    paymentReference: reference,
    amount: minor(1_050),
    currency: far.currency,
  }
  await rail.refunds.make(refund)
  await rail.refunds.lookup(refund)
}

/** An answer is lost, and the payment is found by what is left of it. */
async function loseAndFind(rail: Rail, far: FarSide, account: string): Promise<void> {
  const order = orderFor(far, account)
  far.script(far.operationOf(account), 'resetAfter')
  await rail.pay(order)
  const known = knownOf(order, far)
  far.advance(7 * 3600)
  await rail.lookup(order.key, known)
}

/** A payment that is not final yet is called back, after what happens to it before. */
export async function cancelOne(
  rail: Rail,
  far: FarSide,
  of: { readonly account: string; readonly before?: (key: string) => void },
): Promise<void> {
  const order = orderFor(far, of.account)
  const outcome = await rail.pay(order)
  of.before?.(order.key)
  await rail.cancel?.(knownOf(order, far, referenceOf(outcome)))
}

async function cancelPending(rail: Rail, far: FarSide, account: string): Promise<void> {
  far.script(far.operationOf(account), 'pending')
  await cancelOne(rail, far, { account })
  far.advance(1)
}

async function authorise(rail: Rail, far: FarSide, account: string): Promise<void> {
  const { authorisations } = rail
  const { currency } = far
  if (authorisations?.takes({ account, currency }) !== true) return
  const asked = {
    key: `hg-auth-${freshId().slice(0, 12)}`,
    account,
    amount: minor(50_000),
    currency,
  }
  let placed = await authorisations.place(asked)
  if (placed.kind === 'pending' && placed.awaits === 'payer') far.approve(placed.reference)
  if (placed.kind !== 'authorised') {
    const reference = placed.kind === 'pending' ? placed.reference : undefined
    const found = await authorisations.lookup(asked, reference)
    if (found.kind !== 'authorised') throw new Error(`an authorisation ended ${found.kind}`)
    placed = found
  }
  await authorisations.lookup(asked, placed.reference)
  const order = orderFor(far, account)
  const drawn = await authorisations.draw(order, placed.reference)
  const known = { ...knownOf(order, far, referenceOf(drawn)), authorisation: placed.reference }
  await rail.lookup(order.key, known)
  const { reference: _unknown, ...bare } = known
  await rail.lookup(order.key, bare)
  await authorisations.void(placed.reference)
}

async function hearAll(rail: Rail, far: FarSide): Promise<void> {
  const { events } = rail
  if (events === undefined) return
  const fetched = new Set<string>()
  for (const { headers, body } of far.messages()) {
    const heard = await events.hear({ headers: lower(headers), body: Buffer.from(body) })
    if (heard.kind !== 'event') throw new Error(`a message was ${heard.kind}`)
    const ref = heard.object?.ref
    if (ref === undefined || fetched.has(ref)) continue
    fetched.add(ref)
    await events.fetch(ref)
  }
}

const lower = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

async function readStatement(rail: Rail, far: FarSide): Promise<void> {
  const toSeconds = far.nowSeconds()
  let after: string | undefined
  do {
    const of = { fromSeconds: toSeconds - 86_400, toSeconds }
    const page = await rail.statement?.(after === undefined ? of : { ...of, after })
    after = page?.next
  } while (after !== undefined)
}
