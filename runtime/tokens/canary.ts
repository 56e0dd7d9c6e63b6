/**
 * Proves that the library in this worker really verifies and authorises: a token of its own that must be permitted
 * one thing and refused another. It also warms the engine, whose first runs overrun their time limit.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mintChild } from '../client/mint.ts'
import type { BlockClaims, RequestFacts } from '../core/block.ts'
import { Fault } from '../core/errors.ts'
import { sha256 } from '../core/ids.ts'
import { rawPublicKey } from '../core/keys.ts'
import { minor } from '../core/money.ts'
import { later, seconds } from '../core/time.ts'
import type { Biscuit } from './library.ts'
import { mintRoot } from './mint-root.ts'
import { type KeyRing, verifyToken } from './verify.ts'

const ROUNDS = 12
/** The first runs in a cold process time out; this many may, and then something is wrong. */
const TOLERATED_TIMEOUTS = 40

export interface Canary {
  readonly ring: KeyRing
  readonly token: string
  readonly permitted: RequestFacts
  readonly refused: RequestFacts
}

const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey

/** A planner and a leaf below it, under a root key that lives only here. */
export function createCanary(): Canary {
  const [rootKey, planner, leaf] = [newKey(), newKey(), newKey()]
  const nowSeconds = seconds(1_000_000_000)
  const common = {
    currency: 'INR',
    ceiling: minor(100),
    expiresAtSeconds: later(nowSeconds, 1),
    payees: ['canary'],
  } as const
  const quote = sha256('canary')
  const rootClaims: BlockClaims = {
    ...common,
    node: 'nd_canary',
    kind: 'planner',
    holder: rawPublicKey(planner),
    mandate: quote,
    run: 'run_canary',
  }
  const leafClaims: BlockClaims = {
    ...common,
    node: 'nd_canary-leaf',
    kind: 'leaf',
    holder: rawPublicKey(leaf),
    quote,
  }
  const root = mintRoot({ id: 0, privateKey: rootKey }, rootClaims)
  const permitted = {
    operation: 'pay',
    amount: minor(100),
    currency: 'INR',
    payee: 'canary',
    quote,
    nowSeconds,
  } as const
  return {
    ring: new Map([[0, Buffer.from(rawPublicKey(rootKey), 'base64url')]]),
    token: mintChild(root.token, planner, leafClaims).token,
    permitted,
    refused: { ...permitted, amount: minor(101) },
  }
}

function answers(biscuit: Biscuit, { ring, token }: Canary, request: RequestFacts) {
  const verdict = verifyToken(biscuit, ring, token, request)
  return verdict.ok ? verdict.token.authorised : undefined
}

/** Whether the library gives both right answers now; a run limit or any error of the library is `false`. */
export function sings(biscuit: Biscuit, canary: Canary): boolean {
  try {
    return (
      answers(biscuit, canary, canary.permitted) === true &&
      answers(biscuit, canary, canary.refused) === false
    )
  } catch {
    return false
  }
}

/** Runs the canary until it has sung `ROUNDS` times; throws Fault (`engine_failed`) if it stays silent. */
export function warmUp(biscuit: Biscuit, canary: Canary): void {
  let silent = 0
  for (let round = 0; round < ROUNDS; ) {
    if (sings(biscuit, canary)) round += 1
    else if (++silent > TOLERATED_TIMEOUTS) {
      throw new Fault('engine_failed', 'the token library does not verify a token of its own')
    }
  }
}
