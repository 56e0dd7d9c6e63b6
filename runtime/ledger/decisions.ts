/** The transition of a decision: what a payment would have been answered, in the leaf's log, and nothing of money. */
import type { Decided } from '../core/decided.ts'
import { eventWord } from '../core/events.ts'
import type { Commands } from '../core/ledger.ts'
import { ZERO } from '../core/money.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { counterOf, isAtBound } from './payments.ts'
import { consumeProof, isOwnProof, proofKeys, refused, statuses, trailOf } from './rules.ts'

export function* decided(input: Decided, draft: Draft): Steps<Commands['decided']['result']> {
  const { node, run, payment, denial, checks, count, proof, now } = input
  const counter = keys.counter(count.key)
  yield [keys.account(node), counter, ...proofKeys(proof, now)]
  const account = draft.get(keys.account(node))
  if (account === undefined) return refused('not_found')
  if (account.run !== run) return refused('conflict')
  if (isOwnProof(draft, proof)) return { ok: true }
  const before = counterOf(draft, count.key)
  if (isAtBound(before, count, ZERO)) return refused('counter', count.key)
  const refusal = consumeProof(draft, proof)
  if (refusal) return refusal
  draft.put(counter, { ...before, count: before.count + 1 })
  draft.append(node, 'decided', {
    payment,
    verdict: denial?.verdict ?? 'allow',
    ...(denial === undefined ? {} : { code: denial.code }),
    ...(denial?.rule === undefined ? {} : { rule: eventWord(denial.rule) }),
    checks: statuses(checks),
    ...trailOf(input.provenance),
  })
  return { ok: true }
}
