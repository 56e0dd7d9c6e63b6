/**
 * A gateway with everything around it faked at the ports, but with real signatures: mandates, quotes and proofs are
 * JWS, the ledger is the one in memory, and time moves only when a test moves it.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { BlockClaims, NodeKind, RequestFacts } from '../../runtime/core/block.ts'
import type { HolderKeys, TokenEngine, TokenVerdict } from '../../runtime/core/engine.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { childNodeIdOf, freshId, type NodeId, type RunId, sha256 } from '../../runtime/core/ids.ts'
import type { Policy } from '../../runtime/core/judges.ts'
import { signJws } from '../../runtime/core/jws.ts'
import {
  ed25519FromSeed,
  type PublicJwk,
  privateJwkSchema,
  publicJwkOf,
  rawPublicKey,
} from '../../runtime/core/keys.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import type { Item, Merchants } from '../../runtime/core/merchants.ts'
import { minor } from '../../runtime/core/money.ts'
import type {
  Rail,
  RailLookup,
  RailOrder,
  RailOutcome,
  RailOutcomeOf,
} from '../../runtime/core/rail.ts'
import type { NodeRecord, PaymentRecord } from '../../runtime/core/records.ts'
import { type Seconds, seconds } from '../../runtime/core/time.ts'
import type { PaymentAnswer } from '../../runtime/core/wire.ts'
import type { Answer } from '../../runtime/gateway/answers.ts'
import type { RawRequest } from '../../runtime/gateway/attempt.ts'
import type { GatewayDeps } from '../../runtime/gateway/gate.ts'
import { createGateway, type Gateway } from '../../runtime/gateway/gateway.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { createPolicy } from '../../runtime/policy/policy.ts'

export const START = 1_800_000_000
export const URL = 'http://headgate.localhost:8080'

export const at = (offset: number): Seconds => seconds(START + offset)

/** Time that stands still until it is moved. */
export class TestClock {
  ms = START * 1000

  nowMs(): number {
    return this.ms
  }

  advance(bySeconds: number): void {
    this.ms += bySeconds * 1000
  }
}

export interface Signer {
  readonly key: KeyObject
  readonly jwk: PublicJwk
}

export function signer(kid: string, curve: 'ed25519' | 'P-256' = 'ed25519'): Signer {
  const { privateKey } =
    curve === 'ed25519'
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicJwkOf(privateJwkSchema.parse(privateKey.export({ format: 'jwk' })))
  return { key: privateKey, jwk: { ...jwk, kid } }
}

interface FakeToken {
  readonly blocks: readonly BlockClaims[]
  readonly revocationIds: readonly string[]
}

/** A token is its claims in plain sight; whoever does not know the engine's secret text has no token. */
export class FakeEngine implements TokenEngine {
  readonly verified: (RequestFacts | undefined)[] = []
  readonly recognised: string[] = []
  /** Set to make every call a fault. */
  broken: Error | undefined
  /** Set to let everything through the token's own checks. */
  permissive = false
  /** Leave lookers' and leaves' chains open, as a careless planner would. */
  unsealed = false
  /** Told before each verification: time may pass here. */
  beforeVerify: () => void = () => undefined
  minted = 0

  encode(token: FakeToken): string {
    return Buffer.from(JSON.stringify({ secret: 'root', ...token })).toString('base64url')
  }

  async verify(text: string, request?: RequestFacts, holder?: string): Promise<TokenVerdict> {
    this.verified.push(request)
    this.beforeVerify()
    if (this.broken) throw this.broken
    const token = this.#decode(text)
    if (token === undefined) return { ok: false, code: 'token_invalid' }
    const { blocks, revocationIds } = token
    if (holder !== undefined && blocks.at(-1)?.holder !== holder) {
      return { ok: false, code: 'proof_invalid' }
    }
    const widenedAt = blocks.findIndex((block, i) => {
      const above = blocks[i - 1]
      return above !== undefined && isWider(above, block)
    })
    return {
      ok: true,
      token: {
        rootKeyId: 1,
        blocks,
        revocationIds,
        sealed: !this.unsealed && blocks.at(-1)?.kind !== 'planner',
        ...(widenedAt === -1 ? {} : { widenedAt }),
        ...(request && { authorised: this.permissive || blocks.every((b) => permits(b, request)) }),
      },
    }
  }

  recognise(holder: string): void {
    this.recognised.push(holder)
  }

  async mintRoot(claims: BlockClaims) {
    this.minted += 1
    const revocationIds = [`${this.minted}`.padStart(8, '0')]
    return { token: this.encode({ blocks: [claims], revocationIds }), revocationIds }
  }

  async mintChild(parent: string, _holder: KeyObject, claims: BlockClaims) {
    const above = this.#decode(parent)
    if (above === undefined) throw new Error('no such parent')
    this.minted += 1
    const revocationIds = [...above.revocationIds, `${this.minted}`.padStart(8, '0')]
    return {
      token: this.encode({ blocks: [...above.blocks, claims], revocationIds }),
      revocationIds,
    }
  }

  async close(): Promise<void> {}

  #decode(text: string): FakeToken | undefined {
    try {
      const token = JSON.parse(Buffer.from(text, 'base64url').toString())
      return token.secret === 'root' ? token : undefined
    } catch {
      return undefined
    }
  }
}

const isWider = (above: BlockClaims, block: BlockClaims): boolean =>
  block.ceiling > above.ceiling ||
  block.currency !== above.currency ||
  block.expiresAtSeconds > above.expiresAtSeconds ||
  block.payees.some((payee) => !above.payees.includes(payee))

function permits(block: BlockClaims, request: RequestFacts): boolean {
  return (
    request.amount <= block.ceiling &&
    request.currency === block.currency &&
    block.payees.includes(request.payee) &&
    request.nowSeconds < block.expiresAtSeconds &&
    (block.quote === undefined || block.quote === request.quote)
  )
}

const holderKeys: HolderKeys = {
  privateKey: (node) => ed25519FromSeed(Buffer.from(sha256(node), 'base64url')),
  publicKey: (node) => rawPublicKey(holderKeys.privateKey(node)),
}

/** A rail that does what the test says next, and otherwise pays. */
export class FakeRail implements Rail {
  readonly name = 'simulated'
  truth = {
    lookupByReference: true,
    keyLifeSeconds: 86_400,
    visibilitySeconds: 30,
    afterSuccess: [],
  }
  readonly orders: RailOrder[] = []
  /** What `lookup` finds, by rail key. */
  readonly book = new Map<string, RailLookup>()
  readonly lookups: string[] = []
  next: ((order: RailOrder) => Promise<RailOutcome>)[] = []

  async pay(order: RailOrder): Promise<RailOutcome> {
    this.orders.push(order)
    const act = this.next.shift()
    const outcome = act ? await act(order) : settledFor(order)
    if (outcome.kind === 'settled') this.book.set(order.key, outcome)
    return outcome
  }

  async lookup(key: string): Promise<RailLookup> {
    this.lookups.push(key)
    return this.book.get(key) ?? { kind: 'absent' }
  }

  async ready(): Promise<void> {}
}

export const settledFor = (order: RailOrder): RailOutcomeOf<'settled'> => ({
  kind: 'settled',
  reference: `ref-${order.key}`,
  amount: order.amount,
  currency: order.currency,
})

export interface QuoteClaims {
  readonly iss: string
  readonly jti: string
  readonly iat: number
  readonly exp: number
  readonly payee: string
  readonly amount: number
  readonly currency: string
  readonly [more: string]: unknown
}

export class FakeMerchants implements Merchants {
  readonly ids = ['shop', 'stall']
  readonly signers: Readonly<Record<string, Signer>> = { shop: signer('s1'), stall: signer('t1') }
  readonly shelves: Record<string, readonly Item[] | Error> = {}
  calls = 0

  async search(merchant: string): Promise<readonly Item[]> {
    this.calls += 1
    const shelf = this.shelves[merchant] ?? []
    if (shelf instanceof Error) throw shelf
    return shelf
  }

  async product(merchant: string, _currency: string, sku: string): Promise<Item> {
    const item = (await this.search(merchant)).find((one) => one.sku === sku)
    if (item === undefined) throw new Fault('merchant_unavailable', 'no such product')
    return item
  }

  async quote(merchant: string): Promise<string> {
    this.calls += 1
    return this.sign({ iss: merchant })
  }

  async order(): Promise<string> {
    return 'order-1'
  }

  keys(merchant: string): readonly KeyObject[] {
    const found = this.signers[merchant]
    return found ? [found.key].map(publicHalf) : []
  }

  keyById(merchant: string, kid: string): KeyObject | undefined {
    const found = this.signers[merchant]
    return found?.jwk.kid === kid ? publicHalf(found.key) : undefined
  }

  /** A quote by its issuer's real key, or by another's. */
  sign(claims: Partial<QuoteClaims> = {}, by?: Signer): string {
    const { iss = 'shop', amount = 1_000, payee = iss } = claims
    const found = by ?? this.signers[iss] ?? signer('stranger')
    const kid = found.jwk.kid
    return signJws({
      typ: 'quote+jwt',
      key: found.key,
      ...(kid === undefined ? {} : { kid }),
      claims: {
        iss,
        jti: freshId(),
        iat: START,
        exp: START + 3_000,
        kind: 'merchant',
        payee,
        lines: [{ sku: 'pen', title: 'Pen', quantity: 1, unitAmount: amount }],
        amount,
        currency: 'INR',
        ...claims,
      },
    })
  }
}

const publicHalf = (key: KeyObject): KeyObject => createPublicKey(key)

export interface Leaf {
  readonly id: NodeId
  readonly token: string
  readonly key: KeyObject
  readonly quote: string
}

export interface WorldOptions {
  readonly deps?: Partial<GatewayDeps>
  readonly policy?: Policy
}

export class World {
  readonly clock = new TestClock()
  readonly engine = new FakeEngine()
  readonly rail = new FakeRail()
  readonly merchants = new FakeMerchants()
  readonly principal = signer('p1')
  readonly ledger: Ledger
  readonly faults: unknown[] = []
  readonly alarms: unknown[] = []
  deps: GatewayDeps
  gateway: Gateway
  #made = 0

  constructor({ deps = {}, policy }: WorldOptions = {}) {
    this.ledger = deps.ledger ?? createMemoryLedger({ organisation: 'acme' })
    const account = (id: string) => ({
      id,
      name: `The ${id}`,
      accounts: { simulated: `acc-${id}` },
    })
    this.deps = {
      facts: {
        organisation: 'acme',
        gatewayId: 'gw',
        gatewayUrl: URL,
        principals: [{ id: 'ada', keys: [this.principal.jwk] }],
        payees: [account('shop'), account('stall'), account('bank')],
        railName: 'simulated',
      },
      ledger: this.ledger,
      engine: this.engine,
      holderKeys,
      policy: policy ?? createPolicy({ rules: [] }),
      rail: this.rail,
      merchants: this.merchants,
      clock: this.clock,
      signing: { kid: 'g1', key: signer('g1').key },
      onFault: (fault) => void this.faults.push(fault),
      onAlarm: (alarm) => void this.alarms.push(alarm),
      ...deps,
    }
    this.gateway = createGateway(this.deps)
  }

  /** The same store and keys behind a gateway that is put together differently. */
  rebuild(deps: Partial<GatewayDeps>): void {
    this.deps = { ...this.deps, ...deps }
    this.gateway = createGateway(this.deps)
  }

  mandate(claims: Record<string, unknown> = {}, by: Signer = this.principal): string {
    const { kid } = by.jwk
    return signJws({
      typ: 'mandate+jwt',
      key: by.key,
      ...(kid === undefined ? {} : { kid }),
      claims: {
        iss: 'ada',
        aud: 'gw',
        jti: freshId(),
        iat: START,
        exp: START + 7_200,
        task: 'buy pens',
        currency: 'INR',
        ceiling: 100_000,
        payees: ['shop', 'stall'],
        limits: { depth: 3, fanOut: 20, nodes: 50 },
        ...claims,
      },
    })
  }

  async run(claims: Record<string, unknown> = {}): Promise<{ run: RunId; root: NodeId }> {
    const result = await this.gateway.createRun(this.mandate(claims))
    if (!result.ok) throw new Error(result.code)
    return { run: result.run.id, root: result.node }
  }

  /** What the funnel does: mints a child and records it. */
  async child(
    parent: NodeId,
    kind: NodeKind,
    claims: Partial<BlockClaims> = {},
    nodes = 0,
  ): Promise<{ id: NodeId; token: string; key: KeyObject }> {
    const above = await this.ledger.node(parent)
    const parentToken = await this.ledger.token(parent)
    if (!above || !parentToken) throw new Error('no parent')
    this.#made += 1
    const id = childNodeIdOf(parent, String(this.#made))
    const block: BlockClaims = {
      node: id,
      kind,
      currency: above.currency,
      ceiling: minor(kind === 'looker' ? 0 : 10_000),
      holder: holderKeys.publicKey(id),
      expiresAtSeconds: above.expiresAtSeconds,
      payees: above.payees,
      ...claims,
    }
    const minted = await this.engine.mintChild(parentToken, holderKeys.privateKey(parent), block)
    const { node: _node, ...rest } = block
    const child: NodeRecord = {
      ...rest,
      id,
      run: above.run,
      parent,
      path: [...above.path, id],
      label: kind,
      revocationIds: minted.revocationIds,
      custody: 'funnel',
      createdAtSeconds: at(0),
    }
    const now = seconds(Math.floor(this.clock.ms / 1000))
    const token = minted.token
    const result = await this.ledger.execute('split', { child, token, nodes, fanOut: 20, now })
    if (!result.ok) throw new Error(`split: ${result.code}`)
    return { id, token, key: holderKeys.privateKey(id) }
  }

  /** A leaf made for one quote. */
  async leaf(
    parent: NodeId,
    quoteClaims: Partial<QuoteClaims> = {},
    claims: Partial<BlockClaims> = {},
  ): Promise<Leaf> {
    const quote = this.merchants.sign(quoteClaims)
    return this.leafFor(parent, quote, quoteClaims, claims)
  }

  async leafFor(
    parent: NodeId,
    quote: string,
    { amount = 1_000, iss = 'shop', payee = iss }: Partial<QuoteClaims> = {},
    claims: Partial<BlockClaims> = {},
  ): Promise<Leaf> {
    const made = await this.child(parent, 'leaf', {
      ceiling: minor(amount),
      payees: [payee],
      quote: sha256(quote),
      ...claims,
    })
    return { ...made, quote }
  }

  /** A request with a fresh proof; `change` spoils it. */
  request(
    caller: { readonly token: string; readonly key: KeyObject },
    path: string,
    body: unknown,
    change: Partial<RequestChange> = {},
  ): RawRequest {
    const { jti = freshId(), method = 'POST', headers = [], raw = {} } = change
    const proof = signJws({
      typ: 'dpop+jwt',
      key: caller.key,
      jwk: { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(caller.key) },
      claims: {
        htm: method,
        htu: URL + path,
        iat: Math.floor(this.clock.ms / 1000),
        jti,
        ath: sha256(caller.token),
      },
    })
    return {
      method,
      path,
      query: '',
      headers: [
        ['Authorization', `DPoP ${caller.token}`],
        ['DPoP', proof],
        ...(body === undefined ? [] : [['Content-Type', 'application/json'] as const]),
        ...headers,
      ],
      body: body === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(body)),
      ...raw,
    }
  }

  pay(leaf: Leaf, change: Partial<RequestChange> = {}): Promise<Answer> {
    return this.gateway.pay(this.request(leaf, '/payments', { quote: leaf.quote }, change))
  }

  async onlyPayment(): Promise<PaymentRecord> {
    const [payment] = await this.ledger.payments({ limit: 2 })
    if (!payment) throw new Error('no payment')
    return payment
  }
}

export interface RequestChange {
  readonly jti: string
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly raw: Partial<RawRequest>
}

export const bodyOf = (answer: Answer): PaymentAnswer => answer.body as PaymentAnswer

/** `200 allow settled`, `403 deny policy`, `401 unauthenticated`: an answer in one line. */
export function brief(answer: Answer): string {
  const body = answer.body as {
    verdict?: string
    state?: string
    code?: string
    reason?: { code: string }
  }
  return [answer.status, body.verdict, body.reason?.code ?? body.state ?? body.code]
    .filter((word) => word !== undefined)
    .join(' ')
}

export const statusesOf = (answer: Answer): string =>
  bodyOf(answer)
    .checks.map(({ status }) => status)
    .join(' ')
