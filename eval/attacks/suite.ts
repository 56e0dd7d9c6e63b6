/** One run over some cases: worlds are started when the first case needs them, and everything is ended at the end. */

import { runCase } from './run.ts'
import type { AttackCase, CaseResult, WorldName } from './types.ts'
import { type Scene, startScene, startWorld, type WorldOptions } from './world/start.ts'
import type { World } from './world/world.ts'

export interface SuiteOptions {
  readonly cases: readonly AttackCase[]
  /** Told of each case as it ends. */
  readonly onResult?: (result: CaseResult, attack: AttackCase) => void
  /** Shared with other suites; otherwise one is started and ended here. */
  readonly scene?: Scene
  readonly options?: WorldOptions
}

export async function runSuite(suite: SuiteOptions): Promise<readonly CaseResult[]> {
  const { cases, onResult, options } = suite
  const scene = suite.scene ?? (await startScene())
  const worlds = new Map<WorldName, World>()
  const results: CaseResult[] = []
  try {
    for (const attack of cases) {
      const name = attack.world ?? 'main'
      const world = worlds.get(name) ?? (await startWorld(scene, name, options))
      worlds.set(name, world)
      const result = await runCase(attack, world)
      results.push(result)
      onResult?.(result, attack)
    }
    return results
  } finally {
    for (const world of worlds.values()) await world.close()
    if (suite.scene === undefined) await scene.close()
  }
}
