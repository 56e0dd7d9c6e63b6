/** A compact JWS over text that need not be the JSON that our own signer writes, or JSON at all. */
import { type KeyObject, sign } from 'node:crypto'

export interface RawJws {
  readonly key: KeyObject
  readonly header: { readonly [name: string]: unknown }
  /** The payload's text, exactly. */
  readonly payload: string
}

/** Signed with Ed25519 over exactly these texts. */
export function signRaw({ key, header, payload }: RawJws): string {
  const encode = (text: string) => Buffer.from(text).toString('base64url')
  const input = `${encode(JSON.stringify(header))}.${encode(payload)}`
  return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
}

/** The same JWS with its payload's text changed and its signature as it was. */
export function tamper(jws: string, change: (payload: string) => string): string {
  const [header = '', payload = '', signature = ''] = jws.split('.')
  const text = change(Buffer.from(payload, 'base64url').toString())
  return [header, Buffer.from(text).toString('base64url'), signature].join('.')
}
