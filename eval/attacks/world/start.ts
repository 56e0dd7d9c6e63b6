/**
 * Starts what cases run in. Outside of the gateway everything is a process of its own: the simulated rail and the
 * storefront, each with its own book. A gateway is composed in this process, by the product's own composition and with
 * its own server on a loopback port, so that the evaluation can read its word on each refusal and replace one check;
 * cases talk to it over HTTP only.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { freePort, type Outside, startOutside } from '../../../runtime/cli/world.ts'
import type { Overrides } from '../../../runtime/compose.ts'
import { type ConfigFile, parseConfig } from '../../../runtime/config.ts'
import { systemClock } from '../../../runtime/core/clock.ts'
import {
  type PrivateJwk,
  privateKeyOf,
  publicJwkOf,
  rawPublicKey,
} from '../../../runtime/core/keys.ts'
import type { Check } from '../../../runtime/gateway/pipeline.ts'
import { newKey } from '../forge/tokens.ts'
import type { WorldName } from '../types.ts'
import { startAstray } from './astray.ts'
import { createBenchMonitor, MONITOR_MS } from './bench-monitor.ts'
import { createCredulousAgents } from './credulous.ts'
import { startFolderGateway } from './folder-gateway.ts'
import { createHeardRail } from './heard-rail.ts'
import { createObedient } from './obedient.ts'
import { createRailDesk, type RailDesk } from './rail-desk.ts'
import { startTalkingShops } from './talking-shops.ts'
import { startWatcher } from './watcher.ts'
import type { Shop, World } from './world.ts'

/** Everything outside of the gateway, shared by all worlds of one evaluation. */
export interface Scene {
  readonly outside: Outside
  /** Of the gateway that the shops know. */
  readonly port: number
  readonly desk: RailDesk
  readonly shops: readonly [Shop, Shop]
  readonly stranger: Shop
  readonly close: () => Promise<void>
}

function createShop(id: string): Shop {
  const key = newKey()
  return { id, account: `account-of-${id}`, kid: `${id}-1`, key }
}

export async function startScene(): Promise<Scene> {
  const dir = mkdtempSync(join(tmpdir(), 'headgate-attack-'))
  try {
    const port = await freePort()
    const outside = await startOutside({ dir, port, clock: systemClock() })
    return {
      outside,
      port,
      desk: createRailDesk(outside.rail.url, outside.rail.key.reveal()),
      shops: [createShop('eval-shop'), createShop('eval-other')],
      stranger: createShop('eval-stranger'),
      close: async () => {
        await outside.close()
        rmSync(dir, { recursive: true, force: true })
      },
    }
  } catch (error) {
    rmSync(dir, { recursive: true, force: true })
    throw error
  }
}

const jwkOf = ({ kid, key }: Shop) =>
  ({ kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(key), kid }) as const

/** What each world's operator configured; all but the named parts are the same. */
const POLICIES: { readonly [name in WorldName]: ConfigFile['policy'] } = {
  main: { rules: [] },
  monitored: { rules: [{ kind: 'deny_list', id: 'not-them', payees: ['eval-other'] }] },
  late: { rules: [] },
  heard: { rules: [] },
  astray: { rules: [] },
  funnel: { rules: [] },
  obedient: { rules: [{ kind: 'untrusted_origin', id: 'quote-from-elsewhere' }] },
  gemini: { rules: [{ kind: 'deny_list', id: 'not-them', payees: ['eval-other'] }] },
  groq: { rules: [{ kind: 'deny_list', id: 'not-them', payees: ['eval-other'] }] },
  distrusted: { rules: [] },
  ruled: {
    rules: [
      { kind: 'deny_list', id: 'no-strangers', payees: ['eval-other'] },
      { kind: 'per_payment_cap', id: 'cap', currency: 'INR', above: 50_000 },
      { kind: 'duplicate', id: 'twice' },
      { kind: 'recurring', id: 'again-and-again' },
      { kind: 'hourly_count', id: 'busy', most: 3, effect: 'hold' },
    ],
  },
}

/** What stands around one gateway, and which of it a world has. */
async function startAround({ outside, port }: Scene, name: WorldName) {
  const isTalking = RUNNING.has(name) && name !== 'funnel'
  const shops = isTalking ? await startTalkingShops(systemClock().nowMs) : undefined
  const rail = { url: outside.rail.url, apiKey: outside.rail.key.reveal() }
  return {
    // Shops ask the gateway that they know for its keys, and only runs of the funnel hand receipts over.
    port: name === 'funnel' ? port : await freePort(),
    astray: name === 'astray' ? await startAstray() : undefined,
    monitor: name === 'monitored' ? createBenchMonitor() : undefined,
    heard: name === 'heard' ? createHeardRail(rail) : undefined,
    talk: shops === undefined ? undefined : { shops, obedient: createObedient(shops) },
    watcher: await startWatcher(name),
  }
}

function configOf(
  scene: Scene,
  name: WorldName,
  { port, astray, talk, watcher }: Awaited<ReturnType<typeof startAround>>,
): ConfigFile {
  const { outside, shops, stranger } = scene
  const { config } = outside
  const talkers = talk?.shops.shops ?? []
  // Nobody is there: their quotes come from the runner.
  const mute = [...shops, stranger].map((shop) => ({ ...shop, url: 'http://127.0.0.1:9' }))
  const ours = [...mute, ...talkers]
  return {
    ...config,
    gateway: { ...config.gateway, url: `http://127.0.0.1:${port}` },
    payees: [
      ...config.payees,
      ...ours.map(({ id, account }) => ({
        id,
        name: id,
        accounts: { simulated: account, razorpay: account },
      })),
    ],
    merchants: [
      ...config.merchants,
      ...ours.map((shop) => ({
        id: shop.id,
        url: shop.url,
        jwks: { keys: [jwkOf(shop)] },
      })),
    ],
    ...(astray === undefined ? {} : { rail: { name: 'simulated', url: astray.url } }),
    policy: POLICIES[name],
    ...(watcher === undefined ? {} : { monitor: watcher.monitor }),
    listen: { host: '127.0.0.1', port },
  }
}

export interface WorldOptions {
  /** Instead of the nine: an ablation passes nine of which one lets everything through. */
  readonly checks?: readonly Check[]
}

/** A shop that refuses goes on refusing. */
const BRIEF = { tries: 3, backOffMs: 200, pauseMs: 200 }

const RUNNING: ReadonlySet<WorldName> = new Set([
  'funnel',
  'obedient',
  'gemini',
  'groq',
  'distrusted',
])

/** Short enough that a case about lateness is not late itself. */
const TIMINGS = { monitorMs: MONITOR_MS, railMs: 1_200 }

export async function startWorld(
  scene: Scene,
  name: WorldName,
  options: WorldOptions = {},
): Promise<World> {
  const { outside } = scene
  const around = await startAround(scene, name)
  const { astray, monitor, heard, talk, watcher } = around
  const configFile = configOf(scene, name, around)
  const { nowMs } = systemClock()
  let offsetMs = 0
  const wall = () => nowMs() + offsetMs
  const overrides: Overrides = {
    ...(options.checks === undefined ? {} : { checks: options.checks }),
    manual: !RUNNING.has(name),
    agents: talk?.obedient.agents ?? createCredulousAgents(outside.merchants),
    ...(talk === undefined ? {} : { bounds: BRIEF }),
    ...(monitor === undefined ? {} : { monitor }),
    ...(heard === undefined ? {} : { rail: heard.rail }),
    ...(name === 'late' || name === 'heard' || monitor || watcher ? { timings: TIMINGS } : {}),
  }
  const dir = mkdtempSync(join(outside.dir, `${name}-`))
  const config = parseConfig(JSON.stringify(configFile))
  const { key: railKey } = outside.rail
  const credentials = { ...outside.rail.credentials, ...watcher?.credentials }
  const gateway = await startFolderGateway({ dir, config, credentials, overrides, wallMs: wall })
  const { operatorToken } = gateway.data
  return {
    name,
    get origin() {
      return gateway.headgate.local
    },
    url: gateway.headgate.url,
    operatorToken: operatorToken.reveal(),
    get root() {
      return gateway.data.root
    },
    get ledger() {
      return gateway.headgate.ledger
    },
    get engine() {
      return gateway.headgate.engine
    },
    refusals: () => gateway.headgate.gateway.pendingCounts(),
    newLoginCode: () => gateway.headgate.newLoginCode().code,
    secrets: [
      operatorToken.reveal(),
      railKey.reveal(),
      ...(watcher === undefined ? [] : [watcher.standIn.key]),
    ],
    log: gateway.log,
    editStore: (sql, ...values) => {
      const db = new DatabaseSync(gateway.data.store, { timeout: 5_000 })
      try {
        db.prepare(sql).run(...values)
      } finally {
        db.close()
      }
    },
    rotateRootKey: gateway.rotateRootKey,
    gatewayId: config.gateway.id,
    configFile,
    principal: principalOf(outside.principal),
    shops: scene.shops,
    stranger: scene.stranger,
    market: outside.merchants,
    desk: scene.desk,
    railKey: railKey.reveal(),
    ...(astray === undefined ? {} : { astray }),
    ...(heard === undefined ? {} : { signature: heard.signature }),
    ...(monitor === undefined ? {} : { monitor }),
    ...(talk === undefined ? {} : { talk }),
    ...(watcher === undefined ? {} : { watcher: watcher.standIn }),
    nowMs: wall,
    pushClock: (ms) => {
      if (name !== 'late' && name !== 'heard') throw new Error('this clock is not ours')
      offsetMs += ms
    },
    close: async () => {
      await gateway.close()
      await astray?.close()
      await talk?.shops.close()
      await watcher?.standIn.close()
    },
  }
}

function principalOf({ id, key }: { id: string; key: PrivateJwk }): World['principal'] {
  const { kid } = publicJwkOf(key)
  if (kid === undefined) throw new Error('expected the principal’s key to have an id')
  return { id, kid, key: privateKeyOf(key) }
}
