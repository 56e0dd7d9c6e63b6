import { hkdfSync, sign, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ed25519FromSeed, publicKeyOf, rawPublicKey } from '../../runtime/core/keys.ts'
import { createHolderKeys } from '../../runtime/tokens/holder-keys.ts'

const SECRET = new Uint8Array(32).fill(5)

describe('derived holder keys', () => {
  it('are the same for the same node after a restart, and others for another node or secret', () => {
    const [one, again] = [createHolderKeys(SECRET), createHolderKeys(SECRET)]
    const other = createHolderKeys(new Uint8Array(32).fill(6))
    expect(again.publicKey('nd_a')).toBe(one.publicKey('nd_a'))
    expect(one.publicKey('nd_b')).not.toBe(one.publicKey('nd_a'))
    expect(other.publicKey('nd_a')).not.toBe(one.publicKey('nd_a'))
  })

  it('are pairs: what the private half signs the public half verifies', () => {
    const keys = createHolderKeys(SECRET)
    const data = Buffer.from('data')
    const publicKey = publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x: keys.publicKey('nd_a') })
    const signature = sign(null, data, keys.privateKey('nd_a'))
    expect(verify(null, data, publicKey, signature)).toBe(true)
  })

  it('are HKDF with SHA-256, no salt and the node in the info', () => {
    const seed = new Uint8Array(hkdfSync('sha256', SECRET, '', 'headgate holder nd_a', 32))
    expect(createHolderKeys(SECRET).publicKey('nd_a')).toBe(rawPublicKey(ed25519FromSeed(seed)))
  })

  it('do not change when the caller wipes its own copy of the secret', () => {
    const secret = Uint8Array.from(SECRET)
    const keys = createHolderKeys(secret)
    secret.fill(0)
    expect(keys.publicKey('nd_a')).toBe(createHolderKeys(SECRET).publicKey('nd_a'))
  })

  it('need a secret of 32 bytes', () => {
    expect(() => createHolderKeys(SECRET.subarray(1))).toThrow(RangeError)
  })
})
