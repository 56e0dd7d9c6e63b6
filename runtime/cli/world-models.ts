/**
 * The models that a play world's agents think with: the scripted engine, a provider itself where its key is set, or a
 * stand-in for it, which speaks the provider's interface on this machine and thinks with the scripted engine.
 */
import { join } from 'node:path'
import { Option } from 'commander'
import { z } from 'zod'
import type { ConfigFile } from '../config.ts'
import { engineSchema } from '../config-models.ts'
import { PROVIDER_KEYS, PROVIDERS, type Provider } from '../core/agents.ts'
import type { GivenCredentials } from '../secrets/resolve.ts'
import { startChild } from './child.ts'

const ROOT = join(import.meta.dirname, '../..')

export const ENGINE_NAMES = ['scripted', ...PROVIDERS] as const
export type EngineName = (typeof ENGINE_NAMES)[number]

export const engineOption = (what: string): Option =>
  new Option('--engine <name>', what).choices(ENGINE_NAMES)

export interface WorldModels {
  readonly engine: NonNullable<ConfigFile['engine']>
  /** What a gateway in a process of its own is given. */
  readonly env: Readonly<Record<string, string>>
  /** For a person: whose models these are; absent of the engine that is none. */
  readonly said?: string
  stop(): Promise<void>
}

const SCRIPTED: WorldModels = { engine: { kind: 'scripted' }, env: {}, stop: async () => undefined }

/** An engine without anything behind it, for where nobody is asked. */
export const withoutModels = (name: EngineName): WorldModels => ({
  ...SCRIPTED,
  engine: { kind: name },
})

/** A stand-in is started, and writes below `dir`, only where the provider's key is not given. */
export async function startModels(
  name: EngineName,
  dir: string,
  given: GivenCredentials,
): Promise<WorldModels> {
  if (name === 'scripted') return SCRIPTED
  const key = given[PROVIDER_KEYS[name]]
  return key === undefined
    ? startStandIn(name, dir)
    : {
        ...SCRIPTED,
        engine: { kind: name },
        env: { [PROVIDER_KEYS[name]]: key.value.reveal() },
        said: `${PROVIDER_KEYS[name]} is set: ${modelOf({ kind: name })} of ${name} itself is asked, and costs money`,
      }
}

const standInReady = z.object({ url: z.string(), env: z.record(z.string(), z.string()) })

async function startStandIn(name: Provider, dir: string): Promise<WorldModels> {
  const child = await startChild({
    name: `the stand-in for ${name}`,
    file: join(ROOT, `tests/support/${name}-stand-in.ts`),
    args: [],
    log: join(dir, 'models.log'),
    ready: standInReady,
  })
  const { url, env } = child.ready
  const engine = { kind: name, url }
  const said = `${PROVIDER_KEYS[name]} is not set: a stand-in for ${modelOf(engine)} of ${name} answers on this machine`
  return { engine, env, said, stop: () => child.stop() }
}

/** By its name, defaults included. */
const modelOf = (engine: z.input<typeof engineSchema>): string => {
  const parsed = engineSchema.parse(engine)
  return parsed.kind === 'scripted' ? parsed.kind : parsed.model
}
