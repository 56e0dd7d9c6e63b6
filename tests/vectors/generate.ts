/** Writes the numbered vectors: always the same bytes, from test keys and fixed times. `npx node tests/vectors/generate.ts` */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { signFixed } from '../../eval/attacks/forge/fixed.ts'
import { encodeBlock } from '../../runtime/client/encode.ts'
import type { BlockClaims } from '../../runtime/core/block.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { signJws } from '../../runtime/core/jws.ts'
import { minor } from '../../runtime/core/money.ts'
import { later } from '../../runtime/core/time.ts'
import * as fix from '../tokens/fixtures.ts'

const URL_PAY = 'https://gate.example/payments'
const { NOW, keyOf, holderOf } = fix
type Payload = (honest: Buffer) => Uint8Array
type Block = { claims: BlockClaims; signer?: number; sealed?: boolean; payload?: Payload }

/** Every secret is a byte repeated: test keys, never anything else. */
function mint(blocks: readonly Block[], rootKeyId = fix.ROOT_ID, rootKey = fix.ROOT_KEY) {
  const chain = blocks.map(({ claims, signer, payload = (own: Buffer) => own }, n) => ({
    payload: payload(encodeBlock(claims, n)),
    signer: n === 0 ? rootKey : keyOf(signer ?? n),
    nextSecret: new Uint8Array(32).fill(100 + n),
  }))
  const last = blocks.at(-1)
  return signFixed(rootKeyId, chain, last?.sealed ?? last?.claims.kind !== 'planner')
}

const root: Block = { claims: fix.rootClaims() }
const leaf = (changes: Partial<BlockClaims> = {}, more: Partial<Block> = {}): Block[] => [
  root,
  { claims: fix.leafClaims(1, changes), ...more },
]
const deep = (depth: number): Block[] => [
  root,
  ...Array.from({ length: depth - 1 }, (_, i) => ({ claims: fix.plannerClaims(i + 1) })),
  { claims: fix.leafClaims(depth) },
]
const tail = (...bytes: number[]) => leaf({}, { payload: (own) => Buffer.concat([own, Buffer.from(bytes)]) })

interface Extra {
  readonly token?: (token: string) => string
  readonly proof?: Record<string, unknown>
  readonly by?: number
  readonly noProof?: boolean
  readonly seen?: boolean
  readonly recorded?: readonly string[]
  readonly now?: number
  readonly depth?: number
  readonly rootKeyId?: number
  readonly rootKey?: number
  /** The usual root key is older, and this is the second from which it is refused; key 202 signs as id 8. */
  readonly retiresAt?: number
  /** What is asked for; otherwise nothing is asked of the engine. */
  readonly facts?: object
}

const jwkOf = (n: number) => ({ kty: 'OKP', crv: 'Ed25519', x: holderOf(n) }) as const

const ringOf = (retiresAt?: number): object[] =>
  retiresAt === undefined
    ? [{ id: fix.ROOT_ID, jwk: jwkOf(200) }]
    : [{ id: 8, jwk: jwkOf(202) }, { id: fix.ROOT_ID, jwk: jwkOf(200), retiresAt }]

function expectedOf(code: string, chain: readonly BlockClaims[], facts?: object): object {
  const told = facts && (code === 'ok' || code === 'capability') ? { authorised: code === 'ok' } : {}
  return code === 'ok' ? { ok: true, ...told, chain } : { ok: false, code, ...told }
}

const vectors: object[] = []
function add(title: string, shows: string, code: string, blocks: readonly Block[], extra: Extra = {}) {
  const made = mint(blocks, extra.rootKeyId, keyOf(extra.rootKey ?? 200))
  const token = extra.token?.(made.token) ?? made.token
  const by = keyOf(extra.by ?? blocks.length)
  const claims = { htm: 'POST', htu: URL_PAY, iat: NOW, jti: 'vector-proof-0001', ath: sha256(token), ...extra.proof }
  const proof = signJws({ typ: 'dpop+jwt', key: by, jwk: jwkOf(extra.by ?? blocks.length), claims })
  vectors.push({
    title,
    shows,
    keys: 'test keys: every secret is one byte repeated 32 times',
    rootKeys: ringOf(extra.retiresAt),
    token,
    request: {
      method: 'POST',
      url: URL_PAY,
      now: extra.now ?? NOW,
      ...(extra.facts && { facts: extra.facts }),
    },
    ...(extra.noProof ? {} : { proof }),
    seenProofs: extra.seen ? ['vector-proof-0001'] : [],
    recorded: extra.recorded ?? made.revocationIds,
    depth: extra.depth ?? 16,
    expected: expectedOf(code, blocks.map((b) => b.claims), extra.facts),
  })
}

const flip = (at: number) => (token: string) => {
  const bytes = Buffer.from(token, 'base64url')
  const i = at < 0 ? bytes.length + at : at
  bytes[i] = (bytes[i] ?? 0) ^ 1
  return bytes.toString('base64url')
}

add('honest leaf', 'a leaf below a root', 'ok', leaf())
add('honest leaf at depth 16', 'the deepest chain', 'ok', deep(16))
add('ceiling equal to the parent’s', 'equal is not wider', 'ok', leaf({ ceiling: minor(1_000) }))
add('expiry equal to the parent’s', 'equal is not later', 'ok', leaf({ expiresAtSeconds: later(NOW, 3_600) }))
add('largest ceiling', '2^53 - 1', 'ok', [{ claims: fix.rootClaims({ ceiling: minor(Number.MAX_SAFE_INTEGER) }) }, { claims: fix.leafClaims(1) }])
add('padded', 'base64url with its padding', 'ok', leaf(), { token: (t) => t.padEnd(Math.ceil(t.length / 4) * 4, '=') })
add('proof 60 seconds old', 'the oldest proof', 'ok', leaf(), { now: NOW + 60 })
add('proof 2 seconds ahead', 'the largest skew', 'ok', leaf(), { now: NOW - 2 })
add('depth at the limit', 'depth is blocks less one', 'ok', deep(3), { depth: 3 })
add('depth over the limit', 'one more', 'depth', deep(4), { depth: 3 })
add('root alone pays', 'depth 0 does not pay', 'depth', [root])
add('18 blocks', 'one block too many', 'too_large', deep(17))
add('49153 characters', 'one character too long', 'too_large', leaf(), { token: () => 'A'.repeat(49_153) })
for (const at of [40, 700, 1_100, -1]) add(`bit flipped at ${at}`, 'a signature does not hold', 'token_invalid', leaf(), { token: flip(at) })
add('cut short', 'one byte missing', 'token_invalid', leaf(), { token: (t) => Buffer.from(t, 'base64url').subarray(0, -1).toString('base64url') })
add('too much padding', 'another text', 'token_invalid', leaf(), { token: (t) => `${t}====` })
add('unknown field behind', 'another encoding', 'token_invalid', leaf(), { token: (t) => Buffer.concat([Buffer.from(t, 'base64url'), Buffer.from([0x7a, 1, 0])]).toString('base64url') })
add('blocks swapped', 'order is signed', 'token_invalid', deep(3), { token: (t) => fix.withBlocks(t, ([a, b, c, d]) => [a, c, b, d].filter((x) => x !== undefined)) })
add('last block gone', 'the parent does not come back', 'token_invalid', deep(3), { token: (t) => fix.withBlocks(t, (all) => all.slice(0, -1)) })
add('root of another key', 'our id, not our key', 'token_invalid', leaf(), { rootKey: 201 })
add('not recorded', 'another chain of revocation ids', 'token_invalid', leaf(), { recorded: ['00', '11'] })
add('root key id unknown', 'no key of that id', 'root_unknown', leaf(), { rootKeyId: 8 })
add('root key id absent', 'no fallback', 'root_unknown', leaf(), { token: (t) => Buffer.from(t, 'base64url').subarray(2).toString('base64url') })
add('scope', 'a scope that never prints', 'grammar', tail(0x3a, 2, 8, 1))
add('unknown field in a block', 'nothing more', 'grammar', tail(0x7a, 1, 0))
add('public keys', 'nothing more', 'grammar', tail(0x42, 0))
add('context', 'a text that never prints', 'grammar', leaf({}, { payload: (own) => Buffer.concat([Buffer.from([0x12, 1, 65]), own]) }))
add('run in a later block', 'only block 0 names a run', 'grammar', leaf({ run: 'run_two' }))
add('mandate in a later block', 'only block 0 names a mandate', 'grammar', leaf({ mandate: fix.MANDATE }))
add('leaf of two payees', 'a leaf has one', 'grammar', leaf({ payees: ['acme', 'globex'] }))
add('payees not sorted', 'one order', 'grammar', [root, { claims: fix.plannerClaims(1, { payees: ['globex', 'acme'] }) }])
add('open leaf', 'leaves are sealed', 'grammar', leaf({}, { sealed: false }))
add('sealed planner', 'planners are open', 'grammar', [root, { claims: fix.plannerClaims(1), sealed: true }])
add('signed by a thief', 'not the holder above', 'signer', leaf({}, { signer: 66 }))
add('signed by itself', 'not the holder above', 'signer', leaf({}, { signer: 2 }))
add('one key in two places', 'keys never repeat', 'signer', leaf({ holder: holderOf(1) }), { by: 1 })
add('ceiling one more', 'a unit too much', 'widened', leaf({ ceiling: minor(1_001) }))
add('expiry one later', 'a second too long', 'widened', leaf({ expiresAtSeconds: later(NOW, 3_601) }))
add('another payee', 'a payee that nobody gave', 'widened', leaf({ payees: ['zz'] }))
add('another currency', 'it never changes', 'widened', leaf({ currency: 'USD' }))
add('looker with money', 'a looker has none', 'widened', [root, { claims: fix.lookerClaims(1, { ceiling: minor(1) }) }])
add('child of a leaf', 'a leaf ends a chain', 'widened', [...leaf({}, { sealed: false }), { claims: fix.leafClaims(2) }])
add('no proof', 'a token alone is nothing', 'proof_invalid', leaf(), { noProof: true })
add('proof of another holder', 'not the last block’s', 'proof_invalid', leaf(), { by: 1 })
add('proof 61 seconds old', 'too old by one', 'proof_invalid', leaf(), { now: NOW + 61 })
add('proof 3 seconds ahead', 'too early by one', 'proof_invalid', leaf(), { now: NOW - 3 })
const bad: [string, Record<string, unknown>][] = [['method', { htm: 'GET' }], ['url', { htu: `${URL_PAY}/` }], ['token hash', { ath: sha256('x') }], ['short jti', { jti: 'a'.repeat(15) }], ['claim more', { exp: NOW + 9 }]]
for (const [what, proof] of bad) add(`proof: ${what}`, 'signed, and not for this', 'proof_invalid', leaf(), { proof })
add('proof seen before', 'good once', 'proof_replayed', leaf(), { seen: true })

add('root key one second before its end', 'the last second in force', 'ok', leaf(), { retiresAt: NOW + 1 })
add('root key at its end', 'refused from that second on', 'root_unknown', leaf(), { retiresAt: NOW })
add('root key one second after its end', 'as unknown as one that never was', 'root_unknown', leaf(), { retiresAt: NOW - 1 })
add('proof made before the root key’s end', 'the second of the request counts', 'root_unknown', leaf(), { retiresAt: NOW + 5, now: NOW + 5 })
add('root key that followed a retired one', 'its tokens are not touched', 'ok', leaf(), { retiresAt: NOW - 1, rootKeyId: 8, rootKey: 202 })
add('retired root key under the id that followed', 'no other key is tried', 'token_invalid', leaf(), { retiresAt: NOW - 1, rootKeyId: 8 })
add('new root key under an id in its grace', 'no other key is tried', 'token_invalid', leaf(), { retiresAt: NOW + 60, rootKey: 202 })

const pay = { operation: 'pay', amount: 250, currency: 'INR', payee: 'acme', quote: fix.QUOTE }
const { quote: _quote, ...unquoted } = pay
const asked = (title: string, shows: string, code: string, facts: object, blocks = leaf(), extra: Extra = {}) =>
  add(`asks: ${title}`, shows, code, blocks, { ...extra, facts })
asked('all of the ceiling', 'equal is within', 'ok', pay)
asked('one unit', 'the least that a leaf pays', 'ok', { ...pay, amount: 1 })
asked('one unit more than the ceiling', 'a unit too much', 'capability', { ...pay, amount: 251 })
asked('nothing', 'a leaf pays at least 1', 'capability', { ...pay, amount: 0 })
asked('a negative amount', 'less than the ceiling, and still refused', 'capability', { ...pay, amount: -1 })
asked('another currency', 'the number alone is nothing', 'capability', { ...pay, currency: 'JPY' })
asked('a payee of the root alone', 'the leaf has fewer', 'capability', { ...pay, payee: 'globex' })
asked('another quote', 'one quote only', 'capability', { ...pay, quote: sha256('another quote') })
asked('no quote', 'what is not stated is not permitted', 'capability', unquoted)
asked('a search of a leaf', 'a leaf pays only', 'capability', { ...pay, operation: 'search' })
asked('a payment of a looker', 'a looker searches only', 'capability', { ...unquoted, amount: 0 }, [root, { claims: fix.lookerClaims(1) }])
asked('a search of a looker', 'for nothing', 'ok', { ...unquoted, operation: 'search', amount: 0 }, [root, { claims: fix.lookerClaims(1) }])
asked('at depth 16', 'every block is asked', 'ok', pay, deep(16))
const short = leaf({ expiresAtSeconds: later(NOW, 5) })
asked('the second before the end', 'in time', 'ok', pay, short, { now: NOW + 4 })
asked('a second after the end', 'too late', 'capability', pay, short, { now: NOW + 6 })
asked('more, with a chain that widens', 'the chain is refused first', 'widened', { ...pay, amount: 1_001 }, leaf({ ceiling: minor(1_001) }))

/** File names and texts, in order. */
export const files = (): readonly (readonly [string, string])[] =>
  vectors.map((vector, i) => {
    const { title } = vector as { title: string }
    const slug = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
    return [`${String(i + 1).padStart(3, '0')}-${slug}.json`, `${JSON.stringify(vector, null, 2)}\n`]
  })

if (process.argv[1] === import.meta.filename) {
  for (const old of readdirSync(import.meta.dirname)) if (old.endsWith('.json')) rmSync(join(import.meta.dirname, old))
  for (const [name, text] of files()) writeFileSync(join(import.meta.dirname, name), text)
}
