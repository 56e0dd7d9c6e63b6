/**
 * What each check is worth: the same gateway with one of the nine replaced by a pass, and the cases that name that check.
 * Either some case then goes another way than it must (a wrong code is another way), or what else stops them all is
 * written here, and the run shows that it does. The product has no switch for this: the nine are handed to the
 * composition, and only an evaluation hands it others.
 */
import { CHECKS, type CheckName } from '../../runtime/core/codes.ts'
import { CHECK_LIST, type Check } from '../../runtime/gateway/pipeline.ts'
import { CASES } from './cases/all.ts'
import { runSuite } from './suite.ts'
import type { CaseResult } from './types.ts'
import type { Scene } from './world/start.ts'

/** For checks without which every case is still stopped, with the same code: what stops it. */
const STOPPED_ANYWAY: { readonly [name in CheckName]?: string } = {
  shape:
    'the request has no typed body without having been read strictly, so nothing behind the check can be reached; the gateway ends it with the code that the reader gave',
}

export interface Ablation {
  readonly check: CheckName
  readonly cases: number
  /** Cases that went another way than they must; `moneyMoved` where the rail’s book shows it. */
  readonly wrong: readonly {
    readonly id: string
    readonly why: string
    readonly moneyMoved: boolean
  }[]
  readonly stoppedAnyway?: string
  /** Whether the check is shown to matter, or the sentence to be true. */
  readonly ok: boolean
}

const without = (name: CheckName): readonly Check[] =>
  CHECK_LIST.map((check) => (check.name === name ? { name, judge: () => undefined } : check))

export const ABLATED: readonly CheckName[] = CHECKS.map(({ name }) => name)

export async function ablate(check: CheckName, scene: Scene): Promise<Ablation> {
  const cases = CASES.filter(({ guards }) => guards === check)
  const results = await runSuite({ cases, scene, options: { checks: without(check) } })
  const wrong = results.flatMap(wrongOf)
  const stoppedAnyway = STOPPED_ANYWAY[check]
  const isStopped = wrong.length === 0 && stoppedAnyway !== undefined && cases.length > 0
  return {
    check,
    cases: cases.length,
    wrong,
    ...(stoppedAnyway === undefined ? {} : { stoppedAnyway }),
    ok: stoppedAnyway === undefined ? wrong.length > 0 : isStopped,
  }
}

const wrongOf = ({ id, why, moneyWrong = false }: CaseResult) =>
  why === undefined ? [] : [{ id, why, moneyMoved: moneyWrong }]
