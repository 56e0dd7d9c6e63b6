/** A composed gateway on a loopback port, its ledger in memory unless a store is configured, with a rail and a shop that only tests reach. */
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { freePort } from '../../runtime/cli/world.ts'
import { createClient } from '../../runtime/client/client.ts'
import { mintChild, readToken } from '../../runtime/client/mint.ts'
import { signProof } from '../../runtime/client/proof.ts'
import {
  type ComposeOptions,
  compose,
  type GatewaySecrets,
  type Headgate,
  type Overrides,
} from '../../runtime/compose.ts'
import { type ConfigFile, parseConfig } from '../../runtime/config.ts'
import type { BlockClaims } from '../../runtime/core/block.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import {
  allottedNodeIdOf,
  freshId,
  type NodeId,
  type RunId,
  sha256,
} from '../../runtime/core/ids.ts'
import { signJws } from '../../runtime/core/jws.ts'
import { type PublicJwk, publicJwkSchema, rawPublicKey } from '../../runtime/core/keys.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Rail } from '../../runtime/core/rail.ts'
import { later, nowSeconds, seconds } from '../../runtime/core/time.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import type { SecretGuard } from '../../runtime/secrets/guard.ts'
import { Secret } from '../../runtime/secrets/secret.ts'

export const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey

export const publicJwk = (key: KeyObject, kid: string): PublicJwk =>
  publicJwkSchema.parse({ kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(key), kid })

/** Settles everything at once and counts; `next: 'unknown'` leaves the next payment without a word. */
export function fakeRail(): Rail & {
  readonly paid: number
  readonly notes: readonly string[]
  next?: 'unknown'
} {
  let paid = 0
  const notes: string[] = []
  return {
    notes,
    name: 'simulated',
    truth: {
      lookupByReference: true,
      keyLifeSeconds: 1_000,
      visibilitySeconds: 1,
      afterSuccess: [],
    },
    async pay({ amount, currency, note }) {
      notes.push(note)
      if (this.next === 'unknown') {
        delete this.next
        return { kind: 'unknown', reason: 'lost' }
      }
      paid += 1
      return { kind: 'settled', reference: `sim_${paid}`, amount, currency }
    },
    lookup: async () => ({ kind: 'absent' }),
    ready: async () => undefined,
    get paid() {
      return paid
    },
  }
}

/** A ledger that outlives its gateway: what a data folder is to one that is started again. */
export function lasting(): Ledger {
  const ledger = createMemoryLedger({ organisation: 'test' })
  return new Proxy(ledger, {
    get: (target, name) =>
      name === 'close' ? async () => {} : Reflect.get(target, name).bind(target),
  })
}

export const PRINCIPAL = 'alice'
export const SHOP = 'shop'

export interface TestGateway {
  readonly headgate: Headgate
  readonly url: string
  readonly token: string
  readonly logged: string[]
  readonly rail: ReturnType<typeof fakeRail>
  readonly principal: KeyObject
  readonly shop: KeyObject
  readonly secrets: GatewaySecrets
  /** Claims of a mandate that would be accepted now. */
  claims(more?: object): Record<string, unknown>
  sign(claims: object, key?: KeyObject): string
  quote(more?: object): string
  fetch(path: string, init?: RequestInit): Promise<Response>
  asOperator(path: string, body?: object): Promise<Response>
  close(): Promise<void>
}

export async function startGateway(
  options: {
    overrides?: Overrides
    config?: Partial<ConfigFile>
    demo?: boolean
    /** The configured rail with its credentials and a store on a disk, in the place of fakes. */
    real?: Pick<ComposeOptions, 'credentials' | 'store' | 'checkpoints' | 'transport'>
    guard?: SecretGuard
    /** The same gateway again, with other root keys if any are given. */
    again?: TestGateway
    roots?: Partial<Pick<GatewaySecrets, 'root' | 'retiring' | 'signing'>>
  } = {},
): Promise<TestGateway> {
  const { again } = options
  const principal = again?.principal ?? newKey()
  const shop = again?.shop ?? newKey()
  const port = again === undefined ? await freePort() : Number(new URL(again.url).port)
  const url = `http://127.0.0.1:${port}`
  const secrets: GatewaySecrets = {
    ...(again?.secrets ?? {
      root: { id: 1, key: newKey() },
      runtimeSecret: randomBytes(32),
      signing: { kid: 'gateway-1', key: newKey() },
      operatorToken: new Secret(randomBytes(32).toString('base64url')),
    }),
    ...options.roots,
  }
  const token = secrets.operatorToken.reveal()
  const rail = fakeRail()
  const logged: string[] = []
  const config = parseConfig(
    JSON.stringify({
      organisation: 'test',
      gateway: { id: 'headgate.test', url },
      principals: [{ id: PRINCIPAL, keys: [publicJwk(principal, 'alice-1')] }],
      payees: [{ id: SHOP, name: 'The Shop', accounts: { simulated: 'account-of-shop' } }],
      merchants: [
        { id: SHOP, url: 'http://127.0.0.1:9', jwks: { keys: [publicJwk(shop, 'shop-1')] } },
      ],
      rail: { name: 'simulated', url: 'http://127.0.0.1:9' },
      listen: { host: '127.0.0.1', port },
      ...options.config,
    }),
  )
  const clock = systemClock()
  const claims = (more: object = {}) => {
    const now = nowSeconds(clock)
    return {
      iss: PRINCIPAL,
      aud: 'headgate.test',
      jti: freshId(),
      iat: now,
      exp: later(now, 3600),
      task: 'one lamp',
      currency: 'INR',
      ceiling: 100_000,
      payees: [SHOP],
      limits: { depth: 4, fanOut: 8, nodes: 32 },
      ...more,
    }
  }
  const sign = (of: object, key = principal) =>
    signJws({ typ: 'mandate+jwt', key, kid: 'alice-1', claims: of })
  const headgate = await compose({
    config,
    secrets,
    log: ({ code, message }) => void logged.push(`${code}: ${message}`),
    ...(options.demo ? { demoMandate: () => sign(claims()) } : {}),
    ...options.real,
    ...(options.guard ? { guard: options.guard } : {}),
    overrides: {
      ...(options.config?.store || options.real
        ? {}
        : { ledger: createMemoryLedger({ organisation: 'test' }) }),
      ...(options.real ? {} : { rail }),
      manual: true,
      ...options.overrides,
    },
  })
  const send = (path: string, init: RequestInit = {}) => fetch(url + path, init)
  return {
    headgate,
    url,
    token,
    logged,
    rail,
    principal,
    shop,
    secrets,
    claims,
    sign,
    quote: (more = {}) => {
      const now = nowSeconds(clock)
      const lines = [{ sku: 'lamp', title: 'A lamp', quantity: 1, unitAmount: 2_500 }]
      const amount = 2_500
      const of = {
        iss: SHOP,
        jti: freshId(),
        iat: now,
        exp: later(now, 600),
        kind: 'merchant',
        payee: SHOP,
        lines,
        amount,
        currency: 'INR',
        ...more,
      }
      return signJws({ typ: 'quote+jwt', key: shop, kid: 'shop-1', claims: of })
    },
    fetch: send,
    asOperator: (path, body) =>
      send(path, {
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      }),
    close: () => headgate.close(),
  }
}

export const post = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

/** A node of a run whose planner is outside: its token and its holder's key. */
export interface Held {
  readonly run: RunId
  readonly node: NodeId
  readonly token: string
  readonly holder: KeyObject
}

/** A run whose root is held by the test. */
export async function startOutsideRun(gateway: TestGateway, more: object = {}): Promise<Held> {
  const holder = newKey()
  const mandate = gateway.sign(gateway.claims({ holder: rawPublicKey(holder), ...more }))
  const answer = await gateway.fetch('/runs', post({ mandate }))
  const { run, node, token } = (await answer.json()) as {
    run: { id: RunId }
    node: NodeId
    token: string
  }
  return { run: run.id, node, token, holder }
}

/** Splits a registered child off a held planner. */
export async function split(
  gateway: TestGateway,
  parent: Held,
  nth: number,
  more: Partial<BlockClaims>,
): Promise<Held> {
  const holder = newKey()
  const node = allottedNodeIdOf(parent.node, nth)
  const claims: BlockClaims = {
    node,
    kind: 'planner',
    currency: 'INR',
    ceiling: minor(10_000),
    holder: rawPublicKey(holder),
    // Its parent's own: by the clock, a child made a second later would outlive it.
    expiresAtSeconds: readToken(parent.token).at(-1)?.expiresAtSeconds ?? seconds(0),
    payees: [SHOP],
    ...more,
  }
  const { token } = mintChild(parent.token, parent.holder, claims)
  const body = claims.kind === 'planner' ? { token, nodes: 4 } : { token }
  const answer = await signed(gateway, parent, 'POST', `/runs/${parent.run}/nodes`, body)
  if (answer.status !== 201) throw new Error(`not registered: ${await answer.text()}`)
  return { run: parent.run, node, token, holder }
}

/** A leaf for one quote. */
export const splitLeaf = (gateway: TestGateway, parent: Held, nth: number, quote: string) =>
  split(gateway, parent, nth, { kind: 'leaf', ceiling: minor(2_500), quote: sha256(quote) })

/** A request with the holder's token and a fresh proof. */
export async function signed(
  gateway: TestGateway,
  held: Held,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
): Promise<Response> {
  const { token, holder } = held
  const now = nowSeconds(systemClock())
  const proof = await signProof({ holder, method, url: gateway.url + path, token, now })
  return gateway.fetch(path, {
    method,
    headers: {
      authorization: `DPoP ${token}`,
      dpop: proof,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

export const clientOf = (gateway: TestGateway, { token, holder }: Held) =>
  createClient({ gateway: gateway.url, token, holder, clock: systemClock() })
