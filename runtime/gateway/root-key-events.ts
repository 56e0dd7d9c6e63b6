/**
 * A change of root keys as an event of the gateway's own stream: which ids there are, by thumbprint, and until when. It
 * is written at a start whose keys are not those that were written last, so an auditor reads every rotation once.
 */
import { canonicalJson } from '../core/json.ts'
import { type PublishedRootKeys, thumbprint } from '../core/keys.ts'
import type { Ledger, Note } from '../core/ledger.ts'
import type { Seconds } from '../core/time.ts'
import { lastAct } from './acts.ts'

const ACT = 'root_keys'

/** Writes the keys unless they were the last that were written, not too far back. Throws Fault. */
export async function recordRootKeys(
  ledger: Ledger,
  published: PublishedRootKeys,
  now: Seconds,
): Promise<void> {
  const data = dataOf(published)
  const last = await lastAct(ledger, ACT)
  if (last !== undefined && canonicalJson(last.data) === canonicalJson({ ...data })) return
  await ledger.execute('note', { stream: 'gateway', type: 'operator', data, now })
}

/** Keys as identifiers, `id.thumbprint` or `id.thumbprint.retiresAt`: an event keeps any other text as a digest alone. */
function dataOf({ current, keys }: PublishedRootKeys): Note['data'] {
  const names = keys.map(({ id, jwk, retiresAt }) =>
    [id, thumbprint(jwk), ...(retiresAt === undefined ? [] : [retiresAt])].join('.'),
  )
  return { act: ACT, current, keys: names }
}
