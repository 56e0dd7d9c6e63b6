/**
 * What a presented token proves. One function, synchronous, no clock and no store: caps first, then the root key by
 * its id, then the library's signature check, and only then what the blocks say. Nothing reads a block before its
 * signature holds, and the engine never runs on a block that is not exactly our grammar.
 */
import type { Biscuit as Token } from '@biscuit-auth/biscuit-wasm'
import { isTerminal, widenedClaim } from '../client/claims.ts'
import { decodeBlock } from '../client/decode.ts'
import {
  ED25519,
  type Envelope,
  readEnvelope,
  revocationIdsOf,
  tokenBytes,
} from '../client/envelope.ts'
import { FIRST_BLOCK_VERSION, THIRD_PARTY_VERSION } from '../client/sign.ts'
import type { BlockClaims, RequestFacts } from '../core/block.ts'
import type { TokenRefusal, TokenVerdict } from '../core/engine.ts'
import type { HolderKey } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import { authorise } from './authorise.ts'
import { type Biscuit, callLibrary } from './library.ts'

/** Root keys in force, by id: raw Ed25519 public keys, 32 bytes. A retired key is not in it. */
export type KeyRing = ReadonlyMap<number, Uint8Array>

const refused = (code: TokenRefusal): TokenVerdict => ({ ok: false, code })

interface Read {
  readonly bytes: Uint8Array
  readonly envelope: Envelope
  readonly rootKeyId: number
  readonly rootKey: Uint8Array
}

/** Before the library sees anything: size, block count, key algorithms, and which root key is meant. */
function read(token: string, ring: KeyRing): Read | TokenRefusal {
  if (token.length > LIMITS.tokenChars) return 'too_large'
  const bytes = tokenBytes(token)
  if (bytes === undefined) return 'token_invalid'
  const envelope = readEnvelope(bytes)
  if (envelope === 'too_large') return 'too_large'
  if (envelope === 'malformed' || !isAllEd25519(envelope)) return 'token_invalid'
  const { rootKeyId } = envelope
  const rootKey = rootKeyId === undefined ? undefined : ring.get(rootKeyId)
  if (rootKeyId === undefined || rootKey === undefined) return 'root_unknown'
  return { bytes, envelope, rootKeyId, rootKey }
}

/** P-256 signatures can be changed by anybody and still verify, so a chain with one is not a chain. */
function isAllEd25519({ blocks }: Envelope): boolean {
  return blocks.every(({ nextKey, external }) => {
    return nextKey.algorithm === ED25519 && (external?.key.algorithm ?? ED25519) === ED25519
  })
}

/**
 * Every signature holds and the library understood these bytes and no others: it writes the same bytes again. So
 * what was read from them here is what the library verified, and a token has one encoding.
 */
export function parse(
  biscuit: Biscuit,
  { bytes, rootKey }: Pick<Read, 'bytes' | 'rootKey'>,
): Token | undefined {
  // The library consumes the key it is handed, so every call gets a new one; and it must never throw.
  const provider = () => biscuit.PublicKey.fromBytes(rootKey, biscuit.SignatureAlgorithm.Ed25519)
  const parsed = callLibrary(() => biscuit.Biscuit.fromBytesWithProvider(bytes, provider))
  if (!parsed.ok) return undefined
  if (Buffer.from(parsed.value.toBytes()).equals(bytes)) return parsed.value
  parsed.value.free()
  return undefined
}

/** A later block that no holder signed is nobody's; its text need not be looked at. */
const hasUnsignedBlock = ({ blocks }: Envelope): boolean =>
  blocks.some((block, i) => i > 0 && block.external === undefined)

/** Each block's claims if each is exactly what we mint, in bytes, signature format and sealing. */
function decode({ blocks, proof }: Envelope): readonly BlockClaims[] | undefined {
  const chain: BlockClaims[] = []
  for (const [i, block] of blocks.entries()) {
    const claims = decodeBlock(block.payload, i)
    if (claims === undefined) return undefined
    if (block.version !== (i === 0 ? FIRST_BLOCK_VERSION : THIRD_PARTY_VERSION)) return undefined
    chain.push(claims)
  }
  const last = chain.at(-1)
  const sealed = 'finalSignature' in proof
  return last !== undefined && isTerminal(last.kind) === sealed ? chain : undefined
}

/** Block by block: signed by the holder whom the block before it declares, and no key holds two places. */
function signersHold({ blocks }: Envelope, chain: readonly BlockClaims[]): boolean {
  const holders = new Set(chain.map((claims) => claims.holder))
  if (holders.size !== blocks.length) return false
  for (let i = 1; i < blocks.length; i += 1) {
    const signer = blocks[i]?.external?.key.bytes
    if (signer === undefined) return false
    if (Buffer.from(signer).toString('base64url') !== chain[i - 1]?.holder) return false
  }
  return true
}

function firstWidened(chain: readonly BlockClaims[]): number | undefined {
  const at = chain.findIndex((child, i) => {
    const parent = chain[i - 1]
    return parent !== undefined && widenedClaim(parent, child) !== undefined
  })
  return at === -1 ? undefined : at
}

/**
 * Verifies a token's text under the ring, and asks the engine about `request` if one is given. Throws Fault
 * (`engine_timeout`) and LibraryError, both of which say nothing against the token.
 */
export function verifyToken(
  biscuit: Biscuit,
  ring: KeyRing,
  token: string,
  request?: RequestFacts,
  holder?: HolderKey,
): TokenVerdict {
  const found = read(token, ring)
  if (typeof found === 'string') return refused(found)
  const parsed = parse(biscuit, found)
  if (parsed === undefined) return refused('token_invalid')
  using held = parsed
  const { envelope, rootKeyId } = found
  if (hasUnsignedBlock(envelope)) return refused('signer')
  const blocks = decode(envelope)
  if (blocks === undefined) return refused('grammar')
  if (!signersHold(envelope, blocks)) return refused('signer')
  if (holder !== undefined && blocks.at(-1)?.holder !== holder) return refused('proof_invalid')
  const widenedAt = firstWidened(blocks)
  return {
    ok: true,
    token: {
      rootKeyId,
      blocks,
      revocationIds: revocationIdsOf(envelope),
      sealed: 'finalSignature' in envelope.proof,
      ...(widenedAt !== undefined && { widenedAt }),
      ...(request && { authorised: authorise(biscuit, held, request) }),
    },
  }
}
