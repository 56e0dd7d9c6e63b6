/**
 * Datalog of the attacker's own, compiled by the reference library into the payload of a third-party block: what a
 * malicious holder of an open token would append instead of what our client mints.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { OPERATIONS_OF } from '../../../runtime/client/encode.ts'
import { readEnvelope } from '../../../runtime/client/envelope.ts'
import { chunkTag, Reader, varintTag, Writer } from '../../../runtime/client/protobuf.ts'
import type { BlockClaims } from '../../../runtime/core/block.ts'
import { rawPublicKey } from '../../../runtime/core/keys.ts'
import { type Biscuit, loadBiscuit } from '../../../runtime/tokens/library.ts'

let loaded: Promise<Biscuit> | undefined

/** The payload bytes of a third-party block that holds `source`. */
export async function compile(source: string): Promise<Uint8Array> {
  loaded ??= loadBiscuit()
  const biscuit = await loaded
  const { SignatureAlgorithm } = biscuit
  const pair = new biscuit.KeyPair(SignatureAlgorithm.Ed25519)
  const base = biscuit.Biscuit.builder()
  base.addCode('any(true);')
  const token = base.build(pair.getPrivateKey())
  const block = biscuit.Biscuit.block_builder()
  block.addCode(source)
  const signed = token.getThirdPartyRequest().createBlock(pair.getPrivateKey(), block)
  const whole = token.appendThirdPartyBlock(pair.getPublicKey(), signed)
  const envelope = readEnvelope(whole.toBytes())
  const payload = typeof envelope === 'string' ? undefined : envelope.blocks[1]?.payload
  if (payload === undefined) throw new Error('expected a compiled block')
  return payload
}

/** The token with `source` in a first-party block: signed by whoever has the token, and by nobody else. */
export async function appendFirstParty(token: string, rootKey: KeyObject, source: string) {
  loaded ??= loadBiscuit()
  const { Biscuit, PublicKey, SignatureAlgorithm } = await loaded
  const raw = Buffer.from(rawPublicKey(rootKey), 'base64url')
  const parsed = Biscuit.fromBase64(token, PublicKey.fromBytes(raw, SignatureAlgorithm.Ed25519))
  const block = Biscuit.block_builder()
  block.addCode(source)
  return parsed.appendBlock(block).toBase64()
}

/** An Ed25519 public key as Datalog writes it. */
export function anyPublicKey(): string {
  const { publicKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  return `ed25519/${Buffer.from(x, 'base64url').toString('hex')}`
}

/** What stands in a block as text; a ceiling may be a number that our own encoder cannot write. */
export type TextClaims = Omit<BlockClaims, 'ceiling'> & { readonly ceiling: number }

const hex = (base64url: string) => `hex:${Buffer.from(base64url, 'base64url').toString('hex')}`
const set = (texts: readonly string[]) => `{${texts.map((text) => `"${text}"`).join(', ')}}`

/** A later block as text, facts and checks as we mint them: where a forgery that is wrong in one thing begins. */
export function blockText({ node, kind, currency, ceiling, payees, quote, ...rest }: TextClaims) {
  const expires = new Date(rest.expiresAtSeconds * 1000).toISOString().replace('.000Z', 'Z')
  const least = kind === 'leaf' ? 1 : 0
  return [
    `node("${node}"); kind("${kind}"); ceiling("${currency}", ${ceiling})`,
    `holder(${hex(rest.holder)}); expires(${expires})`,
    ...payees.map((payee) => `payee("${payee}")`),
    ...(quote === undefined ? [] : [`quote(${hex(quote)})`]),
    `check all req_operation($value), ${set(OPERATIONS_OF[kind])}.contains($value)`,
    `check all req_amount($value), $value >= ${least}, $value <= ${ceiling}`,
    `check all req_currency($value), $value === "${currency}"`,
    `check all req_payee($value), ${set(payees)}.contains($value)`,
    ...(quote === undefined ? [] : [`check all req_quote($value), $value === ${hex(quote)}`]),
    `check all time($value), $value <= ${expires}`,
  ].join('; ')
}

const SYMBOL = chunkTag(1)
const VERSION = varintTag(3)

/** A payload's symbols, which Datalog can only make names, and all that follows them. */
function partsOf(payload: Uint8Array): { symbols: string[]; rest: Uint8Array } {
  const reader = new Reader(payload)
  const symbols: string[] = []
  while (reader.take(SYMBOL)) symbols.push(Buffer.from(reader.chunk()).toString())
  return { symbols, rest: payload.subarray(reader.at) }
}

/** The payload with its symbols renamed and, behind them, a context: a text that is never printed. */
export function withSymbols(
  payload: Uint8Array,
  rename: (symbol: string) => string,
  context?: string,
): Uint8Array {
  const { symbols, rest } = partsOf(payload)
  const writer = new Writer()
  for (const symbol of symbols) writer.chunk(1, Buffer.from(rename(symbol)))
  if (context !== undefined) writer.chunk(2, Buffer.from(context))
  return Buffer.concat([writer.finish(), rest])
}

/** The payload with the scope `trusting previous` on the whole block: field 7, and never printed. */
export const withScope = (payload: Uint8Array): Uint8Array =>
  Buffer.concat([payload, Buffer.from([0x3a, 0x02, 0x08, 0x01])])

/** The payload as a block of another version of Datalog. */
export function withDatalogVersion(payload: Uint8Array, version: number): Uint8Array {
  const { rest } = partsOf(payload)
  if (rest[0] !== VERSION) throw new Error('expected the version behind the symbols')
  const head = payload.subarray(0, payload.length - rest.length)
  return Buffer.concat([head, Buffer.from([VERSION, version]), rest.subarray(2)])
}
