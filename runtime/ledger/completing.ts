/**
 * The transition before what a payer has agreed to is taken. It may have been agreed to long after the submit, so everything
 * above the payment is judged once more, in the order of the store: after a freeze or revocation was acknowledged nothing
 * below is taken. The standings that were read are written down, once for each way in which they stood, and each time when it
 * was: from then on the rail may be taking it, whatever is heard of that.
 */
import type { Complete } from '../core/ending.ts'
import type { Commands } from '../core/ledger.ts'
import type { PaymentRecord } from '../core/records.ts'
import { seconds } from '../core/time.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import {
  assertNotHalted,
  judgeStanding,
  pathKeys,
  refused,
  sameList,
  standingVersions,
} from './rules.ts'

export function* complete(input: Complete, draft: Draft): Steps<Commands['complete']['result']> {
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  if (payment.state !== 'unknown' || payment.awaits === undefined) return refused('conflict')
  yield [keys.node(payment.node), keys.run(payment.run), keys.account(payment.node)]
  const { path, expiresAtSeconds } = draft.need(keys.node(payment.node))
  yield pathKeys(path)
  const { state } = draft.need(keys.run(payment.run))
  assertNotHalted(draft, payment.run)
  const standing = judgeStanding(draft, path)
  if (standing) return standing
  if (state !== 'running') return refused('run_closed')
  if (expiresAtSeconds <= input.now) return refused('expired')
  if (payment.awaits !== 'capture') return { ok: true, payment }
  const standings = standingVersions(draft, path)
  const isNoted = sameList(payment.completing ?? [], standings)
  const completingAtSeconds = seconds(Math.max(input.now, payment.completingAtSeconds ?? 0))
  if (isNoted && payment.completingAtSeconds === completingAtSeconds) return { ok: true, payment }
  const completing: PaymentRecord = { ...payment, completing: standings, completingAtSeconds }
  draft.put(keys.payment(payment.id), completing)
  if (!isNoted) draft.append(payment.node, 'completing', { payment: payment.id, standings })
  return { ok: true, payment: completing }
}
