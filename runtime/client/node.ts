/**
 * A node as its own process holds it: a token, the key that goes with it, and what may be done with both. Keys of
 * children are made here and never leave; a child is handed to somebody else as a whole, token and key together.
 */
import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BlockClaims, NodeKind } from '../core/block.ts'
import { systemClock } from '../core/clock.ts'
import { Rejected } from '../core/errors.ts'
import { allottedNodeIdOf, type Digest, type PayeeId, type RunId } from '../core/ids.ts'
import { privateJwkSchema, rawPublicKey } from '../core/keys.ts'
import { LIMITS } from '../core/limits.ts'
import { type Minor, ZERO } from '../core/money.ts'
import { readQuote } from '../core/quote.ts'
import type { Clock, Seconds } from '../core/time.ts'
import type { PaymentAnswer } from '../core/wire.ts'
import { jsonOf } from './answer.ts'
import { type Client, createClient, type Fetch } from './client.ts'
import { ClientError } from './errors.ts'
import { type Holder, holderKeyObject, mintChild, readToken } from './mint.ts'
import type { WatchOptions } from './watch.ts'

export interface NodeOptions {
  /** The gateway's public URL. */
  readonly gateway: string
  readonly token: string
  readonly holder: Holder
  readonly clock: Clock
  readonly fetch?: Fetch
}

/**
 * The node whose token and key these texts are, as they lie in files; a key is a JSON Web Key. Throws Rejected `key` for a
 * text that is no private Ed25519 key, and as `HeldNode` does.
 */
export function openNode(texts: {
  readonly gateway: string
  readonly token: string
  readonly key: string
}): HeldNode {
  const { gateway, token, key } = texts
  const holder = privateJwkSchema.safeParse(jsonOf(Buffer.from(key.trim())))
  if (!holder.success || holder.data.kty !== 'OKP') {
    throw new Rejected('key', 'expected an Ed25519 private key as a JSON Web Key', 'key')
  }
  return new HeldNode({ gateway, token: token.trim(), holder: holder.data, clock: systemClock() })
}

/** What a child is given; what is left out is as its parent's. */
export interface ChildWish {
  readonly kind: NodeKind
  /** Minor units of the run's currency; 0 for a looker, the quote's amount for a leaf. */
  readonly ceiling: Minor
  /** A leaf has one. */
  readonly payees?: readonly PayeeId[]
  readonly expiresAtSeconds?: Seconds
  /** A leaf's: SHA-256 of the quote's text. */
  readonly quote?: Digest
  /** A planner's: how many nodes it may make below itself; they are taken from those of its parent. */
  readonly nodes?: number
}

const TRIES = 5
/** Before the second try, where the gateway names no time; it doubles from there. */
const WAIT_MS = 250
/** A gateway that names a longer time is not waited for: whether that is worth it, the caller knows. */
const LONGEST_WAIT_MS = 60_000

/**
 * Makes a call again while its error advises `retry`: no answer came, the gateway was at fault, or a proof was too
 * old. Each try signs a new proof, and every call of the client may be repeated: what was done is done once. Throws
 * the last ClientError.
 */
export async function retrying<T>(call: () => Promise<T>, tries = TRIES): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await call()
    } catch (error) {
      const isPassing = error instanceof ClientError && error.advice === 'retry'
      if (!isPassing || tried >= tries) throw error
      const waitMs = (error.retryAfterSeconds ?? 0) * 1000 || WAIT_MS * 2 ** (tried - 1)
      if (waitMs > LONGEST_WAIT_MS) throw error
      await sleep(waitMs)
    }
  }
}

/** A person, a payer or the rail has not said the last word. */
const isWaiting = ({ verdict, state }: PaymentAnswer): boolean =>
  verdict === 'hold' || (verdict === 'allow' && state !== 'settled' && state !== 'released')

/** One node of one run. It connects only when something is asked of it. */
export class HeldNode {
  readonly claims: BlockClaims
  readonly run: RunId
  readonly client: Client
  readonly #options: NodeOptions
  /** Places among the children that were asked for and refused, so that the next child may have them. */
  readonly #refused: number[] = []
  #made = 0

  /** Throws Rejected: `token_invalid` or `grammar` where the token cannot be read, `signer` where the key is another's. */
  constructor(options: NodeOptions) {
    const chain = readToken(options.token)
    const [claims, run] = [chain.at(-1), chain[0]?.run]
    if (claims === undefined || run === undefined) {
      throw new Rejected('token_invalid', 'expected a token of a run', 'token')
    }
    if (rawPublicKey(holderKeyObject(options.holder)) !== claims.holder) {
      throw new Rejected('signer', 'expected the key that the token names as its holder')
    }
    this.claims = claims
    this.run = run
    this.client = createClient(options)
    this.#options = options
  }

  /**
   * Mints the next child and has it recorded; after a lost reply the same token is sent again and finds the same
   * node. An id that an earlier life of this planner has used up is passed over, so a planner that was started again
   * needs no memory of its children; it may close them by their ids, which `client.readRun` lists. Throws Rejected
   * where the child would be wider than its parent, ClientError where the gateway refuses.
   */
  async split({ nodes, ...wish }: ChildWish): Promise<HeldNode> {
    for (let passedOver = 0; ; passedOver += 1) {
      const place = this.#refused.pop() ?? this.#made++
      try {
        const child = this.#mint(wish, place)
        await retrying(() => this.client.registerNode(this.run, child.token, nodes))
        return new HeldNode(child)
      } catch (error) {
        const isUsed = error instanceof ClientError && error.code === 'conflict'
        if (!isUsed) this.#refused.push(place)
        if (!isUsed || passedOver >= LIMITS.fanOut) throw error
      }
    }
  }

  /** A child that searches and asks for quotes, and can pay nothing. */
  splitLooker(wish: Omit<ChildWish, 'kind' | 'ceiling' | 'quote'> = {}): Promise<HeldNode> {
    return this.split({ ...wish, kind: 'looker', ceiling: ZERO })
  }

  /**
   * A child that can pay this one quote: its amount, to its payee. What the quote says is not verified here; the
   * gateway does. Throws Rejected `quote` for a text that is none, else as `split` does.
   */
  async splitLeaf(
    quote: string,
    wish: Pick<ChildWish, 'expiresAtSeconds'> = {},
  ): Promise<HeldNode> {
    const { claims, digest } = readQuote(quote)
    if (claims === undefined || claims.currency !== this.claims.currency) {
      throw new Rejected('quote', 'expected a quote in the currency of the run', 'quote')
    }
    const { amount: ceiling, payee } = claims
    return this.split({ ...wish, kind: 'leaf', ceiling, payees: [payee], quote: digest })
  }

  /**
   * Pays as this leaf and waits for whoever has to say more: a person, a payer, the rail. The last answer, when nothing
   * is waited for any more or `signal` ends the waiting: it may then still be held, or on its way. However often it is
   * sent, one quote is one payment.
   */
  async pay(quote: string, options: WatchOptions = {}): Promise<PaymentAnswer> {
    for (;;) {
      const answer = await retrying(() => this.client.pay(quote))
      if (!isWaiting(answer) || options.signal?.aborted) return answer
      for await (const { state } of this.client.watch(options))
        if (state === 'halted') return answer
      if (options.signal?.aborted) return answer
    }
  }

  /** What this planner may still give away, in minor units: less than its ceiling once something was spent. */
  async left(): Promise<Minor> {
    const { nodes } = await retrying(() => this.client.readRun(this.run))
    const own = nodes.find(({ id }) => id === this.claims.node)
    return own?.available ?? ZERO
  }

  /** As a planner, closes a node below, or itself, and all below that; what was not spent goes to its parent. */
  close(below: HeldNode = this): ReturnType<Client['closeNode']> {
    return retrying(() => this.client.closeNode(this.run, below.claims.node))
  }

  #mint(wish: Omit<ChildWish, 'nodes'>, place: number): NodeOptions {
    const { token, holder } = this.#options
    const { privateKey } = generateKeyPairSync('ed25519')
    const { node, currency, expiresAtSeconds, payees } = this.claims
    const minted = mintChild(token, holder, {
      currency,
      expiresAtSeconds,
      payees,
      ...wish,
      node: allottedNodeIdOf(node, place),
      holder: rawPublicKey(privateKey),
    })
    return { ...this.#options, token: minted.token, holder: privateKey }
  }
}
