/** Chains, requests and proofs that are the same in every run: keys from fixed seeds, a fixed time, no fresh numbers. */
import { encodeBlock } from '../../../runtime/client/encode.ts'
import type { BlockClaims, RequestFacts } from '../../../runtime/core/block.ts'
import { sha256 } from '../../../runtime/core/ids.ts'
import { signJws } from '../../../runtime/core/jws.ts'
import { ed25519FromSeed, rawPublicKey } from '../../../runtime/core/keys.ts'
import { minor } from '../../../runtime/core/money.ts'
import { later, seconds } from '../../../runtime/core/time.ts'
import type { ProofToCheck } from '../../../runtime/tokens/proof.ts'
import type { RootKeys } from '../../../runtime/tokens/root-keys.ts'
import type { KeyRing } from '../../../runtime/tokens/verify.ts'
import { type FixedBlock, signFixed } from '../../attacks/forge/fixed.ts'

/** A different, always equal secret for every number up to 255. */
const seedOf = (n: number) => new Uint8Array(32).fill(n)
export const keyOf = (n: number) => ed25519FromSeed(seedOf(n))

const ROOT = { id: 7, privateKey: keyOf(200) }
export const ROOT_KEYS: RootKeys = { current: ROOT, others: [] }
export const ROOT_PUBLIC = Buffer.from(rawPublicKey(ROOT.privateKey), 'base64url')
export const RING: KeyRing = new Map([[ROOT.id, ROOT_PUBLIC]])

const NOW = seconds(1_800_000_000)
const QUOTE = sha256('a quote')

/** Of node `n` of a chain; its holder is key `n + 1`. */
const plannerClaims = (n: number): BlockClaims => ({
  node: `nd_${n}`,
  kind: 'planner',
  currency: 'INR',
  ceiling: minor(1_000),
  holder: rawPublicKey(keyOf(n + 1)),
  expiresAtSeconds: later(NOW, 3_600),
  payees: ['acme', 'globex', 'initech'],
})

export const leafClaims = (n: number): BlockClaims => ({
  ...plannerClaims(n),
  kind: 'leaf',
  ceiling: minor(250),
  payees: ['acme'],
  quote: QUOTE,
})

export const REQUEST: RequestFacts = {
  operation: 'pay',
  amount: minor(250),
  currency: 'INR',
  payee: 'acme',
  quote: QUOTE,
  nowSeconds: NOW,
}

const block = (claims: BlockClaims, n: number): FixedBlock => ({
  payload: encodeBlock(claims, n),
  signer: n === 0 ? ROOT.privateKey : keyOf(n),
  nextSecret: seedOf(100 + n),
})

function plannersTo(depth: number): FixedBlock[] {
  const root: BlockClaims = { ...plannerClaims(0), mandate: sha256('a mandate'), run: 'run_one' }
  return [
    block(root, 0),
    ...Array.from({ length: depth }, (_, i) => block(plannerClaims(i + 1), i + 1)),
  ]
}

/** An open token whose last planner is at `depth`; its holder is key `depth + 1`. */
export const plannerAt = (depth: number): string =>
  signFixed(ROOT.id, plannersTo(depth), false).token

/** Planners down to `depth - 1` and a sealed leaf at `depth`: `depth + 1` blocks. */
export const leafAt = (depth: number): string =>
  signFixed(ROOT.id, [...plannersTo(depth - 1), block(leafClaims(depth), depth)], true).token

/** A payment's proof of possession, by the holder of the leaf at `depth`, with all that it is checked against. */
export function proofAt(depth: number, token: string): ProofToCheck {
  const [method, url, key] = ['POST', 'http://127.0.0.1:8080/payments', keyOf(depth + 1)]
  const proof = signJws({
    typ: 'dpop+jwt',
    key,
    jwk: { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(key) },
    claims: { htm: method, htu: url, iat: NOW, jti: 'bench-0123456789abcdef', ath: sha256(token) },
  })
  return { proof, method, url, token, now: NOW }
}
