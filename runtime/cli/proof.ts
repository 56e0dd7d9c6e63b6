/**
 * What a demonstration proves when its run is over: the log against itself and its seal, and the gateway’s ledger
 * against the rail’s own book. Nothing here trusts what the tree looked like.
 */

import type { z } from 'zod'
import { verifyExport } from '../audit/verify.ts'
import { jwksSchema } from '../core/keys.ts'
import type { RunDetail } from '../core/wire.ts'
import { paymentView } from '../http/shapes.ts'
import type { Api } from './api.ts'
import type { Mission } from './mission.ts'
import type { RailBook } from './world-rails.ts'

export type PaymentView = z.infer<typeof paymentView>

export interface Proof {
  readonly events: number
  readonly verified: boolean
  readonly seal: boolean
  readonly settled: readonly PaymentView[]
  readonly book: RailBook
  /** Everything that did not hold, as sentences; empty when all did. */
  readonly wrong: readonly string[]
}

export interface Seen {
  readonly detail: RunDetail
  readonly held: number
}

/** Reads log, payments and book afresh and compares them. */
export async function prove(
  api: Api,
  seen: Seen,
  rail: { book(): Promise<RailBook> },
  mission: Mission,
): Promise<Proof> {
  const { detail } = seen
  const log = await (await api.open('/audit')).text()
  const jwks = await api.get('/.well-known/jwks.json', jwksSchema)
  const { seal } = detail.run
  const verdict = verifyExport(log.split('\n'), { jwks, seals: seal === undefined ? [] : [seal] })
  const settled = await settledPayments(api, detail)
  const book = await rail.book()
  const why = verdict.broken?.why ?? ''
  const wrong = [
    ...(verdict.ok ? [] : [`the log does not verify: ${why}`]),
    ...(seal === undefined ? ['the run has no seal'] : []),
    ...booksDiffer(settled, book),
    ...balancesDiffer(detail),
    ...missionUnmet(seen, settled, mission),
  ]
  return {
    events: verdict.events,
    verified: verdict.ok,
    seal: verdict.ok && seal !== undefined,
    settled,
    book,
    wrong,
  }
}

async function settledPayments(api: Api, { nodes }: RunDetail): Promise<readonly PaymentView[]> {
  const paid = nodes.flatMap(({ payment }) => (payment?.state === 'settled' ? [payment.id] : []))
  const payments: PaymentView[] = []
  for (const id of paid) payments.push(await api.get(`/payments/${id}`, paymentView))
  return payments
}

/** The rail's book holds exactly what the ledger says was settled: each payment once, and nothing else. */
function booksDiffer(settled: readonly PaymentView[], book: RailBook): string[] {
  const { entries } = book
  const missing = settled.filter(
    (payment) =>
      entries !== undefined &&
      entries.filter(
        ({ reference, amount, currency }) =>
          reference === payment.railReference &&
          amount === payment.settledAmount &&
          currency === payment.currency,
      ).length !== 1,
  )
  const [currency] = settled.map((payment) => payment.currency)
  const sum = settled.reduce((total, { settledAmount = 0 }) => total + settledAmount, 0)
  const total = currency === undefined ? 0 : (book.totals[currency] ?? 0)
  return [
    ...missing.map(({ id }) => `the rail’s book does not have the payment ${id} exactly once`),
    ...(book.payments === settled.length
      ? []
      : [`the rail moved money ${book.payments} times, the ledger settled ${settled.length}`]),
    ...(total === sum ? [] : [`the rail moved ${total} in all, the ledger settled ${sum}`]),
  ]
}

function balancesDiffer({ run, nodes }: RunDetail): string[] {
  const { available, reserved, spent } = run.totals
  const torn = nodes.filter(
    (node) => node.ceiling !== node.available + node.reserved + node.spent + node.allotted,
  )
  return [
    ...torn.map(({ id }) => `the books of ${id} do not add up`),
    ...(available + reserved + spent === run.ceiling ? [] : ['the sums are not the ceiling']),
    ...(reserved === 0 ? [] : ['money is still reserved']),
  ]
}

function missionUnmet(
  { detail, held }: Seen,
  settled: readonly PaymentView[],
  { expect }: Mission,
): string[] {
  const { state, reason } = detail.run
  return [
    ...(state === expect.state
      ? []
      : [`the run ${state}, and the mission expects ${expect.state}`]),
    ...(settled.length >= expect.settledAtLeast
      ? []
      : [`${settled.length} payments settled, expected at least ${expect.settledAtLeast}`]),
    ...(held >= expect.heldAtLeast
      ? []
      : [`${held} payments were held, expected at least ${expect.heldAtLeast}`]),
    ...((reason !== undefined) === expect.unmet || state !== 'completed'
      ? []
      : [expect.unmet ? 'nothing was left unmet' : 'something was left unmet']),
  ]
}
