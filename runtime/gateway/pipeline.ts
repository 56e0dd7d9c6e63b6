/**
 * The nine checks as one ordered list, and the walk through it. The order is public: identity before authority before
 * money, cheap before costly. The first refusal decides and nothing after it is asked. Facts are gathered between
 * the steps by whoever walks; nothing here reads a store, a clock's meaning or a network.
 */
import {
  CHECKS,
  type CheckName,
  type CheckResult,
  type CheckStatus,
  CODES,
  type Denial,
} from '../core/codes.ts'
import type { Clock } from '../core/time.ts'
import type { Attempt } from './attempt.ts'
import { shape } from './checks/01-shape.ts'
import { authenticity } from './checks/02-authenticity.ts'
import { standing } from './checks/03-standing.ts'
import { depth } from './checks/04-depth.ts'
import { capability } from './checks/05-capability.ts'
import { quote } from './checks/06-quote.ts'
import { policy } from './checks/07-policy.ts'
import { funds } from './checks/08-funds.ts'
import { monitor } from './checks/09-monitor.ts'
import type { Facts, Judgement } from './facts.ts'

export interface Check {
  readonly name: CheckName
  /** Pure: no I/O and no clock. */
  readonly judge: (attempt: Attempt, facts: Facts) => Judgement
}

/** The checks in their public order. */
export const CHECK_LIST: readonly Check[] = [
  { name: 'shape', judge: shape },
  { name: 'authenticity', judge: authenticity },
  { name: 'standing', judge: standing },
  { name: 'depth', judge: depth },
  { name: 'capability', judge: capability },
  { name: 'quote', judge: quote },
  { name: 'policy', judge: policy },
  { name: 'funds', judge: funds },
  { name: 'monitor', judge: monitor },
]

/** Throws unless `checks` are nine with the public names in the public order. */
export function assertNine(checks: readonly Check[]): void {
  const isNine =
    checks.length === CHECKS.length && CHECKS.every(({ name }, i) => checks[i]?.name === name)
  if (!isNine) throw new TypeError('expected the nine checks in their public order')
}

/** One attempt's way through the list. */
export class Trial {
  readonly #checks: readonly Check[]
  readonly #clock: Clock
  readonly #results: CheckResult[] = []
  #sinceMs: number

  constructor(checks: readonly Check[], clock: Clock) {
    this.#checks = checks
    this.#clock = clock
    this.#sinceMs = clock.nowMs()
  }

  /** Asks the checks that were not asked yet, up to and including `through`; the first refusal ends the walk. */
  judge(through: CheckName, attempt: Attempt, facts: Facts): Denial | undefined {
    while (this.#results.at(-1)?.name !== through) {
      const n = this.#results.length + 1
      const check = this.#checks[n - 1]
      if (check === undefined) return undefined
      const judgement = check.judge(attempt, facts)
      if (typeof judgement === 'object') return this.refuse(judgement)
      const status = judgement ?? 'passed'
      this.#results.push({ n, name: check.name, status, ms: this.#lap() })
    }
    return undefined
  }

  /** Writes a refusal into the record, at the check that its code belongs to: a later look may overturn an earlier one. */
  refuse(denial: Denial): Denial {
    const name = CODES[denial.code].check
    const n = CHECKS.findIndex((check) => check.name === name) + 1
    const status = denial.verdict === 'hold' ? 'held' : 'failed'
    this.#results.splice(n - 1, CHECKS.length, { n, name, status, ms: this.#lap() })
    return denial
  }

  /** All nine lines; `ahead` names what those not reached yet will be once the write that carries them is done. */
  results(ahead: { readonly [name in CheckName]?: CheckStatus } = {}): readonly CheckResult[] {
    return CHECKS.map(
      ({ n, name }) =>
        this.#results.find((result) => result.n === n) ?? {
          n,
          name,
          status: ahead[name] ?? 'not-reached',
          ms: 0,
        },
    )
  }

  #lap(): number {
    const nowMs = this.#clock.nowMs()
    const ms = Math.round(nowMs - this.#sinceMs)
    this.#sinceMs = nowMs
    return ms
  }
}
