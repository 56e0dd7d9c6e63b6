/**
 * What the gateway says to itself. On the wire every refusal by checks 1 and 2 is one and the same 401, on purpose;
 * an evaluation wants to know which check it was. So the checks and the ledger are wrapped, without changing a word of
 * what they answer, and the last refusal is kept.
 */
import type { DenialCode } from '../../../runtime/core/codes.ts'
import type { CommandName, Commands, Ledger } from '../../../runtime/core/ledger.ts'
import type { Check } from '../../../runtime/gateway/pipeline.ts'

export interface Watch {
  /** Since the last `reset`; undefined when nothing was refused. */
  readonly code: DenialCode | undefined
  /** How often a verdict was recorded with this code since the world began. */
  count(code: DenialCode): number
  reset(): void
  checks(list: readonly Check[]): readonly Check[]
  ledger(inner: Ledger): Ledger
}

export function createWatch(): Watch {
  const counts = new Map<DenialCode, number>()
  let last: DenialCode | undefined
  const note = (code: DenialCode) => {
    last = code
    counts.set(code, (counts.get(code) ?? 0) + 1)
  }
  return {
    get code() {
      return last
    },
    count: (code) => counts.get(code) ?? 0,
    reset: () => {
      last = undefined
    },
    checks: (list) =>
      list.map(({ name, judge }) => ({
        name,
        judge: (attempt, facts) => {
          const judgement = judge(attempt, facts)
          if (typeof judgement === 'object') note(judgement.code)
          return judgement
        },
      })),
    ledger: (inner) => watchLedger(inner, note),
  }
}

function watchLedger(inner: Ledger, note: (code: DenialCode) => void): Ledger {
  const execute = async <K extends CommandName>(
    name: K,
    input: Commands[K]['input'],
  ): Promise<Commands[K]['result']> => {
    const result = await inner.execute(name, input)
    if (!result.ok && result.code === 'proof_replayed') note('proof_replayed')
    else if (name === 'refuse') note((input as Commands['refuse']['input']).denial.code)
    return result
  }
  return new Proxy(inner, {
    get: (target, key) => {
      if (key === 'execute') return execute
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
