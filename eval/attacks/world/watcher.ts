/**
 * A model that watches payments: the product's own monitor, configured as an operator would, over a stand-in for its
 * provider. The stand-in can be scripted to fail as that provider fails, and to think whatever a case has it think.
 */
import type { ConfigFile } from '../../../runtime/config.ts'
import type { Credentials } from '../../../runtime/secrets/resolve.ts'
import { Secret } from '../../../runtime/secrets/secret.ts'
import { startGeminiStandIn } from '../../../tests/support/gemini-stand-in.ts'
import { startGroqStandIn } from '../../../tests/support/groq-stand-in.ts'
import type { ModelStandIn } from '../../../tests/support/model-stand-in.ts'
import type { WorldName } from '../types.ts'
import { LATE_MS } from './bench-monitor.ts'

export interface Watcher {
  readonly standIn: ModelStandIn
  readonly monitor: NonNullable<ConfigFile['monitor']>
  readonly credentials: Credentials
}

/** Questions that one run may ask. */
export const PER_RUN = 6
/** Of one that canaries are put to. */
export const CANARIES = { every: 2, window: 4, floorPercent: 80 } as const

/** As if there were none: a floor of nothing is always kept. */
const NO_CANARIES = { every: 10_000, window: 1_000, floorPercent: 0 }

/** Undefined in a world that no model watches. */
export async function startWatcher(name: WorldName): Promise<Watcher | undefined> {
  if (name !== 'gemini' && name !== 'groq' && name !== 'distrusted') return undefined
  const kind = name === 'groq' ? 'groq' : 'gemini'
  const standIn = await (kind === 'groq' ? startGroqStandIn : startGeminiStandIn)({
    slowMs: LATE_MS,
  })
  const key = { secret: new Secret(standIn.key), from: 'variable' } as const
  return {
    standIn,
    monitor: {
      kind,
      url: standIn.url,
      model: standIn.models[0] ?? '',
      quota: { perLeaf: 5, perRun: name === 'distrusted' ? 1_000 : PER_RUN, perHour: 5_000 },
      canaries: name === 'distrusted' ? CANARIES : NO_CANARIES,
    },
    credentials: kind === 'groq' ? { GROQ_API_KEY: key } : { GEMINI_API_KEY: key },
  }
}
