/**
 * What all measurements of the ledger pay with: a run, leaves of a parent, and the commands of one payment as the
 * gateway gives them. Inputs are made before anything is timed.
 */
import type { Settle } from '../../../runtime/core/ending.ts'
import type { Ledger, Reserve, Split, Submit } from '../../../runtime/core/ledger.ts'
import type { NodeRecord } from '../../../runtime/core/records.ts'
import { aChild, accepted, aReserve, aSplit, NOW, startRun } from '../../../tests/support/ledger.ts'

/** What each leaf may spend and pays. */
export const PRICE = 10
/** More than any parent here ever has. */
const ROOM = 1_000_000

/** The commands of one payment; without a monitor the first two are one. */
export interface Payment {
  readonly reserve: Reserve
  readonly submit: Submit
  readonly reserveAndSubmit: Reserve
  readonly settle: Settle
}

export function paymentOf(leaf: NodeRecord): Payment {
  const nonce = `nonce of ${leaf.id}`
  const reserve = aReserve(leaf, { amount: PRICE })
  const { payment, path, expiresAtSeconds } = reserve
  const sent = { nonce, nowMs: NOW * 1000 }
  return {
    reserve,
    submit: {
      payment: payment.id,
      path,
      expiresAtSeconds,
      checks: payment.checks,
      now: NOW,
      ...sent,
    },
    reserveAndSubmit: { ...reserve, submit: sent },
    settle: {
      payment: payment.id,
      amount: payment.amount,
      railReference: `rail ${payment.id}`,
      now: NOW,
    },
  }
}

/** Reserved and submitted in one transaction, settled in another. */
export async function pay(ledger: Ledger, { reserveAndSubmit, settle }: Payment): Promise<void> {
  accepted(await ledger.execute('reserve', reserveAndSubmit))
  accepted(await ledger.execute('settle', settle))
}

/** The same as where a monitor is asked in between: three transactions. */
export async function payInSteps(ledger: Ledger, payment: Payment): Promise<void> {
  accepted(await ledger.execute('reserve', payment.reserve))
  accepted(await ledger.execute('submit', payment.submit))
  accepted(await ledger.execute('settle', payment.settle))
}

export const openRun = (ledger: Ledger, jti: string) =>
  startRun(ledger, { jti, ceiling: PRICE * ROOM * 10, nodes: ROOM * 10 })

export const splitOf = (parent: NodeRecord, step: string): Split =>
  aSplit(aChild(parent, step, { ceiling: PRICE }), { fanOut: ROOM })

/** Splits leaves off a parent, many at once. */
export async function splitLeaves(
  ledger: Ledger,
  parent: NodeRecord,
  count: number,
  from = 0,
): Promise<NodeRecord[]> {
  const splits = Array.from({ length: count }, (_, i) => splitOf(parent, `leaf ${from + i}`))
  const leaves: NodeRecord[] = []
  await atOnce(64, splits, async (split) => {
    leaves.push(accepted(await ledger.execute('split', split)).child)
  })
  return leaves
}

/** Works off a list, so many at a time; returns how long it took, milliseconds. */
export async function atOnce<T>(
  width: number,
  list: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<number> {
  const left = list.values()
  const started = performance.now()
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const item of left) await work(item)
    }),
  )
  return performance.now() - started
}

/** Takes one after another; throws when there is none left. */
export function supply<T>(list: readonly T[]): () => T {
  const left = list.values()
  return () => {
    const next = left.next()
    if (next.done) throw new Error('expected enough to measure with')
    return next.value
  }
}
