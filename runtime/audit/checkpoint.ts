/**
 * Checkpoints: the gateway's signature over where every open stream stood at one instant. A root of Merkle (RFC 6962
 * section 2.1) stands for all heads; the heads themselves are claims too, so whoever holds one checkpoint can check any
 * of its streams with nothing else. The gateway's own stream commits to the seals, and so to every run that has ended.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { digestSchema, identifierSchema, nodeIdSchema } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import { parseJws, signJws, verifyJws } from '../core/jws.ts'
import { LIMITS } from '../core/limits.ts'
import type { Head, StreamId } from '../core/records.ts'
import { type Seconds, secondsSchema } from '../core/time.ts'
import type { GatewaySigner } from './signer.ts'

const count = z.number().int().min(1)
const head = { seq: count, hash: digestSchema }

const checkpointSchema = z.strictObject({
  iss: identifierSchema,
  iat: secondsSchema,
  /** From 1, one more each time. */
  number: count,
  /** Over `heads`, in their order. */
  root: digestSchema,
  gateway: z.strictObject(head),
  /** Streams of runs without a seal at that time; the heads of the newest are listed where there are too many. */
  open: z.number().int().min(0),
  heads: z.array(z.strictObject({ stream: nodeIdSchema, ...head })).max(LIMITS.checkpointHeads),
})
export type Checkpoint = z.infer<typeof checkpointSchema>

const hashed = (...parts: readonly (string | Uint8Array)[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

const [LEAF, NODE] = [Uint8Array.of(0), Uint8Array.of(1)]

/** Merkle tree hash of RFC 6962 section 2.1: a leaf is hashed behind a 0, a node behind a 1, nothing as itself. */
export function merkleRoot(leaves: readonly string[]): Buffer {
  const [first] = leaves
  if (first === undefined) return hashed()
  if (leaves.length === 1) return hashed(LEAF, first)
  let left = 1
  while (left * 2 < leaves.length) left *= 2
  return hashed(NODE, merkleRoot(leaves.slice(0, left)), merkleRoot(leaves.slice(left)))
}

const rootOf = (heads: Checkpoint['heads']): string =>
  merkleRoot(heads.map(canonicalJson)).toString('base64url')

type Heads = readonly { readonly stream: StreamId; readonly head: Head }[]

/** The claims of a checkpoint; undefined as long as the gateway's stream is empty. */
export function checkpointOf(
  streams: Heads,
  { number, gateway, now }: { number: number; gateway: string; now: Seconds },
): Checkpoint | undefined {
  const own = streams.find(({ stream }) => stream === 'gateway')
  if (own === undefined) return undefined
  const open = streams.flatMap(({ stream, head: { seq, hash } }) =>
    stream === 'gateway' ? [] : [{ stream, seq, hash }],
  )
  const heads = open.slice(-LIMITS.checkpointHeads)
  const { seq, hash } = own.head
  const at = { iss: gateway, iat: now, number, gateway: { seq, hash } }
  return { ...at, root: rootOf(heads), open: open.length, heads }
}

/** Compact JWS `checkpoint+jwt`. */
export const signCheckpoint = (
  claims: Checkpoint,
  { key, kid, signatures }: GatewaySigner,
): string => signJws({ typ: 'checkpoint+jwt', key, kid, claims }, signatures)

/** The claims of a checkpoint that this gateway signed and whose root is that of its heads; otherwise undefined. */
export function openCheckpoint(jws: string, signer: GatewaySigner): Checkpoint | undefined {
  const parsed = parseJws(jws, 'checkpoint+jwt')
  if (parsed === undefined) return undefined
  const older = signer.before?.find(({ kid }) => kid !== undefined && kid === parsed.header.kid)
  const key = parsed.header.kid === signer.kid ? signer.key : (older ?? signer.key)
  if (!verifyJws(parsed, key, signer.signatures)) return undefined
  const claims = checkpointSchema.safeParse(parsed.claims).data
  const isOurs = claims?.iss === signer.gateway && claims.root === rootOf(claims.heads)
  return isOurs ? claims : undefined
}
