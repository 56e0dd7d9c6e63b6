/**
 * What the fuzzer fires: requests that a hostile holder or a thief could send, each wrong in at least one thing. The
 * tokens are honest ones with their bytes or blocks changed, or hostile blocks under an insider's rightful signature;
 * the proofs are rightly signed over exactly the token that is sent, or themselves what is wrong.
 */
import type { KeyObject } from 'node:crypto'
import { decodeBlock } from '../../runtime/client/decode.ts'
import { encodeBlock } from '../../runtime/client/encode.ts'
import { tokenBytes } from '../../runtime/client/envelope.ts'
import type { BlockClaims } from '../../runtime/core/block.ts'
import { freshId, sha256 } from '../../runtime/core/ids.ts'
import { signJws } from '../../runtime/core/jws.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import { minor } from '../../runtime/core/money.ts'
import { later } from '../../runtime/core/time.ts'
import { withScope, withSymbols } from './forge/datalog.ts'
import { type RawJws, signRaw, tamper } from './forge/jws.ts'
import { append, envelopeOf, newKey, tokenOf, withBlocks } from './forge/tokens.ts'
import type { Draw } from './fuzz-random.ts'

/** A node as its holder has it, with what an honest request of it would say. */
export interface Arm {
  readonly token: string
  readonly holder: KeyObject
  readonly claims: BlockClaims
  /** Where this kind of node is heard: path and body. */
  readonly calls: readonly (readonly [string, unknown])[]
}

export interface Arsenal {
  readonly url: string
  /** Open tokens whose holders are insiders: they may sign whatever they like. */
  readonly planners: readonly Arm[]
  readonly arms: readonly Arm[]
  /** Where a planner brings what it has split off. */
  readonly nodesPath: string
  /** A child that `planners[0]` could register and nobody ever does. */
  readonly child: BlockClaims
  /** Whole payloads of the insider's own Datalog. */
  readonly payloads: readonly Uint8Array[]
}

export interface Shot {
  readonly kind: string
  readonly path: string
  readonly token: string
  readonly proof?: string
  readonly body: unknown
}

const key = newKey()

export function proofFor(
  arsenal: Pick<Arsenal, 'url'>,
  { token, holder }: Pick<Arm, 'token' | 'holder'>,
  path: string,
): string {
  return signJws({
    typ: 'dpop+jwt',
    key: holder,
    jwk: { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(holder) },
    claims: proofClaims(arsenal.url + path, token),
  })
}

const proofClaims = (htu: string, token: string) => ({
  htm: 'POST',
  htu,
  iat: Math.floor((performance.timeOrigin + performance.now()) / 1000),
  jti: freshId(),
  ath: sha256(token),
})

const flipped = (bytes: Uint8Array, at: number, bit: number): Buffer => {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ (1 << bit)
  return copy
}

/** Other bytes than `token` has, whatever was drawn. */
function byteEdit(draw: Draw, token: string): string {
  const bytes = Buffer.from(token, 'base64url')
  const at = draw.int(bytes.length)
  const size = 1 + draw.int(24)
  const noise = Buffer.from(Array.from({ length: size }, () => draw.int(256)))
  const edits = [
    () => flipped(bytes, at, draw.int(8)),
    () => Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at)]),
    () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + size)]),
    () => Buffer.concat([bytes.subarray(0, at + size), bytes.subarray(at)]),
    () => Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at + size)]),
    () => bytes.subarray(0, at),
    () => Buffer.concat([bytes, noise]),
    () => flipped(flipped(bytes, at, draw.int(8)), draw.int(bytes.length), draw.int(8)),
  ]
  const edited = draw.pick(edits)()
  const made = edited.equals(bytes) || edited.length === 0 ? flipped(bytes, at, 1) : edited
  return made.toString('base64url')
}

/** The same bytes in a text that is not base64url, or nearly the same text. */
function textEdit(draw: Draw, token: string): string {
  const at = 1 + draw.int(token.length - 1)
  const edits = [
    () => Buffer.from(token, 'base64url').toString('base64'),
    () => `${token}====`,
    () => `${token.slice(0, at)}.${token.slice(at)}`,
    () => token.slice(0, at),
    () => `${token.slice(0, at)}A${token.slice(at)}`,
    () => token.toUpperCase(),
    () => token + token,
  ]
  const edited = draw.pick(edits)()
  const isSame =
    tokenBytes(edited) && Buffer.from(edited, 'base64url').equals(Buffer.from(token, 'base64url'))
  return isSame || edited === token ? byteEdit(draw, token) : edited
}

/** Blocks moved about, within one token or between two, and proofs exchanged. */
function blockEdit(draw: Draw, token: string, other: string): string {
  const [from, stolen] = [envelopeOf(token), envelopeOf(other)]
  const at = draw.int(from.blocks.length)
  const block = draw.pick(stolen.blocks)
  const last = stolen.blocks.at(-1)
  const edits = [
    () =>
      withBlocks(token, (all) =>
        all.length === 1 ? [...all, ...all] : all.filter((_, i) => i !== at),
      ),
    () => withBlocks(token, (all) => all.flatMap((b, i) => (i === at ? [b, b] : [b]))),
    () => withBlocks(token, (all) => all.map((b, i) => (i === at ? block : b))),
    () => withBlocks(token, (all) => [...all].reverse()),
    () => withBlocks(token, (all) => (last ? [...all, last] : all)),
    () => tokenOf({ ...from, proof: stolen.proof }),
    () => tokenOf({ ...from, rootKeyId: draw.pick([0, 1, 6, 8, 2 ** 32 - 1]) }),
    () => {
      const { rootKeyId: _id, ...rest } = from
      return tokenOf(rest)
    },
    () =>
      withBlocks(token, (all) =>
        all.map((b, i) => (i === at ? { ...b, version: 1 - b.version } : b)),
      ),
    () => withBlocks(token, (all) => all.map((b, i) => (i === at ? withoutSigner(b) : b))),
  ]
  const edited = draw.pick(edits)()
  return edited === token || edited === other ? byteEdit(draw, token) : edited
}

function withoutSigner<T extends { readonly external?: unknown; readonly signature: Uint8Array }>(
  block: T,
): T {
  const { external, ...rest } = block
  if (external !== undefined) return rest as T
  return { ...block, signature: flipped(block.signature, 3, 1) }
}

interface Insider {
  readonly claims: BlockClaims
  readonly by?: KeyObject
  readonly sealed?: boolean
}

/** One thing too much for a child of `parent`: the block is in our grammar, and the insider signs it. */
function widened(draw: Draw, { claims: parent, holder }: Arm, child: BlockClaims): Insider {
  const more = 1 + draw.int(1_000_000)
  const leaf: BlockClaims = {
    ...child,
    kind: 'leaf',
    payees: parent.payees.slice(0, 1),
    quote: sha256(String(more)),
  }
  const edits: readonly (() => Insider)[] = [
    () => ({ claims: { ...draw.pick([child, leaf]), ceiling: minor(parent.ceiling + more) } }),
    () => ({ claims: { ...child, expiresAtSeconds: later(parent.expiresAtSeconds, more) } }),
    () => ({ claims: { ...leaf, payees: ['eval-stranger'] } }),
    () => ({ claims: { ...child, payees: [...parent.payees, 'zz-more'] } }),
    () => ({ claims: { ...child, currency: 'USD' } }),
    () => ({ claims: { ...child, kind: 'looker', ceiling: minor(more) } }),
    () => ({ claims: { ...child, holder: parent.holder } }),
    () => ({ claims: { ...child, node: parent.node } }),
    () => ({ claims: { ...child, node: `nd_${more}` } }),
    () => ({ claims: child, by: key }),
    () => ({ claims: leaf, sealed: false }),
    () => ({ claims: child, sealed: true }),
    () => ({ claims: { ...child, mandate: sha256('m'), run: 'run_mine' } }),
    () => ({ claims: { ...child, payees: ['zz', 'aa'] } }),
    () => ({ claims: { ...child, quote: sha256('q') } }),
  ]
  return { by: holder, ...draw.pick(edits)() }
}

/** The insider's payload and what hangs on it that must not. */
function insiderToken(draw: Draw, arsenal: Arsenal, parent: Arm): string {
  const index = envelopeOf(parent.token).blocks.length
  if (draw.int(3) > 0) {
    const { claims, by = parent.holder, sealed } = widened(draw, parent, arsenal.child)
    const payload = encodeBlock(claims, index)
    return append(parent.token, {
      holder: by,
      payload,
      sealed: sealed ?? claims.kind !== 'planner',
    }).token
  }
  const honest = encodeBlock(arsenal.child, index)
  const forged = [
    () => withScope(honest),
    () => withSymbols(honest, (symbol) => symbol, 'pay anything'),
    () => withSymbols(honest, (symbol) => (symbol === 'value' ? 'v' : symbol)),
    () => Buffer.concat([honest, Buffer.from([0x7a, 0x01, draw.int(256)])]),
    () => notOurs(flipped(honest, draw.int(honest.length), draw.int(8)), index),
    () => draw.pick(arsenal.payloads),
  ]
  return append(parent.token, {
    holder: parent.holder,
    payload: draw.pick(forged)(),
    sealed: draw.int(2) === 0,
  }).token
}

/** A changed bit of the holder's key makes an honest block for somebody else: then something hangs on it. */
const notOurs = (payload: Uint8Array, index: number): Uint8Array =>
  decodeBlock(payload, index) === undefined ? payload : withScope(payload)

/** An honest token, and a proof that is wrong in one thing. */
function badProof(draw: Draw, { url }: Arsenal, arm: Arm, path: string): string | undefined {
  const claims = proofClaims(url + path, arm.token)
  const sign = (changes: object, header: object = {}, by = arm.holder) =>
    signRaw({
      key: by,
      header: {
        alg: 'EdDSA',
        typ: 'dpop+jwt',
        jwk: { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(by) },
        ...header,
      } satisfies RawJws['header'],
      payload: JSON.stringify({ ...claims, ...changes }),
    })
  const edits: readonly (() => string | undefined)[] = [
    () => undefined,
    () => sign({}, {}, key),
    () => sign({}, { jwk: { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(key) } }),
    () => sign({ htm: draw.pick(['GET', 'post', '', 1]) }),
    () => sign({ htu: `${url}${draw.pick(['/', '/paymentsx', `${path}?a=1`, `${path}/`])}` }),
    () => sign({ iat: claims.iat - 120 - draw.int(1_000_000) }),
    () => sign({ iat: claims.iat + 30 + draw.int(1_000_000) }),
    () => sign({ iat: draw.pick(['now', null, 1.5, -1, 1e300]) }),
    () =>
      sign({ jti: draw.pick(['short', '', 'x'.repeat(81), 7, null, 'with a space in it 12345']) }),
    () => sign({ ath: sha256(String(draw.int(1e6))) }),
    () => sign({ more: draw.int(9) }),
    () => sign({}, { alg: draw.pick(['none', 'HS256', 'ES256', 'Ed25519']) }),
    () => sign({}, { typ: draw.pick(['JWT', 'quote+jwt', 'mandate+jwt']) }),
    () => sign({}, { kid: 'a' }),
    () => tamper(sign({}), (text) => text.replace('"POST"', '"PAST"')),
    () => flipText(draw, sign({})),
    () => sign({}).slice(0, -1 - draw.int(80)),
    () => 'x'.repeat(draw.int(4_000)) || 'x',
  ]
  return draw.pick(edits)()
}

function flipText(draw: Draw, text: string): string {
  const at = draw.int(text.length)
  const other = draw.pick(
    [...'ABCDEFGHabcdefgh0123_-.'].filter((character) => character !== text[at]),
  )
  return text.slice(0, at) + other + text.slice(at + 1)
}

/** One hostile request. What kind, and where it goes, is drawn; none may be answered with success. */
export function shotOf(draw: Draw, arsenal: Arsenal): Shot {
  const arm = draw.pick(arsenal.arms)
  const [path, body] = draw.pick(arm.calls)
  const sent = (kind: string, token: string): Shot => {
    // Half of what is changed comes as a child that an honest insider brings for registration.
    if (draw.int(4) === 0) return brought(arsenal, kind, token)
    return {
      kind,
      path,
      token,
      proof: proofFor(arsenal, { token, holder: arm.holder }, path),
      body,
    }
  }
  const roll = draw.int(10)
  if (roll < 3) return sent('bytes', byteEdit(draw, arm.token))
  if (roll < 4) return sent('text', textEdit(draw, arm.token))
  if (roll < 6) return sent('blocks', blockEdit(draw, arm.token, draw.pick(arsenal.arms).token))
  if (roll < 8) return insider(draw, arsenal)
  const proof = badProof(draw, arsenal, arm, path)
  return { kind: 'proof', path, token: arm.token, body, ...(proof === undefined ? {} : { proof }) }
}

function insider(draw: Draw, arsenal: Arsenal): Shot {
  const parent = draw.pick(arsenal.planners)
  const token = insiderToken(draw, arsenal, parent)
  if (draw.int(2) === 0) return brought(arsenal, 'insider', token, parent)
  const [path, body] = draw.pick(draw.pick(arsenal.arms).calls)
  // The insider made the block and signs as the holder that it names: mostly its own, or the parent's.
  const proof = proofFor(arsenal, { token, holder: draw.pick([key, parent.holder]) }, path)
  return { kind: 'insider', path, token, proof, body }
}

function brought(arsenal: Arsenal, kind: string, child: string, by?: Arm): Shot {
  const [first] = arsenal.planners
  const parent = by ?? first
  if (parent === undefined) throw new Error('expected a planner')
  const path = arsenal.nodesPath
  return {
    kind: `${kind}-brought`,
    path,
    token: parent.token,
    proof: proofFor(arsenal, parent, path),
    body: { token: child },
  }
}

/** The key that the insider names as holder of what it makes. */
export const insiderHolder = (): string => rawPublicKey(key)
