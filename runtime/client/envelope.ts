/**
 * The outer form of a Biscuit (its public protobuf schema): signed blocks and a proof, around payloads that are not
 * looked into here. Reading is strict and verifies nothing; writing gives the bytes that the reference library gives.
 */
import { LIMITS } from '../core/limits.ts'
import { chunkTag, Reader, varintTag, WireError, Writer } from './protobuf.ts'

/** Of a public key; P-256 is known so that it can be refused by name. */
export const ED25519 = 0

export interface TokenKey {
  readonly algorithm: number
  readonly bytes: Uint8Array
}

export interface SignedBlock {
  readonly payload: Uint8Array
  readonly nextKey: TokenKey
  readonly signature: Uint8Array
  /** Present on a third-party block: who signed its payload. */
  readonly external?: { readonly signature: Uint8Array; readonly key: TokenKey }
  /** Of the signature's own format; 0 when the token does not say. */
  readonly version: number
}

/** An open token carries the secret that signs the next block; a sealed one a last signature instead. */
export type TokenProof =
  | { readonly nextSecret: Uint8Array }
  | { readonly finalSignature: Uint8Array }

export interface Envelope {
  readonly rootKeyId?: number
  /** Block 0 first; never empty. */
  readonly blocks: readonly SignedBlock[]
  readonly proof: TokenProof
}

export type EnvelopeProblem = 'too_large' | 'malformed'

function readKey(bytes: Uint8Array): TokenKey {
  const reader = new Reader(bytes)
  reader.expect(varintTag(1))
  const algorithm = reader.varint()
  reader.expect(chunkTag(2))
  const key = reader.chunk()
  reader.end()
  return { algorithm, bytes: key }
}

function readExternal(bytes: Uint8Array) {
  const reader = new Reader(bytes)
  reader.expect(chunkTag(1))
  const signature = reader.chunk()
  reader.expect(chunkTag(2))
  const key = readKey(reader.chunk())
  reader.end()
  return { signature, key }
}

function readBlock(bytes: Uint8Array): SignedBlock {
  const reader = new Reader(bytes)
  reader.expect(chunkTag(1))
  const payload = reader.chunk()
  reader.expect(chunkTag(2))
  const nextKey = readKey(reader.chunk())
  reader.expect(chunkTag(3))
  const signature = reader.chunk()
  const external = reader.take(chunkTag(4)) ? readExternal(reader.chunk()) : undefined
  const version = reader.take(varintTag(5)) ? reader.varint() : 0
  reader.end()
  return { payload, nextKey, signature, ...(external && { external }), version }
}

function readProof(bytes: Uint8Array): TokenProof {
  const reader = new Reader(bytes)
  if (reader.take(chunkTag(1))) {
    const nextSecret = reader.chunk()
    reader.end()
    return { nextSecret }
  }
  reader.expect(chunkTag(2))
  const finalSignature = reader.chunk()
  reader.end()
  return { finalSignature }
}

function readFields(reader: Reader): Envelope | 'too_large' {
  const rootKeyId = reader.take(varintTag(1)) ? reader.varint() : undefined
  reader.expect(chunkTag(2))
  const blocks = [readBlock(reader.chunk())]
  while (reader.take(chunkTag(3))) {
    if (blocks.length === LIMITS.tokenBlocks) return 'too_large'
    blocks.push(readBlock(reader.chunk()))
  }
  reader.expect(chunkTag(4))
  const proof = readProof(reader.chunk())
  reader.end()
  return { ...(rootKeyId !== undefined && { rootKeyId }), blocks, proof }
}

/** Base64url as RFC 4648 section 5 writes it, with or without padding; undefined for any other text. */
export function tokenBytes(token: string): Uint8Array | undefined {
  const bytes = Buffer.from(token, 'base64url')
  const text = bytes.toString('base64url')
  const padded = text.padEnd(Math.ceil(text.length / 4) * 4, '=')
  return token === text || token === padded ? bytes : undefined
}

/** Known fields only, each once and in order; at most `LIMITS.tokenBlocks` blocks. */
export function readEnvelope(bytes: Uint8Array): Envelope | EnvelopeProblem {
  try {
    return readFields(new Reader(bytes))
  } catch (error) {
    if (error instanceof WireError) return 'malformed'
    throw error
  }
}

function writeKey(writer: Writer, field: number, key: TokenKey): void {
  writer.message(field, () => {
    writer.uint(1, key.algorithm)
    writer.chunk(2, key.bytes)
  })
}

function writeBlock(writer: Writer, field: number, block: SignedBlock): void {
  const { external } = block
  writer.message(field, () => {
    writer.chunk(1, block.payload)
    writeKey(writer, 2, block.nextKey)
    writer.chunk(3, block.signature)
    if (external) {
      writer.message(4, () => {
        writer.chunk(1, external.signature)
        writeKey(writer, 2, external.key)
      })
    }
    if (block.version !== 0) writer.uint(5, block.version)
  })
}

export function writeEnvelope({ rootKeyId, blocks, proof }: Envelope): Buffer {
  const writer = new Writer()
  if (rootKeyId !== undefined) writer.uint(1, rootKeyId)
  blocks.forEach((block, i) => {
    writeBlock(writer, i === 0 ? 2 : 3, block)
  })
  writer.message(4, () => {
    if ('nextSecret' in proof) writer.chunk(1, proof.nextSecret)
    else writer.chunk(2, proof.finalSignature)
  })
  return writer.finish()
}

/** The ids by which a chain is recorded and revoked: its blocks' signatures, in hex, block 0 first. */
export const revocationIdsOf = (envelope: Envelope): string[] =>
  envelope.blocks.map((block) => Buffer.from(block.signature).toString('hex'))
