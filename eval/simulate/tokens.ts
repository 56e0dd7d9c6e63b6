/** A token engine without signatures, and keys that are made once for all seeds. */
import type { KeyObject } from 'node:crypto'
import type { BlockClaims, RequestFacts } from '../../runtime/core/block.ts'
import type { HolderKeys, TokenEngine, TokenVerdict } from '../../runtime/core/engine.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { ed25519FromSeed, rawPublicKey } from '../../runtime/core/keys.ts'
import type { Process } from './process.ts'
import type { World } from './world.ts'

export const keyFor = (name: string): KeyObject =>
  ed25519FromSeed(Buffer.from(sha256(name), 'base64url'))

interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: string
}

/** In the order in which they were needed first; every world begins with the first of them. */
const PAIRS: KeyPair[] = []

function pairAt(index: number): KeyPair {
  const known = PAIRS[index]
  if (known !== undefined) return known
  const privateKey = keyFor(`holder ${index}`)
  const made = { privateKey, publicKey: rawPublicKey(privateKey) }
  PAIRS.push(made)
  return made
}

/** Each holder's own key, the same for as long as the world lasts. */
export class KeyRing implements HolderKeys {
  readonly #pairs = new Map<string, KeyPair>()

  of(holder: string): KeyPair {
    const pair = this.#pairs.get(holder) ?? pairAt(this.#pairs.size)
    this.#pairs.set(holder, pair)
    return pair
  }

  privateKey(node: string): KeyObject {
    return this.of(node).privateKey
  }

  publicKey(node: string): string {
    return this.of(node).publicKey
  }
}

interface FakeToken {
  readonly blocks: readonly BlockClaims[]
  readonly revocationIds: readonly string[]
}

/** Tokens are kept in plain sight; they outlive every process, as real ones do. */
export class Tokens {
  readonly #tokens = new Map<string, FakeToken>()

  port(world: World, process: Process): TokenEngine {
    const hop = <T>(act: () => T) =>
      world.io(process, 'engine', () => {
        if (world.isFaulty && world.random.chance(0.005))
          throw new Fault('engine_busy', 'simulated')
        return act()
      })
    return {
      verify: (text, request) => hop(() => this.#verify(text, request)),
      recognise: () => undefined,
      mintRoot: (claims) => hop(() => this.mint(undefined, claims)),
      mintChild: (parent, _holder, claims) => hop(() => this.mint(parent, claims)),
      close: async () => undefined,
    }
  }

  mint(
    parent: string | undefined,
    claims: BlockClaims,
  ): { token: string; revocationIds: readonly string[] } {
    const above = parent === undefined ? undefined : this.#tokens.get(parent)
    const id = Buffer.from(`revocation ${this.#tokens.size}`).toString('hex')
    const revocationIds = [...(above?.revocationIds ?? []), id]
    const token = sha256(`token ${this.#tokens.size}`)
    this.#tokens.set(token, { blocks: [...(above?.blocks ?? []), claims], revocationIds })
    return { token, revocationIds }
  }

  #verify(text: string, request: RequestFacts | undefined): TokenVerdict {
    const token = this.#tokens.get(text)
    if (token === undefined) return { ok: false, code: 'token_invalid' }
    const { blocks, revocationIds } = token
    const authorised = request === undefined || blocks.every((block) => permits(block, request))
    const sealed = blocks.at(-1)?.kind !== 'planner'
    return {
      ok: true,
      token: { rootKeyId: 1, blocks, revocationIds, sealed, ...(request && { authorised }) },
    }
  }
}

const permits = (block: BlockClaims, request: RequestFacts): boolean =>
  request.amount <= block.ceiling &&
  request.currency === block.currency &&
  block.payees.includes(request.payee) &&
  request.nowSeconds < block.expiresAtSeconds &&
  (block.quote === undefined || block.quote === request.quote)
