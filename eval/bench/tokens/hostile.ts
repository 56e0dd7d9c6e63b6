/**
 * What is thrown at a gateway while honest payments go on: the worst tokens that whoever holds an open token, or has
 * stolen a closed one, can send. Every one is refused; what is asked is what the refusing costs everybody else.
 */
import type { KeyObject } from 'node:crypto'
import { encodeBlock } from '../../../runtime/client/encode.ts'
import { mintChild, readToken } from '../../../runtime/client/mint.ts'
import { Writer } from '../../../runtime/client/protobuf.ts'
import type { BlockClaims } from '../../../runtime/core/block.ts'
import { sha256 } from '../../../runtime/core/ids.ts'
import { type PrivateJwk, privateJwkSchema, rawPublicKey } from '../../../runtime/core/keys.ts'
import { LIMITS } from '../../../runtime/core/limits.ts'
import { compile, withSymbols } from '../../attacks/forge/datalog.ts'
import { append, envelopeOf, newKey, withBlocks } from '../../attacks/forge/tokens.ts'

/** An open token of a run with the key that goes with it, and a valid leaf's token without its key. */
export interface Spoils {
  readonly insider: { readonly token: string; readonly holder: KeyObject }
  readonly stolen: string
  /** Where a planner brings what it has split off. */
  readonly nodesPath: string
}

export interface Shot {
  readonly kind: string
  readonly path: string
  readonly token: string
  /** Signs a fresh proof over the token; absent: `proof` is sent as it is. */
  readonly key?: PrivateJwk
  readonly proof?: string
  readonly body: string
}

const MEGABYTES_5 = 5 * 1024 * 1024
/** Of a payload: with four other parts the token still fits the limit. */
const LONGEST_PAYLOAD = 30_000

const jwkOf = (key: KeyObject): PrivateJwk => privateJwkSchema.parse(key.export({ format: 'jwk' }))

const PAYMENT = JSON.stringify({ quote: `${'e30'}.${'e30'}.${'A'.repeat(86)}` })

/** A block of one check whose one expression is these operations, written by hand: no parser need survive it. */
function expression(operations: (ops: Writer) => void): Uint8Array {
  const block = new Writer()
  block.uint(3, 5)
  block.message(6, () => {
    const { body } = query(operations)
    block.chunk(1, body)
  })
  return Uint8Array.from(block.finish())
}

/** A rule without a body: its head is `query`, and symbol 27 is that word in every block. */
function query(operations: (ops: Writer) => void): { body: Uint8Array } {
  const ops = new Writer()
  operations(ops)
  const rule = new Writer()
  rule.message(1, () => rule.uint(1, 27))
  rule.chunk(3, ops.finish())
  return { body: Uint8Array.from(rule.finish()) }
}

const TRUE = (ops: Writer) => ops.message(1, () => ops.message(1, () => ops.uint(6, 1)))
const PARENTHESES = (ops: Writer) => ops.message(1, () => ops.message(2, () => ops.uint(1, 1)))
const AND = (ops: Writer) => ops.message(1, () => ops.message(3, () => ops.uint(1, 13)))

const times = (n: number, write: (ops: Writer) => void) => (ops: Writer) => {
  for (let i = 0; i < n; i += 1) write(ops)
}

/** A term of arrays in arrays, as deep as given. */
function nested(depth: number): (ops: Writer) => void {
  let term = Buffer.from([0x30, 0x01])
  for (let i = 0; i < depth; i += 1) {
    const [element, array] = [new Writer(), new Writer()]
    element.chunk(1, term)
    array.chunk(9, element.finish())
    term = Buffer.from(array.finish())
  }
  return (ops) => ops.message(1, () => ops.chunk(1, term))
}

const numbers = (n: number) => Array.from({ length: n }, (_, i) => i)

/** Datalog whose evaluation would take for ever, were it ever begun. */
const SOURCES: Readonly<Record<string, string>> = {
  'bomb of joins': `${numbers(60)
    .map((i) => `n(${i})`)
    .join('; ')}; check if ${numbers(12)
    .map((i) => `n($v${i})`)
    .join(', ')}, $v0 > 99`,
  'bomb of rules': `m(0, 1); ${numbers(40)
    .map((i) => `m($x, $z) <- m($x, $y), m($y, $z), $x < ${i}`)
    .join('; ')}; check if m(7, 7)`,
  'regular expression': `check if "${'a'.repeat(2_000)}!".matches("^(a|a)*(a+)+$")`,
  'closures in closures': 'check if [1, 2].any($a -> [1, 2].any($b -> [3].any($c -> $c == $a)))',
  '150 nested parentheses': `check if ${'('.repeat(150)}true${')'.repeat(150)}`,
  'huge set': `s({${numbers(4_000).join(', ')}})`,
  '600 facts': numbers(600)
    .map((i) => `f(${i})`)
    .join('; '),
}

const BY_HAND: Readonly<Record<string, () => Uint8Array>> = {
  '5,000 nested parentheses': () =>
    expression((ops) => {
      TRUE(ops)
      times(4_900, PARENTHESES)(ops)
    }),
  'expression of 2,000 terms': () =>
    expression((ops) => {
      TRUE(ops)
      times(1_900, (each) => {
        TRUE(each)
        AND(each)
      })(ops)
    }),
  'arrays 90 deep': () => expression(nested(90)),
  'arrays 3,000 deep': () => expression(nested(3_000)),
}

/** A child that the insider could have made: where what is wrong in one thing begins. */
function childOf(token: string): BlockClaims {
  const parent = readToken(token).at(-1)
  if (parent === undefined) throw new Error('expected a block')
  const { mandate: _mandate, run: _run, ...rest } = parent
  return { ...rest, node: 'nd_hostile', holder: rawPublicKey(newKey()) }
}

/** The longest honest chain below the insider, which nobody has recorded, with its last holder's key. */
function deepest({ token: start, holder: first }: Spoils['insider']) {
  let [token, holder] = [start, first]
  while (envelopeOf(token).blocks.length < LIMITS.tokenBlocks) {
    const key = newKey()
    const claims = { ...childOf(token), holder: rawPublicKey(key) }
    token = mintChild(token, holder, claims).token
    holder = key
  }
  return { token, holder }
}

/** All of them, each with a name; the insider's blocks come with proofs by a key of the attacker's own. */
export async function hostileShots({
  insider,
  stolen,
  nodesPath,
}: Spoils): Promise<readonly Shot[]> {
  const own = jwkOf(newKey())
  const pay = (kind: string, token: string, proof: Partial<Shot> = { key: own }): Shot => {
    return { kind, path: '/payments', token, body: PAYMENT, ...proof }
  }
  const signed = (kind: string, payload: Uint8Array): Shot => {
    if (payload.length > LONGEST_PAYLOAD) throw new Error(`expected a shorter payload: ${kind}`)
    return pay(kind, append(insider.token, { holder: insider.holder, payload }).token)
  }
  const honest = encodeBlock(childOf(insider.token), envelopeOf(insider.token).blocks.length)
  const bombs = await Promise.all(
    Object.entries(SOURCES).map(async ([kind, source]) => signed(kind, await compile(source))),
  )
  const deep = deepest(insider)
  const many = envelopeOf(stolen).blocks.at(-1)
  if (many === undefined) throw new Error('expected a block')
  const repeated = (n: number) =>
    withBlocks(stolen, (blocks) => [...blocks, ...Array.from({ length: n }, () => many)])
  const brought = { path: nodesPath, body: JSON.stringify({ token: deep.token }) }
  return [
    ...bombs,
    ...Object.entries(BY_HAND).map(([kind, payload]) => signed(kind, payload())),
    signed(
      'context of 25,000 characters',
      withSymbols(honest, (each) => each, 'x'.repeat(25_000)),
    ),
    pay('10,000 blocks', repeated(10_000)),
    pay('40 blocks', repeated(35)),
    pay('5 MB of token', 'A'.repeat(MEGABYTES_5)),
    { ...pay('5 MB of body', stolen), body: 'A'.repeat(MEGABYTES_5) },
    pay('deepest chain, own proof', deep.token, { key: jwkOf(deep.holder) }),
    { ...pay('deepest chain, brought', insider.token, { key: jwkOf(insider.holder) }), ...brought },
    pay('stolen leaf, thief’s proof', stolen),
    pay('stolen leaf, proof for another token', stolen, { proof: proofless(stolen) }),
  ]
}

/** Shaped like a proof, and none. */
const proofless = (token: string): string => {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(newKey()) }
  const claims = { htm: 'POST', htu: 'http://127.0.0.1', iat: 1, jti: 'x'.repeat(20) }
  return `${part({ alg: 'EdDSA', typ: 'dpop+jwt', jwk })}.${part({ ...claims, ath: sha256(token) })}.${'A'.repeat(86)}`
}
