/**
 * One run over some cases: worlds are started when the first case needs them, and everything is ended at the end. Before
 * a world ends, its whole log is exported and verified as an auditor would, after all that was done to it.
 */
import { verifyExport } from '../../runtime/audit/verify.ts'
import { runCase } from './run.ts'
import { type AttackCase, type CaseResult, WORLDS, type WorldName } from './types.ts'
import { Bench } from './world/bench.ts'
import { type Scene, startScene, startWorld, type WorldOptions } from './world/start.ts'
import type { World } from './world/world.ts'

export interface SuiteOptions {
  readonly cases: readonly AttackCase[]
  /** Told of each case as it ends. */
  readonly onResult?: (result: CaseResult) => void
  /** Shared with other suites; otherwise one is started and ended here. */
  readonly scene?: Scene
  readonly options?: WorldOptions
}

export async function runSuite(suite: SuiteOptions): Promise<readonly CaseResult[]> {
  const scene = suite.scene ?? (await startScene())
  const results: CaseResult[] = []
  const add = (result: CaseResult) => {
    results.push(result)
    suite.onResult?.(result)
  }
  try {
    for (const name of WORLDS) {
      const cases = suite.cases.filter((attack) => (attack.world ?? 'main') === name)
      if (cases.length > 0) await runIn(scene, name, { ...suite, cases }, add)
    }
    return results
  } finally {
    if (suite.scene === undefined) await scene.close()
  }
}

async function runIn(
  scene: Scene,
  name: WorldName,
  { cases, options }: SuiteOptions,
  add: (result: CaseResult) => void,
): Promise<void> {
  const world = await startWorld(scene, name, options)
  try {
    for (const attack of cases) add(await runCase(attack, world))
    add(await verifyLog(world))
  } finally {
    await world.close()
  }
}

async function verifyLog(world: World): Promise<CaseResult> {
  const started = performance.now()
  const answer = await new Bench(world).operator('/audit')
  const { ok, broken } = verifyExport(answer.text.split('\n').filter((line) => line !== ''))
  return {
    id: `log-${world.name}`,
    layer: 'ledger',
    ms: Math.round(performance.now() - started),
    ...(ok ? {} : { why: `the log does not verify: ${broken?.stream} ${broken?.why}` }),
  }
}
