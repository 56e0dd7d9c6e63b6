/** Blocks and tokens as the reference library builds them: what ours are compared with, and what forgers use. */
import { encodeBlock, OPERATIONS_OF } from '../../runtime/client/encode.ts'
import { readEnvelope } from '../../runtime/client/envelope.ts'
import type { BlockClaims } from '../../runtime/core/block.ts'
import { isoTime } from '../../runtime/core/time.ts'
import type { Biscuit } from '../../runtime/tokens/library.ts'

const bytesTerm = (base64url: string) => ({
  bytes: Buffer.from(base64url, 'base64url').toString('hex'),
})

/** The grammar as Datalog, with parameters for every value. */
function sourceOf(claims: BlockClaims): { source: string; parameters: Record<string, unknown> } {
  const { kind, payees, quote, mandate, run } = claims
  const facts = [
    'node({node}); kind({kind}); ceiling({currency}, {ceiling}); holder({holder}); expires({expires});',
    ...payees.map((_, i) => `payee({payee_${i}});`),
    quote === undefined ? '' : 'quote({quote});',
    mandate === undefined ? '' : 'mandate({mandate});',
    run === undefined ? '' : 'run({run});',
  ]
  const checks = [
    'check all req_operation($value), {operations}.contains($value);',
    `check all req_amount($value), $value >= ${kind === 'leaf' ? 1 : 0}, $value <= {ceiling};`,
    'check all req_currency($value), $value === {currency};',
    'check all req_payee($value), {payees}.contains($value);',
    quote === undefined ? '' : 'check all req_quote($value), $value === {quote};',
    'check all time($value), $value <= {expires};',
  ]
  const parameters = {
    node: claims.node,
    kind,
    currency: claims.currency,
    ceiling: claims.ceiling,
    holder: bytesTerm(claims.holder),
    expires: { date: isoTime(claims.expiresAtSeconds) },
    operations: { set: OPERATIONS_OF[kind] },
    payees: { set: payees },
    ...Object.fromEntries(payees.map((payee, i) => [`payee_${i}`, payee])),
    ...(quote === undefined ? {} : { quote: bytesTerm(quote) }),
    ...(mandate === undefined ? {} : { mandate: bytesTerm(mandate) }),
    ...(run === undefined ? {} : { run }),
  }
  return { source: [...facts, ...checks].join('\n'), parameters }
}

/** Payload bytes, from whichever of the library's builders makes this place of a chain. */
export function libraryPayload(
  biscuit: Biscuit,
  index: number,
  source: string,
  parameters: Record<string, unknown> = {},
): Uint8Array {
  const { KeyPair, SignatureAlgorithm } = biscuit
  using pair = new KeyPair(SignatureAlgorithm.Ed25519)
  const first = biscuit.Biscuit.builder()
  if (index === 0) first.addCodeWithParameters(source, parameters, {})
  using token = first.build(pair.getPrivateKey())
  if (index === 0) return payloadOf(token.toBytes(), 0)
  const block = biscuit.Biscuit.block_builder()
  block.addCodeWithParameters(source, parameters, {})
  const signed = token.getThirdPartyRequest().createBlock(pair.getPrivateKey(), block)
  using longer = token.appendThirdPartyBlock(pair.getPublicKey(), signed)
  return payloadOf(longer.toBytes(), 1)
}

function payloadOf(bytes: Uint8Array, index: number): Uint8Array {
  const envelope = readEnvelope(bytes)
  const payload = typeof envelope === 'string' ? undefined : envelope.blocks[index]?.payload
  if (payload === undefined) throw new Error('expected the block that was built')
  return Uint8Array.from(payload)
}

/** The library's own bytes for these claims. */
export function libraryBlock(biscuit: Biscuit, claims: BlockClaims, index: number): Uint8Array {
  const { source, parameters } = sourceOf(claims)
  return libraryPayload(biscuit, index, source, parameters)
}

/** The honest Datalog of a block with everything in it replaced by text: for forgers, who write what they like. */
export function honestSource(claims: BlockClaims): string {
  const { source, parameters } = sourceOf(claims)
  return source.replaceAll(/\{(\w+)\}/g, (_, name: string) => literal(parameters[name]))
}

function literal(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'object' && value !== null) {
    if ('bytes' in value) return `hex:${value.bytes}`
    if ('date' in value) return String(value.date)
    if ('set' in value && Array.isArray(value.set)) return `{${value.set.map(literal).join(', ')}}`
  }
  throw new Error('expected a term')
}

export const sameAsOurs = (biscuit: Biscuit, claims: BlockClaims, index: number): boolean =>
  Buffer.from(libraryBlock(biscuit, claims, index)).equals(encodeBlock(claims, index))
