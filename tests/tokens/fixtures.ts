/** Keys, claims and chains that the tests of this room share. */
import { encodeBlock } from '../../runtime/client/encode.ts'
import {
  type Envelope,
  readEnvelope,
  type SignedBlock,
  tokenBytes,
  writeEnvelope,
} from '../../runtime/client/envelope.ts'
import { signFirstBlock, signNextBlock } from '../../runtime/client/sign.ts'
import type { BlockClaims, RequestFacts } from '../../runtime/core/block.ts'
import type { Minted } from '../../runtime/core/engine.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { ed25519FromSeed, rawPublicKey } from '../../runtime/core/keys.ts'
import { minor } from '../../runtime/core/money.ts'
import { later, seconds } from '../../runtime/core/time.ts'
import type { KeyRing } from '../../runtime/tokens/verify.ts'

/** A different, always equal key for every number up to 255. */
export const keyOf = (n: number) => ed25519FromSeed(new Uint8Array(32).fill(n))
export const holderOf = (n: number) => rawPublicKey(keyOf(n))

export const ROOT_KEY = keyOf(200)
export const ROOT_ID = 7
export const RING: KeyRing = new Map([[ROOT_ID, Buffer.from(rawPublicKey(ROOT_KEY), 'base64url')]])

export const NOW = seconds(1_800_000_000)
export const QUOTE = sha256('a quote')
export const MANDATE = sha256('a mandate')

/** Block 0: a planner with 1,000 and three payees; its holder is key 1. */
export const rootClaims = (changes: Partial<BlockClaims> = {}): BlockClaims => ({
  node: 'nd_root',
  kind: 'planner',
  currency: 'INR',
  ceiling: minor(1_000),
  holder: holderOf(1),
  expiresAtSeconds: later(NOW, 3_600),
  payees: ['acme', 'globex', 'initech'],
  mandate: MANDATE,
  run: 'run_one',
  ...changes,
})

/** Block `n` of a chain: a planner with the same as the root; its holder is key `n + 1`. */
export const plannerClaims = (n: number, changes: Partial<BlockClaims> = {}): BlockClaims => {
  const { mandate: _mandate, run: _run, ...rest } = rootClaims()
  return { ...rest, node: `nd_${n}`, holder: holderOf(n + 1), ...changes }
}

export const leafClaims = (n: number, changes: Partial<BlockClaims> = {}): BlockClaims => ({
  ...plannerClaims(n),
  kind: 'leaf',
  ceiling: minor(250),
  payees: ['acme'],
  quote: QUOTE,
  ...changes,
})

export const lookerClaims = (n: number, changes: Partial<BlockClaims> = {}): BlockClaims => ({
  ...plannerClaims(n),
  kind: 'looker',
  ceiling: minor(0),
  ...changes,
})

export const payRequest = (changes: Partial<RequestFacts> = {}): RequestFacts => ({
  operation: 'pay',
  amount: minor(250),
  currency: 'INR',
  payee: 'acme',
  quote: QUOTE,
  nowSeconds: NOW,
  ...changes,
})

export function envelopeOf(token: string): Envelope {
  const bytes = tokenBytes(token)
  const envelope = bytes === undefined ? 'malformed' : readEnvelope(bytes)
  if (typeof envelope === 'string') throw new Error(`expected an envelope: ${envelope}`)
  return envelope
}

export const withBlocks = (
  token: string,
  change: (blocks: readonly SignedBlock[]) => readonly SignedBlock[],
): string => {
  const envelope = envelopeOf(token)
  return writeEnvelope({ ...envelope, blocks: change(envelope.blocks) }).toString('base64url')
}

export const root = (claims: BlockClaims = rootClaims()): Minted =>
  signFirstBlock({ rootKey: ROOT_KEY, rootKeyId: ROOT_ID, payload: encodeBlock(claims, 0) })

/** Appends whatever it is told, by whatever key; sealed as the kind asks unless told. */
export function append(
  parent: string,
  claims: BlockClaims,
  options: { signer?: number; sealed?: boolean } = {},
): Minted {
  const envelope = envelopeOf(parent)
  const index = envelope.blocks.length
  return signNextBlock({
    parent: envelope,
    holder: keyOf(options.signer ?? index),
    payload: encodeBlock(claims, index),
    sealed: options.sealed ?? claims.kind !== 'planner',
  })
}

/** Planners down to `depth - 1` and a leaf at `depth`, all honest. */
export function leafAt(depth: number): Minted {
  let token = root()
  for (let n = 1; n < depth; n += 1) token = append(token.token, plannerClaims(n))
  return append(token.token, leafClaims(depth))
}
