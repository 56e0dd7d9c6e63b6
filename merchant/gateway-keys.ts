/**
 * The gateway's published keys, from a URL or a file. Read when first needed, because the gateway may start after
 * the shops, again when a receipt names a key that is not known, because keys are rotated, and again after a while, because
 * a key that was stolen is published no more. Where they cannot be read then, those that are known are good for a day.
 */
import type { KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { parseJson } from '../runtime/core/json.ts'
import { jwksSchema, publicKeyOf, thumbprint } from '../runtime/core/keys.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import type { Clock } from '../runtime/core/time.ts'

export interface GatewayKeys {
  /** Undefined for a key that the gateway does not publish. Throws when its keys cannot be read. */
  find(kid: string): Promise<KeyObject | undefined>
}

/** Receipts with invented key ids cannot make the shops ask more often than this. */
const REFRESH_MS = 1_000
/** So long a key that was taken back may still be believed. */
const FRESH_MS = 5 * 60_000
const GOOD_MS = 24 * 3_600_000

export function createGatewayKeys(source: string, clock: Clock): GatewayKeys {
  let known: ReadonlyMap<string, KeyObject> = new Map()
  let readAtMs = Number.NEGATIVE_INFINITY
  let triedAtMs = Number.NEGATIVE_INFINITY
  const read = async () => {
    triedAtMs = clock.nowMs()
    known = parseKeys(await readSource(source))
    readAtMs = triedAtMs
  }
  return {
    async find(kid) {
      const age = clock.nowMs() - readAtMs
      const mayAsk = clock.nowMs() - triedAtMs >= REFRESH_MS
      if (age >= GOOD_MS) await read()
      else if (!known.has(kid) && mayAsk) await read()
      else if (age >= FRESH_MS && mayAsk) await read().catch(() => undefined)
      return known.get(kid)
    },
  }
}

async function readSource(source: string): Promise<Uint8Array> {
  if (!/^https?:\/\//.test(source)) return readFile(source)
  const answer = await fetch(source, {
    redirect: 'error',
    signal: AbortSignal.timeout(LIMITS.merchantMs),
    headers: { accept: 'application/json' },
  })
  if (!answer.ok) throw new Error('expected the gateway to answer with its keys')
  return new Uint8Array(await answer.arrayBuffer())
}

function parseKeys(bytes: Uint8Array): ReadonlyMap<string, KeyObject> {
  const keys = new Map<string, KeyObject>()
  for (const jwk of jwksSchema.parse(parseJson(bytes)).keys) {
    const kid = jwk.kid ?? thumbprint(jwk)
    if (keys.has(kid)) throw new Error('expected each key id of the gateway once')
    keys.set(kid, publicKeyOf(jwk))
  }
  return keys
}
