/**
 * The gateway of one seed: the product's own composition with its own server over a store of its own in a temporary folder,
 * which outlives it. It can be stopped and started again, or lose its store in the middle of whatever it does, as a process
 * does that is killed. Time is ours: nothing waits for it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compose, type Headgate } from '../../../runtime/compose.ts'
import { type ConfigFile, parseConfig } from '../../../runtime/config.ts'
import { steadyClock, systemClock } from '../../../runtime/core/clock.ts'
import type { TokenEngine } from '../../../runtime/core/engine.ts'
import { freshId } from '../../../runtime/core/ids.ts'
import { rawPublicKey } from '../../../runtime/core/keys.ts'
import type { Rail } from '../../../runtime/core/rail.ts'
import type { Clock } from '../../../runtime/core/time.ts'
import { openSqliteLedger } from '../../../runtime/ledger/sqlite.ts'
import { Secret } from '../../../runtime/secrets/secret.ts'
import { createTokenEngine } from '../../../runtime/tokens/pool.ts'
import { withoutThread } from '../../../tests/support/sqlite.ts'
import { newKey } from '../forge/tokens.ts'
import { createRailDesk } from '../world/rail-desk.ts'
import type { Shop, World } from '../world/world.ts'
import type { HostileRail } from './rails.ts'

const ROOT = { id: 1, key: newKey() }
const ORGANISATION = 'hostile'
const GATEWAY_ID = 'headgate.hostile'

/** One for all seeds: it knows keys and nothing of payments. */
export const startEngine = (): Promise<TokenEngine> =>
  createTokenEngine({
    rootKeys: { current: { id: ROOT.id, privateKey: ROOT.key }, others: [] },
    workers: 1,
    clock: systemClock(),
  })

export interface HostileGateway {
  /** As cases of the evaluation have it. */
  readonly world: World
  readonly headgate: Headgate
  /** The rail's clock and ours are the same. */
  advance(seconds: number): void
  /** Stops in good order and starts again on the same store. */
  restart(): Promise<void>
  /** The store is gone in mid-call, the process after it; another starts on the same store. */
  kill(): Promise<void>
  close(): Promise<void>
}

export interface HostileGatewayOptions {
  readonly engine: TokenEngine
  readonly rail: HostileRail
  /** For each start anew, as a process makes it. */
  readonly adapter: (clock: Clock) => Rail
}

const unavailable = (): never => {
  throw new Error('expected no such need in this world')
}

export async function startHostileGateway(options: HostileGatewayOptions): Promise<HostileGateway> {
  const { engine, rail } = options
  const dir = mkdtempSync(join(tmpdir(), 'headgate-hostile-'))
  const { nowMs } = systemClock()
  let offsetMs = 0
  const wall = () => nowMs() + offsetMs
  const [shop, other] = [shopOf('shop', rail.accounts[0]), shopOf('stall', rail.accounts[1])]
  const principal = { id: 'ada', kid: 'ada-1', key: newKey() }
  const operatorToken = freshId() + freshId()
  const configFile = configOf(rail, { shops: [shop, other], principal })
  const log: string[] = []
  const signing = { kid: 'gateway-1', key: newKey() }
  const runtimeSecret = Buffer.from(freshId() + freshId())

  const start = async (): Promise<Headgate> => {
    const clock = steadyClock(wall)
    const path = join(dir, 'store.db')
    const ledger = await openSqliteLedger({
      path,
      organisation: ORGANISATION,
      spawn: withoutThread,
    })
    return compose({
      config: parseConfig(JSON.stringify(configFile)),
      secrets: {
        root: ROOT,
        runtimeSecret,
        signing,
        operatorToken: new Secret(operatorToken),
      },
      log: ({ code, message }) => void log.push(`${code} ${message}`),
      overrides: {
        clock,
        ledger,
        engine: { ...engine, close: async () => undefined },
        rail: options.adapter(clock),
        monitor: 'none',
        manual: true,
      },
    })
  }

  let headgate = await start()
  const gone: Headgate[] = []
  const world = worldOf({
    current: () => headgate,
    wall,
    push: (ms) => {
      offsetMs += ms
    },
    shops: [shop, other],
    secrets: [operatorToken, ...rail.secrets],
    log,
    engine,
    operatorToken,
    configFile,
    principal,
  })
  return {
    world,
    get headgate() {
      return headgate
    },
    advance: (seconds) => {
      offsetMs += seconds * 1000
      rail.advance(seconds)
    },
    restart: async () => {
      await headgate.close()
      headgate = await start()
    },
    kill: async () => {
      gone.push(headgate)
      await headgate.ledger.close()
      headgate = await start()
    },
    close: async () => {
      await headgate.close()
      for (const each of gone) await each.close().catch(() => undefined)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

interface Inside
  extends Pick<
    World,
    'shops' | 'secrets' | 'log' | 'engine' | 'operatorToken' | 'configFile' | 'principal'
  > {
  readonly current: () => Headgate
  readonly wall: () => number
  readonly push: (ms: number) => void
}

/** As cases have it; of what belongs to other worlds there is none. */
function worldOf({ current, wall, push, ...inside }: Inside): World {
  const [, other] = inside.shops
  return {
    ...inside,
    name: 'late',
    get origin() {
      return current().local
    },
    get url() {
      return current().url
    },
    gatewayId: GATEWAY_ID,
    stranger: other,
    market: [],
    // Of the simulated rail, of which there is none.
    desk: createRailDesk('http://127.0.0.1:9', 'none'),
    railKey: '',
    refusals: () => current().gateway.pendingCounts(),
    root: ROOT,
    get ledger() {
      return current().ledger
    },
    editStore: unavailable,
    nowMs: wall,
    rotateRootKey: unavailable,
    pushClock: push,
    newLoginCode: unavailable,
    close: unavailable,
  }
}

function shopOf(id: string, account: string | undefined): Shop {
  if (account === undefined) throw new Error('expected two accounts of the stand-in')
  return { id, account, kid: `${id}-1`, key: newKey() }
}

function configOf(
  rail: HostileRail,
  { shops, principal }: { shops: readonly Shop[]; principal: World['principal'] },
): ConfigFile {
  const jwk = ({ kid, key }: { kid: string; key: Shop['key'] }) =>
    ({ kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(key), kid }) as const
  return {
    organisation: ORGANISATION,
    gateway: { id: GATEWAY_ID, url: 'http://headgate.localhost:8080' },
    principals: [{ id: principal.id, keys: [jwk(principal)] }],
    payees: shops.map(({ id, account }) => ({ id, name: id, accounts: { [rail.name]: account } })),
    merchants: shops.map((shop) => ({
      id: shop.id,
      // Nobody is there: its quotes come from the runner.
      url: 'http://127.0.0.1:9',
      jwks: { keys: [jwk(shop)] },
    })),
    rail: rail.config,
    policy: { rules: [] },
    listen: { host: '127.0.0.1', port: 0 },
  }
}
