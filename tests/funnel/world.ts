/**
 * A small world for the funnel: the real ledger in memory, real signatures, the product's scripted agents, and fakes for
 * the token engine, the shops and the gateway's door. The door keeps a book of its own, as a rail would: a payment
 * that reaches it twice shows there. A world can be killed after any write, and walked on by a new funnel.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createAgents } from '../../agents/agents.ts'
import { createScriptedModel } from '../../agents/scripted/model.ts'
import { ClientError } from '../../runtime/client/errors.ts'
import type { Agents, Budget, ModelRequest } from '../../runtime/core/agents.ts'
import { CODES, type DenialCode, hold as holdFor } from '../../runtime/core/codes.ts'
import type { HolderKeys, TokenEngine } from '../../runtime/core/engine.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { freshId, holdIdOf, type NodeId, paymentIdOf, sha256 } from '../../runtime/core/ids.ts'
import { parseJws, signJws } from '../../runtime/core/jws.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import type { CommandName, Commands, Ledger } from '../../runtime/core/ledger.ts'
import type { Agent } from '../../runtime/core/mandate.ts'
import type { Item } from '../../runtime/core/merchants.ts'
import { type Currency, minor } from '../../runtime/core/money.ts'
import { type Quote, quoteSchema } from '../../runtime/core/quote.ts'
import type { NodeRecord, PaymentRecord, RunRecord } from '../../runtime/core/records.ts'
import { type Clock, later, nowSeconds } from '../../runtime/core/time.ts'
import type { PaymentAnswer } from '../../runtime/core/wire.ts'
import type { FunnelBounds, FunnelDeps } from '../../runtime/funnel/context.ts'
import { createFunnel, type Funnel } from '../../runtime/funnel/funnel.ts'
import { finishIfClosed } from '../../runtime/gateway/finish.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { allPassed, aRun, NOW } from '../support/ledger.ts'

export interface Product {
  readonly sku: string
  readonly title: string
  readonly price: number
  readonly description?: string
}

export interface Shop {
  readonly id: string
  readonly products: readonly Product[]
  /** Changes claims of each quote before they are signed. */
  readonly twist?: (claims: Quote) => unknown
  readonly quoteSeconds?: number
}

export const SHOPS: readonly Shop[] = [
  {
    id: 'desk-bazaar',
    products: [
      { sku: 'D1', title: 'Office Desk, 120 cm', price: 10_000 },
      { sku: 'D2', title: 'Standing Desk, electric', price: 25_000 },
      { sku: 'C1', title: 'Ergonomic Office Chair', price: 8_000 },
      { sku: 'L1', title: 'Desk Lamp', price: 1_500 },
    ],
  },
  {
    id: 'pantry-row',
    products: [
      { sku: 'K1', title: 'Electric Kettle', price: 2_000 },
      { sku: 'M1', title: 'Stoneware Mugs, set of 12', price: 3_000 },
      { sku: 'C9', title: 'Coffee Machine', price: 40_000 },
    ],
  },
]

export type Door = (attempt: {
  readonly leaf: NodeId
  readonly quote: Quote
  readonly tries: number
}) => Word | ClientError

/** What the gateway makes of one attempt. `lost` never arrives; `late` moves money and its answer is lost, `mute` for ever. */
export type Word =
  | 'pay'
  | 'hold'
  | 'unknown'
  | 'lost'
  | 'late'
  | 'mute'
  | 'declined'
  | 'stale'
  | DenialCode

export interface WorldOptions {
  readonly task: string
  /** Memory of its own if absent. */
  readonly ledger?: Ledger
  readonly ceiling?: number
  readonly currency?: Currency
  readonly limits?: { readonly depth: number; readonly fanOut: number; readonly nodes: number }
  readonly shops?: readonly Shop[]
  readonly payees?: readonly string[]
  readonly door?: Door
  readonly agents?: (scripted: Agents) => Agents
  readonly bounds?: Partial<FunnelBounds>
  /** Of the run and of a node; what is absent has no end. */
  readonly budgets?: { readonly run?: Partial<Budget>; readonly node?: Partial<Budget> }
  /** Whether the scripted planner takes over where the agents have no plan. */
  readonly fallback?: boolean
  /** What the gateway runs, and what the mandate asks for. */
  readonly runs?: Agent
  readonly named?: Agent
  /** What the merchant does with a receipt. */
  readonly order?: (merchant: string, tries: number) => string
}

const NO_END = Number.POSITIVE_INFINITY
const ENDLESS: Budget = { calls: NO_END, tokens: NO_END, costMicros: NO_END }

const QUICK: Partial<FunnelBounds> = { pauseMs: 3, backOffMs: 2, tries: 3 }

const { privateKey: SHOP_KEY, publicKey: SHOP_PUBLIC } = generateKeyPairSync('ed25519')
const { privateKey: GATEWAY_KEY } = generateKeyPairSync('ed25519')

function denied(paymentId: PaymentRecord['id'], code: DenialCode): PaymentAnswer {
  const { advice, message } = CODES[code]
  const reason = { check: 1, name: 'shape', code, message, advice }
  return { paymentId, verdict: 'deny', checks: [], reason }
}

const unauthenticated = () =>
  new ClientError('who are you', { status: 401, code: 'unauthenticated', advice: 'stop' })

const noAnswer = () =>
  new ClientError('no answer came', { status: 0, code: 'unreachable', advice: 'retry' })

export class World {
  readonly ledger: Ledger
  readonly run: RunRecord
  /** What the rail's own book says: how often each payment reached it, and for how much. */
  readonly book = new Map<string, { calls: number; amount: number }>()
  readonly asked: ModelRequest<unknown>['role'][] = []
  readonly orders: string[] = []
  readonly faults: unknown[] = []
  nowMs = NOW * 1000
  /** Writes so far, and the one after which everything is dead. */
  writes = 0
  killAfter = Number.POSITIVE_INFINITY
  readonly options: WorldOptions
  readonly root: NodeRecord
  private readonly tries = new Map<string, number>()
  private readonly muted = new Set<NodeId>()
  private readonly deliveries = new Map<string, number>()
  private readonly holders = new Map<NodeId, KeyObject>()

  private constructor(options: WorldOptions, ledger: Ledger, run: RunRecord, root: NodeRecord) {
    this.options = options
    this.ledger = ledger
    this.run = run
    this.root = root
  }

  static async open(options: WorldOptions): Promise<World> {
    const ledger = options.ledger ?? createMemoryLedger({ organisation: 'acme' })
    const { task, currency = 'INR', ceiling = 100_000, shops = SHOPS } = options
    const limits = options.limits ?? { depth: 3, fanOut: 32, nodes: 200 }
    const payees = [...(options.payees ?? shops.map(({ id }) => id))].sort()
    const { run: base, root: node } = aRun({ ceiling })
    const mandate = signJws({
      typ: 'mandate+jwt',
      key: GATEWAY_KEY,
      claims: {
        iss: 'asha',
        aud: 'gate',
        jti: base.jti,
        iat: NOW,
        exp: base.expiresAtSeconds,
        task,
        currency,
        ceiling,
        payees,
        limits,
        ...(options.named === undefined ? {} : { agent: options.named }),
      },
    })
    const run: RunRecord = { ...base, mandate, mandateDigest: sha256(mandate), currency }
    const root = { ...node, payees, currency }
    const made = await ledger.execute('createRun', {
      run,
      root,
      token: `token of ${root.id}`,
      nodes: limits.nodes,
      now: NOW,
    })
    if (!made.ok) throw new Error(`the run was refused: ${made.code}`)
    return new World(options, ledger, run, root)
  }

  readonly clock: Clock = { nowMs: () => this.nowMs }

  get isDead(): boolean {
    return this.writes >= this.killAfter
  }

  /** The ledger as a process sees it: after the fatal write nothing answers any more. */
  mortal(): Ledger {
    const guard =
      <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
      (...args: A): Promise<R> => {
        if (this.isDead) return Promise.reject(new Fault('store_unavailable', 'killed'))
        return call(...args)
      }
    const { ledger } = this
    return {
      ...ledger,
      execute: async <K extends CommandName>(name: K, input: Commands[K]['input']) => {
        if (this.isDead) throw new Fault('store_unavailable', 'killed')
        const result = await ledger.execute(name, input)
        this.writes += 1
        if (this.isDead) throw new Fault('store_unavailable', 'killed after the write')
        return result
      },
      run: guard(ledger.run),
      node: guard(ledger.node),
      account: guard(ledger.account),
      standing: guard(ledger.standing),
      token: guard(ledger.token),
      tree: guard(ledger.tree),
      payment: guard(ledger.payment),
      hold: guard(ledger.hold),
      step: guard(ledger.step),
      steps: guard(ledger.steps),
    }
  }

  /** A process of its own where it has a name; `lives` is its ledger, which no kill of others ends. */
  funnel(holder?: string, lives?: Ledger): Funnel {
    const ledger = lives ?? this.mortal()
    const signer = { gateway: 'gate', key: GATEWAY_KEY, kid: 'g1' }
    const scripted = createAgents({
      engine: 'counted',
      ask: (request) => {
        this.asked.push(request.role)
        return createScriptedModel().ask(request)
      },
    })
    const deps: FunnelDeps = {
      ledger,
      engine: this.engine(),
      holderKeys: this.holderKeys(),
      agents: this.options.agents?.(scripted) ?? scripted,
      ...(this.options.fallback === true ? { fallback: createAgents(createScriptedModel()) } : {}),
      ...(this.options.runs === undefined ? {} : { agent: this.options.runs }),
      budgets: {
        run: { ...ENDLESS, ...this.options.budgets?.run },
        node: { ...ENDLESS, ...this.options.budgets?.node },
      },
      merchants: this.merchants(),
      connect: ({ token }) => this.door(token),
      payees: this.run.mandate === '' ? [] : this.root.payees.map((id) => ({ id, name: id })),
      payeeOf: (merchant) => merchant,
      finish: (run, state, reason) =>
        finishIfClosed({ ledger, clock: this.clock, signer }, run, state, reason),
      clock: this.clock,
      bounds: { ...QUICK, ...this.options.bounds },
      onFault: (error) => this.faults.push(error),
      ...(holder === undefined ? {} : { holder }),
    }
    return createFunnel(deps)
  }

  /** Walks the run to its end with one funnel. */
  async finished(): Promise<RunRecord> {
    const funnel = this.funnel()
    funnel.start(this.run)
    const run = await funnel.settled(this.run.id)
    await funnel.close()
    if (run === undefined) throw new Error('the run is gone')
    return run
  }

  payments(): Promise<readonly PaymentRecord[]> {
    return this.ledger.payments({ run: this.run.id, limit: 1000 })
  }

  /** `quantity x title` of what was settled, and what was spent on it. */
  async bought(): Promise<string[]> {
    const settled = (await this.payments()).filter(({ state }) => state === 'settled')
    return settled.map(({ lines }) => lines.map((l) => `${l.quantity} x ${l.title}`).join()).sort()
  }

  /** Answers of models that are in the log. */
  async storedAnswers(): Promise<number> {
    const feed = await this.ledger.feed(this.run.id, 0, 100_000)
    const types = feed.map(({ body }) => (JSON.parse(body) as { type: string }).type)
    return types.filter((type) => ['planned', 'looked', 'chose'].includes(type)).length
  }

  private engine(): TokenEngine {
    const never = () => Promise.reject(new Error('not for the funnel'))
    return {
      verify: never,
      recognise: () => undefined,
      mintRoot: never,
      mintChild: async (parent, _holder, claims) => {
        const above = (await this.ledger.node(parent.slice('token of '.length) as NodeId))
          ?.revocationIds
        if (above === undefined) throw new Error('expected the parent’s token')
        return { token: `token of ${claims.node}`, revocationIds: [...above, freshId()] }
      },
      close: async () => {},
    }
  }

  private holderKeys(): HolderKeys {
    const privateKey = (node: NodeId) => {
      const key = this.holders.get(node) ?? generateKeyPairSync('ed25519').privateKey
      this.holders.set(node, key)
      return key
    }
    return { privateKey, publicKey: (node) => rawPublicKey(privateKey(node)) }
  }

  private shop(id: string): Shop {
    const shop = (this.options.shops ?? SHOPS).find((one) => one.id === id)
    if (shop === undefined) throw new Error('no such shop')
    return shop
  }

  private merchants(): FunnelDeps['merchants'] {
    return {
      ids: (this.options.shops ?? SHOPS).map(({ id }) => id),
      keys: () => [SHOP_PUBLIC],
      keyById: () => SHOP_PUBLIC,
      order: async (merchant, _quote, receipt) => {
        if (this.isDead) throw new Fault('merchant_unavailable', 'killed')
        const tries = (this.deliveries.get(receipt) ?? 0) + 1
        this.deliveries.set(receipt, tries)
        const order = this.options.order?.(merchant, tries) ?? `order ${this.orders.length + 1}`
        this.orders.push(receipt)
        return order
      },
    }
  }

  /** The gateway as the holder of this token reaches it. */
  private door(token: string): ReturnType<FunnelDeps['connect']> {
    const id = token.slice('token of '.length) as NodeId
    const mayAnswer = async () => {
      if (this.isDead) throw noAnswer()
      await this.refuseUnlessLive(id)
    }
    return {
      search: async ({ text, merchants = [], limit }) => {
        await mayAnswer()
        const items = merchants.flatMap((shop) => this.listings(shop, text))
        return { items: items.slice(0, limit) }
      },
      product: async ({ merchant, sku }) => {
        await mayAnswer()
        const item = this.listings(merchant, sku).find((one) => one.sku === sku)
        if (item === undefined) throw noAnswer()
        return { item }
      },
      quote: async ({ merchant, lines }) => {
        await mayAnswer()
        return { quote: this.quote(merchant, lines) }
      },
      pay: async (quote) => {
        if (this.isDead) throw noAnswer()
        const answer = await this.pay(id, quote)
        if (this.isDead) throw noAnswer()
        return answer
      },
    }
  }

  private async refuseUnlessLive(id: NodeId): Promise<void> {
    const node = await this.ledger.node(id)
    const states = await Promise.all(
      (['gateway', ...(node?.path ?? [])] as const).map((at) => this.ledger.standing(at)),
    )
    const frozen = states.some(({ state }) => state === 'frozen')
    const advice = frozen ? ('wait_for_person' as const) : ('stop' as const)
    const isLive = states.every(({ state }) => state === 'live')
    const code = frozen ? 'frozen' : 'run_closed'
    if (!isLive) throw new ClientError('not live', { status: 403, code, advice })
  }

  private listings(shop: string, text: string): Item[] {
    const words = text
      .toLowerCase()
      .split(/\W+/)
      .map((word) => word.replace(/s$/, ''))
    return this.shop(shop)
      .products.filter(({ title }) => words.some((word) => title.toLowerCase().includes(word)))
      .map(({ sku, title, price, description = '' }) => ({
        merchant: shop,
        sku,
        title,
        description,
        category: 'things',
        unitAmount: minor(price),
        currency: this.run.currency,
        stock: 1000,
      }))
  }

  /** A shop's signed quote, as anybody may ask for it. */
  quote(merchant: string, lines: readonly { sku: string; quantity: number }[]): string {
    const { products, twist, quoteSeconds = 900 } = this.shop(merchant)
    const priced = lines.map(({ sku, quantity }) => {
      const product = products.find((one) => one.sku === sku)
      if (product === undefined) throw new Error('no such product')
      return { sku, title: product.title, quantity, unitAmount: minor(product.price) }
    })
    const now = nowSeconds(this.clock)
    const claims: Quote = {
      iss: merchant,
      jti: freshId(),
      iat: now,
      exp: later(now, quoteSeconds),
      kind: 'merchant',
      payee: merchant,
      lines: priced,
      amount: minor(priced.reduce((sum, line) => sum + line.quantity * line.unitAmount, 0)),
      currency: this.run.currency,
    }
    return signJws({ typ: 'quote+jwt', key: SHOP_KEY, claims: twist?.(claims) ?? claims })
  }

  /** One payment, through the ledger's own rules; a recorded one is told again. */
  private async pay(leaf: NodeId, text: string): Promise<PaymentAnswer> {
    const quote = quoteSchema.parse(parseJws(text, 'quote+jwt')?.claims)
    const id = paymentIdOf(leaf, sha256(text))
    const before = await this.ledger.payment(id)
    if (this.muted.has(leaf)) throw unauthenticated()
    if (before?.nonce !== undefined) return this.told(before)
    const standing = await this.ledger.standing(leaf)
    if (standing.state !== 'live') return denied(id, 'run_closed')
    const tries = (this.tries.get(id) ?? 0) + 1
    this.tries.set(id, tries)
    const word = (this.options.door ?? (() => 'pay' as const))({ leaf, quote, tries })
    if (word instanceof ClientError) throw word
    if (word === 'lost') throw noAnswer()
    const isStale = word === 'stale' || nowSeconds(this.clock) >= quote.exp
    if (isStale) return denied(id, 'quote_expired')
    if (word in CODES) return denied(id, word as DenialCode)
    const hold = word === 'hold' ? await this.heldOrApproved(leaf, id, quote) : undefined
    if (hold?.state === 'open') {
      return { paymentId: id, verdict: 'hold', checks: [], holdId: hold.id }
    }
    const answer = await this.submit(leaf, { id, quote, text, word, approval: hold })
    if (word === 'late') throw noAnswer()
    if (word === 'mute') {
      this.muted.add(leaf)
      throw unauthenticated()
    }
    return answer
  }

  private async submit(
    leaf: NodeId,
    given: {
      id: PaymentRecord['id']
      quote: Quote
      text: string
      word: string
      approval: { id: `hold_${string}`; digest: string } | undefined
    },
  ): Promise<PaymentAnswer> {
    const { id, quote, text, word, approval } = given
    const now = nowSeconds(this.clock)
    const node = await this.ledger.node(leaf)
    const nonce = freshId()
    const reserved = await this.ledger.execute('reserve', {
      payment: {
        id,
        run: this.run.id,
        node: leaf,
        payee: quote.payee,
        merchant: quote.iss,
        quote: sha256(text),
        quoteJti: quote.jti,
        lines: quote.lines,
        currency: quote.currency,
        amount: quote.amount,
        state: 'reserved',
        rail: 'simulated',
        account: `account of ${quote.payee}`,
        railKey: id,
        counters: [],
        checks: allPassed,
        createdAtSeconds: now,
      },
      path: node?.path ?? [],
      expiresAtSeconds: quote.exp,
      proof: { jti: freshId(), holder: leaf, expiresAtSeconds: later(now, 60), attempt: nonce },
      counters: [],
      submit: { nonce, nowMs: this.nowMs },
      now,
      ...(approval === undefined
        ? {}
        : { approval: { hold: approval.id, digest: approval.digest } }),
    })
    if (!reserved.ok) {
      return denied(id, reserved.code === 'frozen' ? 'frozen' : 'run_closed')
    }
    return this.told(await this.callRail(reserved.payment, word))
  }

  private async callRail(payment: PaymentRecord, word: string): Promise<PaymentRecord> {
    const { id, amount } = payment
    const now = nowSeconds(this.clock)
    const entry = this.book.get(id) ?? { calls: 0, amount }
    this.book.set(id, { calls: entry.calls + 1, amount })
    const result =
      word === 'unknown'
        ? await this.ledger.execute('markUnknown', { payment: id, reason: 'timeout', now })
        : word === 'declined'
          ? await this.ledger.execute('release', {
              payment: id,
              from: 'submitted',
              reason: 'declined',
              now,
            })
          : await this.ledger.execute('settle', {
              payment: id,
              amount,
              railReference: `r-${id}`,
              now,
            })
    if (!result.ok) throw new Error(`the rail’s word was refused: ${result.code}`)
    return result.payment
  }

  private told(payment: PaymentRecord): PaymentAnswer {
    const { id, state } = payment
    const receipt = state === 'settled' ? { receipt: `receipt of ${id}` } : {}
    return { paymentId: id, verdict: 'allow', state, checks: [], ...receipt }
  }

  private async heldOrApproved(leaf: NodeId, payment: PaymentRecord['id'], quote: Quote) {
    const digest = sha256(`card of ${payment}`)
    const id = holdIdOf(payment, digest)
    const before = await this.ledger.hold(id)
    if (before?.state === 'approved') return before
    const now = nowSeconds(this.clock)
    const made = await this.ledger.execute('refuse', {
      node: leaf,
      run: this.run.id,
      denial: holdFor('approval_required'),
      checks: allPassed,
      proof: { jti: freshId(), holder: leaf, expiresAtSeconds: later(now, 60), attempt: freshId() },
      payment,
      hold: {
        id,
        run: this.run.id,
        node: leaf,
        payment,
        digest,
        code: 'approval_required',
        payee: quote.payee,
        merchant: quote.iss,
        amount: quote.amount,
        currency: quote.currency,
        lines: quote.lines,
        expiresAtSeconds: later(now, 600),
        createdAtSeconds: now,
        state: 'open',
      },
      now,
    })
    if (!made.ok || made.hold === undefined) throw new Error('expected a hold')
    return made.hold
  }

  /** Waits until `found` finds something: for what the walk does in its own time. */
  async until<T>(found: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      const value = await found()
      if (value !== undefined) return value
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
}
