/**
 * A mandate becomes a run: the root's token is minted, the run and its root are recorded, and each payee's account
 * binding is pinned. Nothing is stored of a mandate that is not accepted. The same mandate again is the same run.
 */
import type { BlockClaims } from '../core/block.ts'
import { Fault, Rejected } from '../core/errors.ts'
import { freshId, type NodeId, rootNodeIdOf, runIdOf } from '../core/ids.ts'
import type { Refused, Result } from '../core/ledger.ts'
import { type Agent, isAgentNamed, type Mandate } from '../core/mandate.ts'
import { nodeRecord, type RunRecord } from '../core/records.ts'
import { nowSeconds } from '../core/time.ts'
import type { Gate } from './gate.ts'
import { readMandate, readNewMandate } from './mandates.ts'

export type CreatedRun = Result<{
  readonly run: RunRecord
  /** False when this mandate had made its run before. */
  readonly created: boolean
  readonly node: NodeId
  /** The root's token, only where the mandate names the holder's key. */
  readonly token?: string
}>

/** Throws Rejected with the claim that was not accepted. A refusal is the ledger's, such as `frozen`. */
export async function createRun(gate: Gate, text: string): Promise<CreatedRun> {
  const signed = readMandate(text, gate.trust)
  if (!signed.ok) throw new Rejected('mandate_rejected', signed.message, signed.claim)
  const { iss, jti } = signed.mandate
  const existing = await gate.ledger.runByMandate(iss, jti)
  if (existing !== undefined) return existingRun(gate, existing, signed)

  const now = nowSeconds(gate.clock)
  const reading = readNewMandate(text, gate.trust, (payee) => gate.bindings.has(payee), now)
  if (!reading.ok) throw new Rejected('mandate_rejected', reading.message, reading.claim)
  assertAgent(gate, reading.mandate)
  const claims = rootClaims(gate, reading)
  const { token, revocationIds } = await gate.engine.mintRoot(claims)
  const salt = freshId()
  const result = await gate.ledger.execute('createRun', {
    run: runRecord(gate, text, reading, { claims, salt, now }),
    root: nodeRecord(claims, {
      run: claims.run,
      path: [claims.node],
      label: 'root',
      revocationIds,
      custody: reading.mandate.holder === undefined ? 'funnel' : 'outside',
      createdAtSeconds: now,
      salt,
    }),
    token,
    nodes: reading.mandate.limits.nodes,
    now,
  })
  if (result.ok) return existingRun(gate, result.run, reading, result.created)
  return result.code === 'conflict' ? jtiTaken() : refused(result)
}

/** Whoever signed for one engine must not get another. Where somebody else plans, it is nothing of ours. */
function assertAgent({ facts }: Gate, { agent, holder }: Mandate): void {
  const runs = facts.agent ?? SCRIPTED
  if (holder !== undefined || isAgentNamed(agent, runs)) return
  const message = 'expected an engine, and a model if one is named, that this gateway runs'
  throw new Rejected('mandate_rejected', message, 'agent')
}

const SCRIPTED: Agent = { engine: 'scripted' }

type Accepted = Extract<ReturnType<typeof readMandate>, { ok: true }>

const refused = (result: Refused): Refused => result

function jtiTaken(): never {
  throw new Rejected('mandate_rejected', 'expected a jti that no other mandate has used', 'jti')
}

/** The run of a mandate, with the token that was recorded for it: of two mints at the same time, one stands. */
async function existingRun(
  gate: Gate,
  run: RunRecord,
  { mandate, digest }: Accepted,
  created = false,
): Promise<CreatedRun> {
  if (run.mandateDigest !== digest) jtiTaken()
  if (mandate.holder === undefined) return { ok: true, run, created, node: run.root }
  const token = await gate.ledger.token(run.root)
  if (token === undefined) throw new Fault('ledger_corrupt', 'a root has no token')
  return { ok: true, run, created, node: run.root, token }
}

function rootClaims(gate: Gate, { mandate, digest }: Accepted): BlockClaims & RootIds {
  const run = runIdOf(gate.facts.organisation, mandate.iss, mandate.jti)
  const node = rootNodeIdOf(run)
  return {
    node,
    kind: 'planner',
    currency: mandate.currency,
    ceiling: mandate.ceiling,
    holder: mandate.holder ?? gate.holderKeys.publicKey(node),
    expiresAtSeconds: mandate.exp,
    payees: [...mandate.payees].sort(),
    mandate: digest,
    run,
  }
}

interface MadeRoot {
  readonly claims: BlockClaims & RootIds
  /** The root's: what is pinned is salted with it. */
  readonly salt: string
  readonly now: RunRecord['createdAtSeconds']
}

type RootIds = Required<Pick<BlockClaims, 'run' | 'mandate'>>

function runRecord(
  gate: Gate,
  text: string,
  { mandate, digest }: Accepted,
  made: MadeRoot,
): RunRecord {
  const { claims: root, salt, now } = made
  const pinned = mandate.payees.flatMap((payee) => {
    const binding = gate.bindings.get(payee)
    return binding === undefined ? [] : [[payee, binding.digest(salt)] as const]
  })
  return {
    id: root.run,
    principal: mandate.iss,
    jti: mandate.jti,
    mandate: text,
    mandateDigest: digest,
    root: root.node,
    currency: mandate.currency,
    ceiling: mandate.ceiling,
    bindings: Object.fromEntries(pinned),
    agent: mandate.agent ?? gate.facts.agent ?? SCRIPTED,
    createdAtSeconds: now,
    expiresAtSeconds: mandate.exp,
    state: 'running',
  }
}
