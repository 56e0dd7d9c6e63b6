/**
 * The thread in which the Biscuit library lives. It answers one task after another and never decides about itself:
 * the pool counts, measures and ends it. A task whose error is not understood is followed by the canary, so that a
 * broken library is never taken for a bad token, nor the other way round.
 */

import { getHeapStatistics } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { mintChild } from '../client/mint.ts'
import type { Minted } from '../core/engine.ts'
import { Fault, Rejected } from '../core/errors.ts'
import { ed25519FromSeed } from '../core/keys.ts'
import { type Canary, createCanary, sings, warmUp } from './canary.ts'
import { type Biscuit, LibraryError, loadBiscuit } from './library.ts'
import type { FromWorker, Outcome, Setup, Task, ToWorker } from './messages.ts'
import { mintRoot, type RootKey } from './mint-root.ts'
import { type KeyRing, verifyToken } from './verify.ts'

interface Engine {
  readonly biscuit: Biscuit
  readonly canary: Canary
  readonly root: RootKey
  readonly ring: KeyRing
}

async function start(setup: Setup): Promise<Engine> {
  const biscuit = await loadBiscuit()
  const canary = createCanary()
  warmUp(biscuit, canary)
  const privateKey = ed25519FromSeed(setup.root.seed)
  return { biscuit, canary, root: { id: setup.root.id, privateKey }, ring: new Map(setup.ring) }
}

/** No token leaves that would not come back: what was minted is verified, its whole chain with it. */
function checked({ biscuit, ring }: Engine, minted: Minted): Outcome {
  const verdict = verifyToken(biscuit, ring, minted.token)
  if (!verdict.ok) throw new Rejected(verdict.code, 'expected a parent that verifies', 'token')
  if (verdict.token.widenedAt !== undefined) {
    throw new Rejected('widened', 'expected a chain that narrows', 'token')
  }
  return { kind: 'minted', minted }
}

function perform(engine: Engine, task: Task): Outcome {
  switch (task.kind) {
    case 'verify': {
      const verdict = verifyToken(engine.biscuit, engine.ring, task.token, task.request)
      return { kind: 'verdict', verdict }
    }
    case 'mint_root':
      return checked(engine, mintRoot(engine.root, task.claims))
    case 'mint_child': {
      const holder = ed25519FromSeed(task.holderSeed)
      return checked(engine, mintChild(task.token, holder, task.claims))
    }
  }
}

function explain({ biscuit, canary }: Engine, task: Task, thrown: unknown): Outcome {
  if (thrown instanceof Rejected) {
    const { code, message, claim } = thrown
    return { kind: 'rejected', code, message, ...(claim !== undefined && { claim }) }
  }
  if (thrown instanceof Fault) return { kind: 'fault', code: thrown.code, message: thrown.message }
  const dead = thrown instanceof LibraryError && thrown.kind === 'dead'
  if (dead || !sings(biscuit, canary)) return { kind: 'broken' }
  if (task.kind === 'verify') {
    return { kind: 'verdict', verdict: { ok: false, code: 'token_invalid' } }
  }
  return { kind: 'fault', code: 'engine_failed', message: 'minting failed in a working engine' }
}

function outcomeOf(engine: Engine, task: Task): Outcome {
  try {
    return perform(engine, task)
  } catch (thrown) {
    return explain(engine, task, thrown)
  }
}

/** The library's own memory counts as external. */
function memoryBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics()
  return heap + external
}

const port = parentPort
if (port === null) throw new Error('expected to run as a worker')
const tell = (message: FromWorker): void => port.postMessage(message)

let engine: Engine | undefined

port.on('message', async (message: ToWorker) => {
  if (message.kind === 'setup') {
    engine = await start(message)
    tell({ kind: 'ready' })
  } else if (engine !== undefined) {
    const outcome = outcomeOf(engine, message.task)
    tell({ kind: 'done', id: message.id, outcome, memoryBytes: memoryBytes() })
  }
})
