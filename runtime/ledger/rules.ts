/** Rules that several transitions share. Each is about the draft's documents only, and decides nothing twice. */
import type { CheckResult } from '../core/codes.ts'
import type { Digest, NodeId, RunId } from '../core/ids.ts'
import type { LedgerRefusal, ProofUse, Refused } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { minus, plus, ZERO } from '../core/money.ts'
import { saltedDigest } from '../core/personal.ts'
import { loggedProvenance, type Provenance } from '../core/provenance.ts'
import type { NodeRecord, PaymentRecord, Resolution, Standing } from '../core/records.ts'
import { later, type Seconds } from '../core/time.ts'
import { type Draft, type Key, keys, type Steps } from './draft.ts'
import { corrupt } from './intact.ts'

export const refused = (code: LedgerRefusal, counter?: string): Refused =>
  counter === undefined ? { ok: false, code } : { ok: false, code, counter }

export const sameList = <T>(a: readonly T[], b: readonly T[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i])

export const statuses = (checks: readonly CheckResult[]): CheckResult['status'][] =>
  checks.map(({ status }) => status)

/** A trail as a field of an event, where there is one. */
export const trailOf = (provenance: Provenance | undefined) =>
  provenance === undefined ? {} : { provenance: loggedProvenance(provenance) }

/** A closing or closed node passes money on; live, frozen and revoked ones keep it until they are closed. */
export const isOpen = ({ state }: Standing): boolean => state !== 'closing' && state !== 'closed'

/** Submitted or unknown: the rail may have been called, and its word is awaited. */
export const isAwaited = ({ state }: PaymentRecord): boolean =>
  state === 'submitted' || state === 'unknown'

/** Salted: without the record beside it, nobody can find a short reference by trying. */
export const evidenceDigest = ({ salt, evidence }: Pick<Resolution, 'salt' | 'evidence'>): Digest =>
  saltedDigest(salt, evidence)

export const pathKeys = (path: readonly NodeId[]): Key[] => [
  keys.standing('gateway'),
  ...path.map(keys.standing),
]

/** Refuses unless the gateway and the whole path are live; what cannot be undone is named first. */
export function judgeStanding(draft: Draft, path: readonly NodeId[]): Refused | undefined {
  const states = standingsOf(draft, path).map(({ state }) => state)
  if (states.includes('revoked')) return refused('revoked')
  if (states.includes('closing') || states.includes('closed')) return refused('run_closed')
  return states.includes('frozen') ? refused('frozen') : undefined
}

/** Throws the fault for which a run was halted: nothing of it is given out any more, whichever node asks. */
export function assertNotHalted(draft: Draft, run: RunId): void {
  const halted = draft.get(keys.run(run))?.halted
  if (halted !== undefined) throw corrupt(halted.stream, run)
}

/** Versions as read now, the gateway's first: written into the event, they order it against standings. */
export const standingVersions = (draft: Draft, path: readonly NodeId[]): number[] =>
  standingsOf(draft, path).map(({ version }) => version)

const standingsOf = (draft: Draft, path: readonly NodeId[]): Standing[] =>
  (['gateway', ...path] as const).map((node) => draft.standing(node))

export const proofKeys = (proof: ProofUse | undefined, now: Seconds): Key[] =>
  proof === undefined ? [] : [keys.proof(proof), proofsKept(proof, now)]

/** Proofs that expired before this second may be forgotten. */
export const proofsKeptSince = (now: Seconds): Seconds => later(now, -LIMITS.proofKeptSeconds)

const proofsKept = ({ holder }: ProofUse, now: Seconds) => keys.proofs(proofsKeptSince(now), holder)

/** True if this very attempt has recorded its proof before. */
export const isOwnProof = (draft: Draft, proof: ProofUse | undefined): boolean =>
  proof !== undefined && draft.get(keys.proof(proof))?.attempt === proof.attempt

/**
 * Consumes a proof once; the same attempt may find its own. One that is no younger than what was forgotten counts as
 * seen: it is fresh by a clock that stood still further on when it was forgotten, and has been put back since.
 */
export function consumeProof(draft: Draft, proof: ProofUse | undefined): Refused | undefined {
  if (proof === undefined || isOwnProof(draft, proof)) return undefined
  const { count, forgottenUntilSeconds } = draft.need(proofsKept(proof, draft.at))
  const isForgotten = proof.expiresAtSeconds <= forgottenUntilSeconds
  if (isForgotten || draft.get(keys.proof(proof)) !== undefined) return refused('proof_replayed')
  if (count >= LIMITS.seenProofs) return refused('proofs_full')
  draft.put(keys.proof(proof), proof)
  return undefined
}

/** Sends what is available at a closing node up to the nearest open ancestor; at the root it stays. */
export function* climb(draft: Draft, node: NodeRecord): Steps<void> {
  for (let depth = node.path.length - 1; depth > 0; depth -= 1) {
    const [parent, child] = node.path.slice(depth - 1, depth + 1)
    if (parent === undefined || child === undefined) return
    yield [keys.account(child), keys.standing(child)]
    const from = draft.need(keys.account(child))
    const amount = from.available
    if (amount === ZERO || isOpen(draft.standing(child))) return
    yield [keys.account(parent), keys.standing(parent)]
    const to = draft.need(keys.account(parent))
    draft.move(child, { available: ZERO, ceiling: minus(from.ceiling, amount) })
    draft.append(child, 'returned', { amount })
    draft.move(parent, {
      allotted: minus(to.allotted, amount),
      available: plus(to.available, amount),
    })
    draft.append(parent, 'credited', { child, amount })
  }
}
