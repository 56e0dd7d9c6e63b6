/**
 * Transitions that erase personal values of a run that is over. What is needed to settle is never erased while money
 * waits, so both refuse before the run is sealed; amounts, payees, ids and times stay, and no event is touched. Each may
 * be sent again: what is wiped stays wiped.
 */
import type { Erase, EraseParts } from '../core/erase.ts'
import { eventReason, eventWord } from '../core/events.ts'
import type { Commands, Refused } from '../core/ledger.ts'
import { ERASED } from '../core/personal.ts'
import type { Origin } from '../core/provenance.ts'
import type { HoldRecord, NodeRecord, PaymentRecord, RunRecord } from '../core/records.ts'
import type { Seconds } from '../core/time.ts'
import { isOverAuthorisation } from './authorisations.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { refused } from './rules.ts'
import { TERMINAL } from './runs.ts'

/** Whether its account, goods or evidence are still needed, because money may yet move. */
export const isMoneyWaiting = ({ state, refunding }: PaymentRecord): boolean =>
  (state !== 'settled' && state !== 'released') || refunding === true

export const isSealed = ({ state, seal }: RunRecord): boolean =>
  TERMINAL.has(state) && seal !== undefined

export function* eraseParts(
  input: EraseParts,
  draft: Draft,
): Steps<Commands['eraseParts']['result']> {
  const { nodes, payments, holds, steps, authorisations = [], now } = input
  const stepKeys = steps.map(({ node, name }) => keys.step(node, name))
  const owners = [...new Set([...nodes, ...steps.map(({ node }) => node)])]
  yield [
    keys.run(input.run),
    ...owners.map(keys.node),
    ...payments.map(keys.payment),
    ...holds.map(keys.hold),
    ...authorisations.map(keys.authorisation),
    ...stepKeys,
  ]
  const run = draft.get(keys.run(input.run))
  if (run === undefined) return refused('not_found')
  const refusal = judge(draft, run, input)
  if (refusal) return refusal
  const records = [
    ...owners.map((id) => draft.get(keys.node(id))),
    ...payments.map((id) => draft.get(keys.payment(id))),
    ...holds.map((id) => draft.get(keys.hold(id))),
    ...authorisations.map((id) => draft.get(keys.authorisation(id))),
  ]
  if (records.some((record) => record?.run !== run.id)) return refused('conflict')
  for (const id of nodes) wipeNode(draft, draft.need(keys.node(id)), now)
  for (const id of payments) wipePayment(draft, draft.need(keys.payment(id)))
  for (const id of holds) wipeHold(draft, draft.need(keys.hold(id)))
  for (const id of authorisations) {
    const of = keys.authorisation(id)
    draft.put(of, { ...draft.need(of), account: ERASED })
  }
  for (const key of stepKeys) if (draft.get(key) !== undefined) draft.remove(key)
  return { ok: true }
}

function judge(
  draft: Draft,
  run: RunRecord,
  { payments, authorisations = [] }: EraseParts,
): Refused | undefined {
  const found = payments.flatMap((id) => draft.get(keys.payment(id)) ?? [])
  const held = authorisations.flatMap((id) => draft.get(keys.authorisation(id)) ?? [])
  const isWaiting = found.some(isMoneyWaiting) || !held.every(isOverAuthorisation)
  if (isWaiting) return refused('money_waiting')
  return isSealed(run) ? undefined : refused('run_live')
}

function wipeNode(draft: Draft, node: NodeRecord, now: Seconds): void {
  const { salt: _salt, ...rest } = node
  if (node.erasedAtSeconds !== undefined) return
  draft.put(keys.node(node.id), { ...rest, label: ERASED, erasedAtSeconds: now })
}

/** Quantities and prices stay, as amounts do; what it was does not. */
const wipedLines = ({ lines }: Pick<PaymentRecord, 'lines'>) =>
  lines.map((line) => ({ ...line, sku: ERASED, title: ERASED }))

/** Where a value came from stays; of which item, does not. */
function wipedTrail({ provenance }: Pick<PaymentRecord, 'provenance'>) {
  if (provenance === undefined) return {}
  const bare = (origin: Origin): Origin =>
    origin.item === undefined ? origin : { ...origin, item: { ...origin.item, sku: ERASED } }
  const { payee, amount, currency, quantity, recurring } = provenance
  return {
    provenance: {
      payee: payee.map(bare),
      amount: amount.map(bare),
      currency: currency.map(bare),
      quantity: quantity.map(bare),
      recurring: recurring.map(bare),
    },
  }
}

function wipePayment(draft: Draft, payment: PaymentRecord): void {
  const { resolution, regained, reason, ...rest } = payment
  const gone = { evidence: ERASED, salt: '' }
  draft.put(keys.payment(payment.id), {
    ...rest,
    lines: wipedLines(payment),
    ...wipedTrail(payment),
    account: ERASED,
    ...(resolution === undefined ? {} : { resolution: { ...resolution, ...gone } }),
    ...(regained === undefined ? {} : { regained: { ...regained, ...gone } }),
    ...(reason === undefined ? {} : { reason: eventReason(reason) }),
  })
}

function wipeHold(draft: Draft, hold: HoldRecord): void {
  draft.put(keys.hold(hold.id), { ...hold, lines: wipedLines(hold), ...wipedTrail(hold) })
}

export function* erase(input: Erase, draft: Draft): Steps<Commands['erase']['result']> {
  const { by, nodes, payments, holds, now } = input
  yield [keys.run(input.run)]
  const run = draft.get(keys.run(input.run))
  if (run === undefined) return refused('not_found')
  if (run.erasedAtSeconds !== undefined) return { ok: true, run }
  if (!isSealed(run)) return refused('run_live')
  yield [keys.account(run.root)]
  const erased: RunRecord = {
    ...run,
    mandate: ERASED,
    ...(run.reason === undefined ? {} : { reason: ERASED }),
    erasedAtSeconds: now,
  }
  draft.put(keys.run(run.id), erased)
  draft.append(run.root, 'erased', { by: eventWord(by), nodes, payments, holds })
  return { ok: true, run: erased }
}
