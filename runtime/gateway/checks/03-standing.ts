/** Check 3: the principal's signature still holds, nothing has expired, and nobody has stopped the node or its path. */
import { deny } from '../../core/codes.ts'
import type { Mandate } from '../../core/mandate.ts'
import type { RunRecord } from '../../core/records.ts'
import type { Attempt } from '../attempt.ts'
import type { Facts, Judgement } from '../facts.ts'

export function standing({ operation, now }: Attempt, facts: Facts): Judgement {
  const { snapshot, mandate, token } = facts
  if (!snapshot || !mandate || !token?.ok) return deny('mandate_invalid')
  const { blocks } = token.token
  if (!agrees(snapshot.run, mandate)) return deny('mandate_invalid')
  if (blocks[0]?.mandate !== snapshot.run.mandateDigest) return deny('mandate_invalid')
  if (mandate.nbf !== undefined && now < mandate.nbf) return deny('mandate_invalid')
  if (now >= mandate.exp || blocks.some((block) => now >= block.expiresAtSeconds)) {
    return deny('expired')
  }
  const states = [snapshot.gateway, ...snapshot.standings].map(({ state }) => state)
  if (states.includes('revoked')) return deny('revoked')
  // What came of a run may be read by its planner after it has ended or while it is stopped.
  if (operation === 'read') return undefined
  if (states.includes('frozen')) return deny('frozen')
  if (snapshot.run.state !== 'running') return deny('run_closed')
  return states.every((state) => state === 'live') ? undefined : deny('run_closed')
}

/** The run's record is a convenience; what the principal signed decides, so the two may not differ. */
function agrees(run: RunRecord, mandate: Mandate): boolean {
  return (
    run.principal === mandate.iss &&
    run.jti === mandate.jti &&
    run.currency === mandate.currency &&
    run.ceiling === mandate.ceiling &&
    run.expiresAtSeconds === mandate.exp
  )
}
