/**
 * On what terms a gateway serves, as events of its own stream: its root keys (which ids, by thumbprint, and until when)
 * and the version of the operator's rules. Each is written at a start that finds it other than it was written last, so
 * an auditor reads every rotation and every change of rules once.
 */
import type { Digest } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import { type PublishedRootKeys, thumbprint } from '../core/keys.ts'
import type { Ledger } from '../core/ledger.ts'
import type { Seconds } from '../core/time.ts'
import { lastAct, noteAct } from './acts.ts'

export interface Terms {
  readonly rootKeys: PublishedRootKeys
  /** Digest of the rules. */
  readonly policy: Digest
}

/** Writes what is not as it was written last, not too far back. Throws Fault. */
export async function recordTerms(ledger: Ledger, terms: Terms, now: Seconds): Promise<void> {
  for (const data of [rootKeys(terms.rootKeys), { act: 'policy', version: terms.policy }]) {
    const last = await lastAct(ledger, data.act)
    if (last !== undefined && canonicalJson(last.data) === canonicalJson({ ...data })) continue
    await noteAct(ledger, data, now)
  }
}

/** Keys as identifiers, `id.thumbprint` or `id.thumbprint.retiresAt`: an event keeps any other text as a digest alone. */
function rootKeys({ current, keys }: PublishedRootKeys) {
  const names = keys.map(({ id, jwk, retiresAt }) =>
    [id, thumbprint(jwk), ...(retiresAt === undefined ? [] : [retiresAt])].join('.'),
  )
  return { act: 'root_keys', current, keys: names }
}
