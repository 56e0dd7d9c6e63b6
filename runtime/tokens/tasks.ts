/**
 * What a worker does with a task, apart from being a worker. A task whose error is not understood is followed by the
 * canary, so that a broken library is never taken for a bad token, nor the other way round.
 */
import { mintChild } from '../client/mint.ts'
import type { Minted } from '../core/engine.ts'
import { Fault, Rejected } from '../core/errors.ts'
import { ed25519FromSeed } from '../core/keys.ts'
import type { Seconds } from '../core/time.ts'
import { type Canary, createCanary, sings, warmUp } from './canary.ts'
import { type Biscuit, LibraryError } from './library.ts'
import type { Outcome, RingEntry, Setup, Task } from './messages.ts'
import { mintRoot, type RootKey } from './mint-root.ts'
import { type KeyRing, verifyToken } from './verify.ts'

export interface Engine {
  readonly biscuit: Biscuit
  readonly canary: Canary
  readonly root?: RootKey
  readonly ring: readonly RingEntry[]
}

/** The root keys that are in force at that second: a retired one is as unknown as one that never was. */
export const inForce = (ring: readonly RingEntry[], now: Seconds): KeyRing =>
  new Map(
    ring
      .filter(({ retiresAtSeconds }) => retiresAtSeconds === undefined || now < retiresAtSeconds)
      .map(({ id, publicKey }) => [id, publicKey]),
  )

/**
 * A warm engine under these keys. Throws Fault (`engine_failed`) when the canary does not sing, and what the library
 * throws for a key that it cannot use: better now than when a token names that key.
 */
export function createEngine(biscuit: Biscuit, setup: Setup): Engine {
  for (const { publicKey } of setup.ring) {
    biscuit.PublicKey.fromBytes(publicKey, biscuit.SignatureAlgorithm.Ed25519).free()
  }
  const canary = createCanary()
  warmUp(biscuit, canary)
  const { root, ring } = setup
  if (root === undefined) return { biscuit, canary, ring }
  return { biscuit, canary, root: { id: root.id, privateKey: ed25519FromSeed(root.seed) }, ring }
}

/** No token leaves that would not come back: what was minted is verified, its whole chain with it. */
function checked({ biscuit, ring }: Engine, minted: Minted, now: Seconds): Outcome {
  const verdict = verifyToken(biscuit, inForce(ring, now), minted.token)
  if (!verdict.ok) throw new Rejected(verdict.code, 'expected a parent that verifies', 'token')
  if (verdict.token.widenedAt !== undefined) {
    throw new Rejected('widened', 'expected a chain that narrows', 'token')
  }
  return { kind: 'minted', minted }
}

function perform(engine: Engine, task: Task, now: Seconds): Outcome {
  switch (task.kind) {
    case 'verify': {
      const { token, request, holder } = task
      const ring = inForce(engine.ring, now)
      const verdict = verifyToken(engine.biscuit, ring, token, request, holder)
      return { kind: 'verdict', verdict }
    }
    case 'mint_root':
      if (engine.root === undefined) {
        throw new Fault('engine_failed', 'this engine has no root key to sign with')
      }
      return checked(engine, mintRoot(engine.root, task.claims), now)
    case 'mint_child': {
      const holder = ed25519FromSeed(task.holderSeed)
      return checked(engine, mintChild(task.token, holder, task.claims), now)
    }
  }
}

function explain({ biscuit, canary }: Engine, task: Task, thrown: unknown): Outcome {
  if (thrown instanceof Rejected) {
    const { code, message, claim } = thrown
    return { kind: 'rejected', code, message, ...(claim !== undefined && { claim }) }
  }
  const timedOut = thrown instanceof Fault && thrown.code === 'engine_timeout'
  const dead = thrown instanceof LibraryError && thrown.kind === 'dead'
  if (dead || (!timedOut && !sings(biscuit, canary))) return { kind: 'broken' }
  if (thrown instanceof Fault) return { kind: 'fault', code: thrown.code, message: thrown.message }
  if (task.kind === 'verify') {
    return { kind: 'verdict', verdict: { ok: false, code: 'token_invalid' } }
  }
  return { kind: 'fault', code: 'engine_failed', message: 'minting failed in a working engine' }
}

/** The task's outcome, whatever happens; `broken` when this library must not be asked again. */
export function outcomeOf(engine: Engine, task: Task, now: Seconds): Outcome {
  try {
    return perform(engine, task, now)
  } catch (thrown) {
    return explain(engine, task, thrown)
  }
}
