/**
 * Datalog of the attacker's own, compiled by the reference library into the payload of a third-party block: what a
 * malicious holder of an open token would append instead of what our client mints.
 */
import { generateKeyPairSync } from 'node:crypto'
import { readEnvelope } from '../../../runtime/client/envelope.ts'
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

/** An Ed25519 public key as Datalog writes it. */
export function anyPublicKey(): string {
  const { publicKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  return `ed25519/${Buffer.from(x, 'base64url').toString('hex')}`
}

/** A planner's block as text, facts and checks as we mint them, for a value that our own encoder cannot write. */
export function planText(claims: {
  readonly node: string
  readonly currency: string
  readonly ceiling: number
  readonly holder: string
  readonly expiresAtSeconds: number
  readonly payees: readonly string[]
}): string {
  const { node, currency, ceiling, expiresAtSeconds, payees } = claims
  const holder = Buffer.from(claims.holder, 'base64url').toString('hex')
  const expires = new Date(expiresAtSeconds * 1000).toISOString().replace('.000Z', 'Z')
  const list = payees.map((payee) => `"${payee}"`)
  return [
    `node("${node}"); kind("planner"); ceiling("${currency}", ${ceiling}); holder(hex:${holder})`,
    `expires(${expires})`,
    ...list.map((payee) => `payee(${payee})`),
    'check all req_operation($value), {"delegate", "pay", "quote", "read", "search"}.contains($value)',
    `check all req_amount($value), $value >= 0, $value <= ${ceiling}`,
    `check all req_currency($value), $value === "${currency}"`,
    `check all req_payee($value), {${list.join(', ')}}.contains($value)`,
    `check all time($value), $value <= ${expires}`,
  ].join('; ')
}
