/**
 * The gateway's published keys, from a URL or a file. Read when first needed, because the gateway may start after
 * the shops, and again when a receipt names a key that is not known, because keys are rotated.
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

export function createGatewayKeys(source: string, clock: Clock): GatewayKeys {
  let known: ReadonlyMap<string, KeyObject> = new Map()
  let readAtMs: number | undefined
  return {
    async find(kid) {
      const isDue = readAtMs === undefined || clock.nowMs() - readAtMs >= REFRESH_MS
      if (!known.has(kid) && isDue) {
        known = parseKeys(await readSource(source))
        readAtMs = clock.nowMs()
      }
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
