/**
 * The attacker's own process: one request of every kind under way at any time, from the order to begin until the order to
 * end. It says what was answered and judges nothing.
 */
import { connect } from 'node:net'
import { setPriority } from 'node:os'
import { freshId, sha256 } from '../../../runtime/core/ids.ts'
import { signJws } from '../../../runtime/core/jws.ts'
import { privateKeyOf, publicJwkOf } from '../../../runtime/core/keys.ts'
import { serveProbe } from '../probe.ts'
import type { Shot } from './hostile.ts'

export type AttackOrder =
  | {
      readonly kind: 'load'
      readonly origin: string
      readonly url: string
      readonly shots: readonly Shot[]
    }
  | { readonly kind: 'begin' | 'end' }

export interface Fired {
  /** How often each status was the answer, by kind of shot; 0 where the connection was ended without one. */
  readonly answers: Readonly<Record<string, Readonly<Record<number, number>>>>
}

const GIVE_UP_MS = 10_000
/** A proof is fresh for a minute; another one costs the attacker time that it would rather spend firing. */
const PROOF_MS = 10_000

let target = { origin: '', url: '' }
let shots: readonly Loaded[] = []
let firing: Promise<unknown> | undefined
let isFiring = false
let answers: Record<string, Record<number, number>> = {}
const proofs = new Map<string, { readonly proof: string; readonly atMs: number }>()

function proofOf({ kind, path, token, key, proof = '' }: Shot): string {
  if (key === undefined) return proof
  const known = proofs.get(kind)
  const nowMs = performance.timeOrigin + performance.now()
  // A proof that holds is consumed, so a planner that brings a child needs a new one each time.
  if (known !== undefined && nowMs - known.atMs < PROOF_MS && path === '/payments')
    return known.proof
  const { kty, crv, x } = publicJwkOf(key)
  if (kty !== 'OKP') throw new Error('expected an Ed25519 key')
  const iat = Math.floor(nowMs / 1000)
  const claims = { htm: 'POST', htu: target.url + path, iat, jti: freshId(), ath: sha256(token) }
  const made = signJws({ typ: 'dpop+jwt', key: privateKeyOf(key), jwk: { kty, crv, x }, claims })
  proofs.set(kind, { proof: made, atMs: nowMs })
  return made
}

/** A shot as bytes, but for its proof: megabytes are made once, or the attacker would hold itself up. */
interface Loaded {
  readonly shot: Shot
  readonly head: Buffer
  readonly body: Buffer
}

function load(shot: Shot, origin: string): Loaded {
  const body = Buffer.from(shot.body)
  const lines = [
    `POST ${shot.path} HTTP/1.1`,
    `Host: ${new URL(origin).host}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    `Authorization: DPoP ${shot.token}`,
  ]
  return { shot, body, head: Buffer.from(`${lines.join('\r\n')}\r\n`) }
}

/** The status, from the first bytes of the answer; 0 where the connection ended without one. */
function strike({ shot, head, body }: Loaded): Promise<number> {
  const { hostname, port } = new URL(target.origin)
  return new Promise((resolve) => {
    let status = 0
    const socket = connect({ host: hostname, port: Number(port) })
    socket.setTimeout(GIVE_UP_MS, () => socket.destroy())
    socket.once('data', (chunk) => {
      status = Number(chunk.subarray(9, 12).toString('latin1'))
    })
    socket.on('data', () => undefined)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(status))
    socket.cork()
    socket.write(head)
    socket.write(`DPoP: ${proofOf(shot)}\r\n\r\n`)
    socket.write(body)
    socket.uncork()
  })
}

async function fire(loaded: Loaded): Promise<void> {
  const { kind } = loaded.shot
  const status = await strike(loaded)
  const counted = answers[kind] ?? {}
  answers[kind] = counted
  counted[status] = (counted[status] ?? 0) + 1
}

/** Each kind has a connection of its own, so that what is slow to send does not hold up what is quick. */
async function keepFiring(loaded: Loaded): Promise<void> {
  while (isFiring) await fire(loaded)
}

async function carryOut(order: AttackOrder): Promise<Fired> {
  if (order.kind === 'load') {
    shots = order.shots.map((shot) => load(shot, order.origin))
    target = { origin: order.origin, url: order.url }
  } else if (order.kind === 'begin') {
    isFiring = true
    answers = {}
    firing = Promise.all(shots.map(keepFiring))
    // Failures are told at the end, which waits for it.
    firing.catch(() => undefined)
  } else {
    isFiring = false
    await firing
  }
  return { answers }
}

// A real attacker brings a machine of its own: where two want a core of this one, the gateway goes first.
setPriority(10)
serveProbe(carryOut)
