/**
 * A small world to run a gateway in: a rail and the storefront as processes of their own with books
 * of their own, a principal with a fresh key, and a configuration that names them. The demo, `headgate start`, the
 * system tests and the attack runner all start from here. It is for one machine and play money only.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import type { ConfigFile } from '../config.ts'
import { freshId } from '../core/ids.ts'
import { parseJson } from '../core/json.ts'
import { signJws } from '../core/jws.ts'
import {
  jwksSchema,
  type PrivateJwk,
  privateJwkSchema,
  privateKeyOf,
  publicJwkOf,
} from '../core/keys.ts'
import type { mandateSchema } from '../core/mandate.ts'
import { type Clock, nowSeconds } from '../core/time.ts'
import type { Secret } from '../secrets/secret.ts'
import { type Child, startChild } from './child.ts'
import { newPrivateJwk, readOperatorToken } from './data-dir.ts'
import { Failure } from './failure.ts'
import { type WorldModels, withoutModels } from './world-models.ts'
import { type RailName, startRail, type WorldRail } from './world-rails.ts'

const ROOT = join(import.meta.dirname, '../..')
const STOREFRONT = join(ROOT, 'merchant/main.ts')
const START = join(ROOT, 'runtime/start.mjs')

export const WORLD_PRINCIPAL = 'demo-principal'
export const WORLD_GATEWAY = 'headgate.demo'

const listedMerchant = z.object({
  id: z.string(),
  name: z.string(),
  payee: z.string(),
  url: z.string(),
  jwks: jwksSchema,
  behaviour: z.string(),
})

const storefrontReady = z.object({ url: z.string(), merchants: z.array(listedMerchant) })
const gatewayReady = z.object({ url: z.string(), local: z.string(), pid: z.number() })

/** One shop of the storefront; `behaviour` is `honest` or how it lies. */
export type WorldMerchant = z.infer<typeof listedMerchant>

type MandateClaims = z.input<typeof mandateSchema>

/** Claims of a mandate; the task is the one that there is no usual value for. */
export type WorldClaims = { readonly task: string } & {
  readonly [claim in keyof MandateClaims]?: MandateClaims[claim] | undefined
}

/** The outside of a gateway: rail, shops and principal. */
export interface Outside {
  readonly dir: string
  readonly rail: WorldRail
  readonly models: WorldModels
  readonly merchants: readonly WorldMerchant[]
  readonly principal: { readonly id: string; readonly key: PrivateJwk }
  readonly config: ConfigFile
  /** Every variable that a gateway in a process of its own is given. */
  readonly env: Readonly<Record<string, string>>
  /** A mandate signed by the principal for this gateway; claims given replace the usual ones. */
  sign(claims: WorldClaims): string
  close(): Promise<void>
}

export interface OutsideOptions {
  readonly dir: string
  /** Where the gateway will listen on 127.0.0.1. */
  readonly port: number
  readonly clock: Clock
  /** What moves its money; the simulated rail if absent. */
  readonly rail?: RailName
  /** Starts what its agents think with, and may write below the folder. The scripted engine if absent. */
  readonly models?: (dir: string) => Promise<WorldModels>
  /** A catalogue file instead of the built-in one. */
  readonly catalogue?: string
  /** Parts of the configuration to replace: policy, monitor, listen, reconcile. */
  readonly config?: Partial<ConfigFile>
}

export async function startOutside(options: OutsideOptions): Promise<Outside> {
  const { dir, port, clock } = options
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const children: Pick<Child<unknown>, 'stop'>[] = []
  const close = async () => {
    await Promise.all(children.splice(0).map((child) => child.stop()))
  }
  try {
    const models = (await options.models?.(dir)) ?? withoutModels('scripted')
    children.push(models)
    const [rail, storefront] = await startBoth(
      startRail(options.rail ?? 'simulated', dir, `http://127.0.0.1:${port}`),
      startStorefront(dir, port, options.catalogue),
      children,
    )
    const principal = { id: WORLD_PRINCIPAL, key: ownKey(join(dir, 'principal.jwk')) }
    const { merchants } = storefront.ready
    const { engine } = models
    const config = configOf({ ...options, rail: rail.ready, merchants, principal, engine })
    const env = { ...rail.ready.env, ...models.env }
    const sign: Outside['sign'] = (claims) =>
      signMandate(principal.key, config, claims, nowSeconds(clock))
    return { dir, rail: rail.ready, models, merchants, principal, config, env, sign, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Both at once; whichever started is in `children` even if the other did not. */
async function startBoth<A, B>(
  first: Promise<Child<A>>,
  second: Promise<Child<B>>,
  children: Pick<Child<unknown>, 'stop'>[],
): Promise<[Child<A>, Child<B>]> {
  for (const each of [first, second]) each.then((child) => children.push(child)).catch(() => {})
  await Promise.allSettled([first, second])
  return [await first, await second]
}

const startStorefront = (dir: string, port: number, catalogue: string | undefined) =>
  startChild({
    name: 'the storefront',
    file: STOREFRONT,
    args: [
      '--data',
      join(dir, 'storefront'),
      '--gateway-id',
      WORLD_GATEWAY,
      '--gateway-jwks',
      `http://127.0.0.1:${port}/.well-known/jwks.json`,
      ...(catalogue === undefined ? [] : ['--catalogue', catalogue]),
    ],
    log: join(dir, 'storefront.log'),
    ready: storefrontReady,
  })

/** The principal's key of this world: made once, kept beside the rest. */
function ownKey(file: string): PrivateJwk {
  if (!existsSync(file)) {
    writeFileSync(file, `${JSON.stringify(newPrivateJwk())}\n`, { mode: 0o600, flag: 'wx' })
  }
  return privateJwkSchema.parse(parseJson(readFileSync(file)))
}

interface ConfigParts extends Pick<OutsideOptions, 'port' | 'config'> {
  readonly rail: WorldRail
  readonly merchants: readonly WorldMerchant[]
  readonly principal: Outside['principal']
  readonly engine: WorldModels['engine']
}

function configOf({ port, rail, merchants, principal, engine, config }: ConfigParts): ConfigFile {
  return {
    organisation: 'demo',
    gateway: { id: WORLD_GATEWAY, url: `http://127.0.0.1:${port}` },
    principals: [{ id: principal.id, keys: [publicJwkOf(principal.key)] }],
    payees: merchants.map(({ id, name }, index) => ({
      id,
      name,
      accounts: { [rail.name]: rail.accountOf(id, index) },
    })),
    merchants: merchants.map(({ id, url, jwks }) => ({ id, url, jwks })),
    rail: rail.config,
    engine,
    listen: { host: '127.0.0.1', port },
    ...config,
  }
}

/** Usual limits, an hour to live and every shop allowed, unless `claims` says otherwise. */
function signMandate(
  key: PrivateJwk,
  config: ConfigFile,
  claims: WorldClaims,
  now: number,
): string {
  const given = Object.entries(claims).filter(([, value]) => value !== undefined)
  const usual = {
    iss: WORLD_PRINCIPAL,
    aud: config.gateway.id,
    jti: freshId(),
    iat: now,
    exp: now + 3600,
    currency: 'INR',
    ceiling: 5_000_000,
    payees: config.payees.map(({ id }) => id).slice(0, 32),
    limits: { depth: 6, fanOut: 32, nodes: 400 },
  }
  return signJws({
    typ: 'mandate+jwt',
    key: privateKeyOf(key),
    claims: { ...usual, ...Object.fromEntries(given) },
    ...(key.kid === undefined ? {} : { kid: key.kid }),
  })
}

/** A port of this machine that was free a moment ago. */
export const freePort = (): Promise<number> => listenOnce(0, '127.0.0.1')

/** Throws what listening would throw, `EADDRINUSE` when somebody has the port. */
export async function assertPortFree(port: number, host = '127.0.0.1'): Promise<void> {
  await listenOnce(port, host)
}

async function listenOnce(port: number, host: string): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve)
  })
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Failure('internal', 'no port')
  return address.port
}

/** A gateway as a process of its own. */
export interface WorldGateway {
  /** Its public URL, which proofs are signed for. */
  readonly url: string
  readonly dataDir: string
  readonly operatorToken: Secret
  readonly pid: number
  /** Ends it without warning, as a crash would. */
  kill(): Promise<void>
  /** Ends it politely. */
  stop(): Promise<void>
  /** Starts it again on the same data and port, however it ended. */
  restart(): Promise<void>
  /** Once it is stopped: its exit code, and the end of what it complained of. */
  ended: Child<unknown>['ended']
}

export interface World extends Outside {
  readonly gateway: WorldGateway
  /** What the gateway wrote to its operator’s log last; empty when nothing broke. */
  complaints(): string
}

export interface WorldOptions extends Partial<OutsideOptions> {
  readonly clock: Clock
  /** A program to start in the place of `headgate serve`; it is given the same arguments. */
  readonly entry?: string
  /** More arguments for it. */
  readonly args?: readonly string[]
}

/** Starts everything. Without `dir` it lives in a temporary folder that `close` removes. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'headgate-'))
  const port = options.port ?? (await freePort())
  const cleanUp = () => {
    if (options.dir === undefined) rmSync(dir, { recursive: true, force: true })
  }
  let outside: Outside | undefined
  try {
    outside = await startOutside({ ...options, dir, port })
    const gateway = await startGateway(outside, options)
    const { close } = outside
    return {
      ...outside,
      gateway,
      complaints: () => tailOf(join(dir, 'gateway.log')),
      close: async () => {
        await gateway.stop()
        await close()
        cleanUp()
      },
    }
  } catch (error) {
    await outside?.close()
    cleanUp()
    throw error
  }
}

const TAIL_CHARS = 4_000

const tailOf = (file: string): string =>
  existsSync(file) ? readFileSync(file, 'utf8').slice(-TAIL_CHARS) : ''

async function startGateway(
  outside: Outside,
  { entry = START, args = [] }: Pick<WorldOptions, 'entry' | 'args'>,
): Promise<WorldGateway> {
  const dataDir = join(outside.dir, 'gateway')
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'headgate.json')
  writeFileSync(file, `${JSON.stringify(outside.config, null, 2)}\n`, { mode: 0o600 })
  const start = () =>
    startChild({
      name: 'the gateway',
      file: entry,
      args: ['serve', '--data', dataDir, '--config', file, '--json', ...args],
      env: outside.env,
      log: join(outside.dir, 'gateway.log'),
      ready: gatewayReady,
    })
  let child = await start()
  return {
    url: outside.config.gateway.url,
    dataDir,
    operatorToken: readOperatorToken(dataDir),
    get pid() {
      return child.pid
    },
    kill: () => child.stop('SIGKILL'),
    stop: () => child.stop(),
    restart: async () => {
      await child.stop()
      child = await start()
    },
    ended: () => child.ended(),
  }
}
