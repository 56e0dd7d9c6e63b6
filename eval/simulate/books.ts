/** The end of a history: whether it has come to rest, and what the log, the store and the rail's book then say. */
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import type { PaymentState } from '../../runtime/core/records.ts'
import type { Paid } from './reference.ts'
import type { World } from './world.ts'

const ENDED: readonly PaymentState[] = ['settled', 'released']

/** Nothing waits any more: every payment has ended, all that came back is noted, and every run is sealed. */
export async function isAtRest(world: World): Promise<boolean> {
  const { claims, rail, store } = world
  const payments = [...claims.reference.payments.values()]
  if (rail.pending > 0 || !payments.every(({ state }) => ENDED.includes(state))) return false
  const isNoted = (paid: Paid) =>
    paid.state !== 'settled' ||
    claims.late.byPeople.has(paid.id) ||
    paid.reversed === rail.back(paid.railKey)
  if (!payments.every(isNoted)) return false
  if (claims.drawing.open.length > 0) return false
  if ([...claims.late.refunds.values()].some(({ state }) => state === 'open')) return false
  const runs = await store.ledger.runs({ limit: 50 })
  return runs.every(({ seal }) => seal !== undefined)
}

/** For people: what is still not at rest. */
export async function unrest({ store, claims }: World): Promise<string> {
  const runs = await store.ledger.runs({ limit: 50 })
  const open = runs
    .filter(({ seal }) => seal === undefined)
    .map(({ id, state }) => `${id} ${state}`)
  const payments = [...claims.reference.payments.values()]
  const waiting = payments.filter(({ state }) => !ENDED.includes(state))
  return [
    ...open,
    ...claims.drawing.open,
    ...waiting.map(({ id, state }) => `${id} ${state}`),
  ].join(', ')
}

/** Compares everything with everything. */
export async function closeBooks(world: World): Promise<void> {
  world.counts.payments = world.claims.reference.payments.size
  await compareStore(world, await balancesInLog(world))
  comparePayments(world)
}

/** The balances that the log states last for each stream; the log itself must verify. */
async function balancesInLog(world: World): Promise<ReadonlyMap<string, Record<string, number>>> {
  const lines: string[] = []
  const last = new Map<string, string>()
  for await (const line of exportLog(world.store.ledger)) {
    lines.push(line)
    const { body } = JSON.parse(line) as { body: string }
    last.set(/"stream":"([^"]+)","type":/.exec(body)?.[1] ?? '', body)
  }
  const verdict = verifyExport(lines)
  if (!verdict.ok) world.fail(`the log does not verify: ${verdict.broken?.why}`)
  return new Map([...last].map(([stream, body]) => [stream, JSON.parse(body).balances ?? {}]))
}

async function compareStore(
  world: World,
  stated: ReadonlyMap<string, Record<string, number>>,
): Promise<void> {
  const { claims, store } = world
  for (const [id, place] of claims.reference.places) {
    const account = await store.ledger.account(id)
    if (account === undefined) return world.fail('an account is missing')
    claims.compareAccount(account, place)
    claims.compareStanding((await store.ledger.standing(id)).state, place)
    const { ceiling, available, reserved, spent, allotted } = account
    const last = stated.get(id) ?? {}
    const isStated = Object.entries({ ceiling, available, reserved, spent, allotted }).every(
      ([field, amount]) => last[field] === amount,
    )
    if (!isStated) world.fail('the log states other balances')
    const isHome = reserved === 0 && (place.path.length === 1 || available === 0)
    if (!isHome) world.fail('money did not come home')
  }
}

/** The rail's own total is what was settled less what came back, but for what people have decided against it. */
function comparePayments(world: World): void {
  const {
    reference,
    late: { byPeople },
  } = world.claims
  const totals = world.rail.totals()
  for (const { id, settled, reversed } of reference.payments.values()) {
    const isSame = (totals.get(id) ?? 0) === settled - reversed
    if (byPeople.has(id) && !isSame) world.count('contradicted')
    else if (!isSame) world.fail('the rail’s total is not what was settled less what came back')
  }
  if (!world.rail.holds.isEmpty) world.fail('the rail holds money that nobody gives back')
  for (const [id] of totals)
    if (!reference.payments.has(id)) world.fail('the rail moved money of no payment')
}
