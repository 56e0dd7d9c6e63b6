/** Seals: the gateway's signature over the last hash of a closed root, which commits to everything below it. */
import { signJws } from '../core/jws.ts'
import { plus } from '../core/money.ts'
import type { Seal } from '../core/receipt.ts'
import type { Account, RunRecord } from '../core/records.ts'
import type { Seconds } from '../core/time.ts'
import type { GatewaySigner } from './signer.ts'

/** The claims of a run's seal, from its root's account once the root is closed. */
export function sealOf(run: RunRecord, root: Account, gateway: string, now: Seconds): Seal {
  return {
    iss: gateway,
    iat: now,
    run: run.id,
    mandate: run.mandateDigest,
    currency: run.currency,
    ceiling: run.ceiling,
    // What closed children keep of their ceilings is what was spent below them.
    spent: plus(root.spent, root.allotted),
    head: { stream: root.node, ...root.head },
  }
}

/** Compact JWS `seal+jwt`: hand it to `finishRun`, which refuses it as `stale` if the head has moved since. */
export function signSeal(
  run: RunRecord,
  root: Account,
  { gateway, key, kid, signatures }: GatewaySigner,
  now: Seconds,
): string {
  return signJws({ typ: 'seal+jwt', key, kid, claims: sealOf(run, root, gateway, now) }, signatures)
}
