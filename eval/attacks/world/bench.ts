/**
 * The bench of one case: a principal who signs, an outside planner who holds keys and splits as the protocol says,
 * shops that quote, and requests over HTTP. Everything is made fresh, so that no case meets another's money.
 */
import type { KeyObject } from 'node:crypto'
import type { BlockClaims } from '../../../runtime/core/block.ts'
import {
  allottedNodeIdOf,
  freshId,
  type NodeId,
  type RunId,
  sha256,
} from '../../../runtime/core/ids.ts'
import { signJws } from '../../../runtime/core/jws.ts'
import { rawPublicKey } from '../../../runtime/core/keys.ts'
import { type Currency, minor } from '../../../runtime/core/money.ts'
import { type Seconds, seconds } from '../../../runtime/core/time.ts'
import { type RunDetail, runDetailSchema } from '../../../runtime/core/wire.ts'
import { appendClaims, newKey } from '../forge/tokens.ts'
import { type Received, send } from '../http.ts'
import { type Move, type Seen, Wrong } from '../types.ts'
import type { Shop, World } from './world.ts'

/** A node as its holder has it. */
export interface Held {
  readonly run: RunId
  readonly token: string
  readonly holder: KeyObject
  readonly claims: BlockClaims
}

/** An answer with its code: from the body, or where the wire says nothing, from the gateway's own word. */
export interface Answer extends Received {
  readonly code?: string
  readonly verdict?: 'allow' | 'hold' | 'deny'
  readonly body: { readonly [key: string]: unknown }
}

export interface Call {
  readonly method?: string
  readonly path: string
  /** JSON, unless it is text or bytes already. */
  readonly body?: unknown
  /** Replace or add; a name given twice is sent twice. */
  readonly headers?: readonly (readonly [string, string])[]
  readonly giveUpMs?: number
}

export interface ProofChanges {
  readonly key?: KeyObject
  readonly claims?: { readonly [claim: string]: unknown }
  readonly header?: { readonly [name: string]: unknown }
}

export type MandateChanges = { readonly [claim: string]: unknown }

export interface QuoteChanges {
  readonly shop?: Shop
  readonly amount?: number
  readonly currency?: Currency
  /** Replace or add claims, whatever they are. */
  readonly claims?: { readonly [claim: string]: unknown }
  readonly key?: KeyObject
}

export type ChildChanges = Partial<Omit<BlockClaims, 'ceiling'>> & { readonly ceiling?: number }

const HOUR = 3600

export class Bench {
  readonly world: World
  /** Runs that this case made, for the balance of the books afterwards. */
  readonly runs: RunId[] = []
  readonly #children = new Map<NodeId, number>()
  #refusal: string | undefined

  constructor(world: World) {
    this.world = world
  }

  get shop(): Shop {
    return this.world.shops[0]
  }

  now(): Seconds {
    return seconds(Math.floor(this.world.nowMs() / 1000))
  }

  /** A mandate as the principal signs it, with these claims changed. */
  mandate(changes: MandateChanges = {}): string {
    const { principal, gatewayId, shops } = this.world
    const claims = {
      iss: principal.id,
      aud: gatewayId,
      jti: freshId(),
      iat: this.now(),
      exp: this.now() + HOUR,
      task: 'Buy what the case needs',
      currency: 'INR',
      ceiling: 100_000,
      payees: shops.map(({ id }) => id),
      limits: { depth: 8, fanOut: 128, nodes: 400 },
      ...changes,
    }
    return signJws({ typ: 'mandate+jwt', key: principal.key, kid: principal.kid, claims })
  }

  /** Posts a mandate whose root planner is ours; the run's root comes back with its token. */
  async run(changes: MandateChanges = {}): Promise<Held> {
    const holder = newKey()
    const mandate = this.mandate({ holder: rawPublicKey(holder), ...changes })
    const answer = await this.plain({ method: 'POST', path: '/runs', body: { mandate } })
    const { run, node, token } = answer.body as {
      run?: { id: RunId }
      node?: NodeId
      token?: string
    }
    if (!run || !node || token === undefined) {
      throw new Wrong(`expected a run with a token, got ${answer.status} ${answer.code ?? ''}`)
    }
    this.runs.push(run.id)
    const { blocks } = await this.#read(token)
    const [claims] = blocks
    if (claims === undefined) throw new Wrong('expected a root block')
    return { run: run.id, token, holder, claims }
  }

  async #read(token: string): Promise<{ blocks: readonly BlockClaims[] }> {
    const verdict = await this.world.engine.verify(token)
    if (!verdict.ok)
      throw new Wrong(`expected the gateway's own token to verify, got ${verdict.code}`)
    return verdict.token
  }

  /** Mints a next child as an honest planner would; nobody has recorded it yet. */
  mint(parent: Held, changes: ChildChanges = {}): Held {
    const index = this.#children.get(parent.claims.node) ?? 0
    this.#children.set(parent.claims.node, index + 1)
    const holder = newKey()
    const { ceiling = parent.claims.ceiling, ...rest } = changes
    const claims: BlockClaims = {
      node: allottedNodeIdOf(parent.claims.node, index),
      kind: 'planner',
      currency: parent.claims.currency,
      ceiling: ceiling as BlockClaims['ceiling'],
      holder: rawPublicKey(holder),
      expiresAtSeconds: parent.claims.expiresAtSeconds,
      payees: parent.claims.payees,
      ...rest,
    }
    const { token } = appendClaims(parent.token, { holder: parent.holder, claims })
    return { run: parent.run, token, holder, claims }
  }

  /** A leaf for a fresh quote that nobody has recorded yet. */
  mintLeaf(parent: Held, changes: QuoteChanges = {}): { quote: string; leaf: Held } {
    const quote = this.quote(changes)
    return { quote, leaf: this.mint(parent, this.leafClaims(quote, changes)) }
  }

  /** Asks the gateway to record a child that `parent` minted. */
  register(parent: Held, token: string, nodes?: number): Promise<Answer> {
    const body = { token, ...(nodes === undefined ? {} : { nodes }) }
    return this.call(parent, { path: `/runs/${parent.run}/nodes`, body })
  }

  /** A child that the gateway has recorded; throws Wrong when it would not. */
  async child(parent: Held, changes: ChildChanges = {}, nodes?: number): Promise<Held> {
    const child = this.mint(parent, changes)
    const room = nodes ?? (child.claims.kind === 'planner' ? 20 : undefined)
    const answer = await this.register(parent, child.token, room)
    if (answer.status !== 201) {
      throw new Wrong(`expected a child to be recorded, got ${answer.status} ${answer.code ?? ''}`)
    }
    return child
  }

  /**
   * A child that stands in the store although no request could have put it there: a bug of ours, or an edited store.
   * The money for it moves as in any split, so that only the gateway's own look at the chain is left. `changes` are
   * what the record says otherwise than the token.
   */
  async smuggle(parent: Held, child: Held, changes: { ceiling?: number } = {}): Promise<void> {
    const { claims, token } = child
    const verified = await this.world.engine.verify(token)
    const above = await this.world.ledger.node(parent.claims.node)
    if (!verified.ok || above === undefined) throw new Error('expected a chain that verifies')
    const result = await this.world.ledger.execute('split', {
      child: {
        id: claims.node,
        run: parent.run,
        parent: above.id,
        path: [...above.path, claims.node],
        kind: claims.kind,
        label: 'smuggled',
        currency: claims.currency,
        ceiling: minor(changes.ceiling ?? claims.ceiling),
        expiresAtSeconds: above.expiresAtSeconds,
        payees: claims.payees,
        holder: claims.holder,
        ...(claims.quote === undefined ? {} : { quote: claims.quote }),
        revocationIds: verified.token.revocationIds,
        custody: 'outside',
        createdAtSeconds: this.now(),
      },
      nodes: claims.kind === 'planner' ? 10 : 0,
      fanOut: 100,
      now: this.now(),
    })
    if (!result.ok) throw new Error(`expected the store to take the node, got ${result.code}`)
  }

  /** What a leaf for this quote says, by default exactly what the quote needs. */
  leafClaims(quote: string, { shop = this.shop, amount = 1_000 }: QuoteChanges = {}): ChildChanges {
    return { kind: 'leaf', ceiling: amount, payees: [shop.id], quote: sha256(quote) }
  }

  leaf(parent: Held, quote: string, changes: QuoteChanges = {}): Promise<Held> {
    return this.child(parent, this.leafClaims(quote, changes))
  }

  /** A quote that one of our shops signs. */
  quote(changes: QuoteChanges = {}): string {
    const { shop = this.shop, amount = 1_000, currency = 'INR', key = shop.key } = changes
    const claims = {
      iss: shop.id,
      jti: freshId(),
      iat: this.now(),
      exp: this.now() + HOUR,
      kind: 'merchant',
      payee: shop.id,
      lines: [{ sku: 'THING', title: 'A thing', quantity: 1, unitAmount: amount }],
      amount,
      currency,
      ...changes.claims,
    }
    return signJws({ typ: 'quote+jwt', key, kid: shop.kid, claims })
  }

  /** A fresh run with one leaf for one quote: where most cases begin. */
  async purchase(changes: QuoteChanges & { mandate?: MandateChanges } = {}) {
    const root = await this.run(changes.mandate)
    return { root, ...(await this.purchaseIn(root, changes)) }
  }

  /** One more leaf for one more quote, below a planner that there is. */
  async purchaseIn(parent: Held, changes: QuoteChanges = {}) {
    const quote = this.quote(changes)
    return { quote, leaf: await this.leaf(parent, quote, changes) }
  }

  /** What a settled payment of a quote looks like on the rail. */
  move({ shop = this.shop, amount = 1_000, currency = 'INR' }: QuoteChanges = {}): Move {
    return { account: shop.account, amount, currency }
  }

  proof(node: Pick<Held, 'token' | 'holder'>, call: Call, changes: ProofChanges = {}): string {
    const key = changes.key ?? node.holder
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(key) } as const
    const claims = {
      htm: call.method ?? 'POST',
      htu: `${this.world.url}${call.path.split('?')[0]}`,
      iat: this.now(),
      jti: freshId(),
      ath: sha256(node.token),
      ...changes.claims,
    }
    return signJws({ typ: 'dpop+jwt', key, jwk, claims })
  }

  /** A request by a holder, with a fresh proof unless `DPoP` is among the headers. */
  call(node: Pick<Held, 'token' | 'holder'>, call: Call): Promise<Answer> {
    const given = new Set((call.headers ?? []).map(([name]) => name.toLowerCase()))
    const headers: (readonly [string, string])[] = []
    if (!given.has('authorization')) headers.push(['Authorization', `DPoP ${node.token}`])
    if (!given.has('dpop')) headers.push(['DPoP', this.proof(node, call)])
    return this.plain({ ...call, headers: [...headers, ...(call.headers ?? [])] })
  }

  pay(
    leaf: Pick<Held, 'token' | 'holder'>,
    quote: string,
    call: Partial<Call> = {},
  ): Promise<Answer> {
    return this.call(leaf, { path: '/payments', body: { quote }, ...call })
  }

  /** A request by an operator with the operator's token. */
  operator(path: string, call: Partial<Call> = {}): Promise<Answer> {
    const bearer = ['Authorization', `Bearer ${this.world.operatorToken}`] as const
    return this.plain({ method: 'GET', path, ...call, headers: [bearer, ...(call.headers ?? [])] })
  }

  /** A request with nothing added but a content type where there is a body. */
  async plain(call: Call): Promise<Answer> {
    const { method = 'POST', path, body, headers = [], giveUpMs } = call
    const names = new Set(headers.map(([name]) => name.toLowerCase()))
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const typed = body === undefined || names.has('content-type')
    const before = new Map(this.world.refusals())
    const received = await send(this.world.origin, {
      method,
      path,
      headers: typed ? headers : [...headers, ['Content-Type', 'application/json']],
      ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
      ...(giveUpMs === undefined ? {} : { giveUpMs }),
    })
    const counted = newlyCounted(before, this.world.refusals())
    if (received.status === 401 && counted !== undefined) this.#mustSayNothing(received.text)
    return answerOf(received, counted)
  }

  /** Whatever checks 1 and 2 refuse, and why ever, the wire has one text for it, and no list of checks. */
  #mustSayNothing(text: string): void {
    this.#refusal ??= text
    const isPlain = !text.includes('"checks"') && text.includes('"unauthenticated"')
    this.claim(text === this.#refusal && isPlain, 'expected a refusal that does not say why')
  }

  /** The run as operators see it. */
  async detail(run: RunId): Promise<RunDetail> {
    const answer = await this.operator(`/runs/${run}`)
    const parsed = runDetailSchema.safeParse(answer.json)
    if (!parsed.success) throw new Wrong(`expected the run's detail, got ${answer.status}`)
    return parsed.data
  }

  /** Posts a mandate that the product's own funnel carries out, and waits for the run's end. */
  async funnelled(changes: MandateChanges): Promise<RunDetail> {
    const answer = await this.plain({ path: '/runs', body: { mandate: this.mandate(changes) } })
    const { run } = this.must(answer, 201).body as { run: { id: RunId } }
    this.runs.push(run.id)
    for (let tried = 0; tried < 300; tried += 1) {
      const detail = await this.detail(run.id)
      if (detail.run.state !== 'running') return detail
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Wrong('expected the run to end within half a minute')
  }

  /** What the ledger says was paid in a run: the rail's book must say the same. */
  settledIn({ run, nodes }: RunDetail): Move[] {
    return nodes.flatMap(({ payment }) =>
      payment?.state === 'settled'
        ? [
            {
              account: `account-of-${payment.payee}`,
              amount: payment.amount,
              currency: run.currency,
            },
          ]
        : [],
    )
  }

  /** Throws Wrong unless the answer is this; for steps beside the decisive one. */
  must(answer: Answer, status: number, code?: string): Answer {
    if (answer.status === status && (code === undefined || answer.code === code)) return answer
    const wanted = `${status}${code === undefined ? '' : ` ${code}`}`
    throw new Wrong(`expected ${wanted} on the way, got ${answer.status} ${answer.code ?? ''}`)
  }

  /** The decisive step's answer, with what must have moved. */
  seen({ status, code, verdict }: Answer, moved: readonly Move[] = []): Seen {
    return {
      status,
      ...(code === undefined ? {} : { code }),
      ...(verdict === undefined ? {} : { verdict }),
      moved,
    }
  }

  /** For a case that is about a state rather than an answer. */
  claim(holds: boolean, why: string): void {
    if (!holds) throw new Wrong(why)
  }
}

/** The code that was counted in between: one request is refused once. */
const newlyCounted = (
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): string | undefined => [...after].find(([code, n]) => n > (before.get(code) ?? 0))?.[0]

function answerOf(received: Received, counted: string | undefined): Answer {
  const { json } = received
  const body = typeof json === 'object' && json !== null ? (json as Answer['body']) : {}
  const reason = body.reason as { code?: string } | undefined
  const onTheWire = reason?.code ?? (typeof body.code === 'string' ? body.code : undefined)
  const code = received.status === 401 ? (counted ?? onTheWire) : onTheWire
  const verdict = body.verdict as Answer['verdict']
  return {
    ...received,
    body,
    ...(code === undefined ? {} : { code }),
    ...(verdict === undefined ? {} : { verdict }),
  }
}
