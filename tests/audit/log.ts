/** A log with everything in it, as an auditor gets it, and ways to forge one. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { exportLog } from '../../runtime/audit/export.ts'
import { receiptOf } from '../../runtime/audit/receipts.ts'
import { signSeal } from '../../runtime/audit/seal.ts'
import type { VerifyOptions } from '../../runtime/audit/verify.ts'
import { deny, hold } from '../../runtime/core/codes.ts'
import { eventHash } from '../../runtime/core/events.ts'
import { holdIdOf, sha256 } from '../../runtime/core/ids.ts'
import { canonicalJson } from '../../runtime/core/json.ts'
import { ed25519FromSeed } from '../../runtime/core/keys.ts'
import { minor } from '../../runtime/core/money.ts'
import type { NodeRecord, RunRecord } from '../../runtime/core/records.ts'
import { later } from '../../runtime/core/time.ts'
import { closeSubtree } from '../../runtime/ledger/closing.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import {
  accepted,
  addChild,
  allPassed,
  aPayment,
  aProof,
  aReserve,
  aTrail,
  fixedClock,
  NOW,
  paySubmitted,
  startChain,
} from '../support/ledger.ts'

export const signer = { gateway: 'gate', key: ed25519FromSeed(Buffer.alloc(32, 7)), kid: 'gate-1' }

export const jwksOf = (key: KeyObject, kid: string) => ({
  keys: [{ ...createPublicKey(key).export({ format: 'jwk' }), kid }],
})

export interface Written {
  readonly run: RunRecord
  readonly root: NodeRecord
  readonly planner: NodeRecord
  readonly leaf: NodeRecord
  readonly lines: readonly string[]
  /** Of the run alone, without the gateway's stream. */
  readonly ofRun: readonly string[]
  readonly seal: string
  readonly receipt: string
  readonly options: VerifyOptions
}

/** A run that paid, was refused, held, approved, frozen, resumed, released, closed and sealed; another still open. */
export async function writtenLog(): Promise<Written> {
  const ledger = createMemoryLedger({ organisation: 'acme' })
  const { run, root, planner, leaf } = await startChain(ledger)
  await startChain(ledger, { jti: 'mandate-2' })
  const second = await addChild(ledger, planner, 'second', { ceiling: 800 })
  const third = await addChild(ledger, planner, 'third', { ceiling: 300 })
  await addChild(ledger, planner, 'looker', { kind: 'looker' })
  const act = { by: 'op', now: NOW } as const
  await ledger.execute('setStanding', { ...act, node: planner.id, state: 'frozen' })
  await ledger.execute('setStanding', { ...act, node: planner.id, state: 'live' })
  const refusal = { node: leaf.id, run: run.id, checks: allPassed, now: NOW }
  const denial = deny('quote_expired')
  await ledger.execute('refuse', { ...refusal, denial, proof: aProof(leaf) })
  const trail = { provenance: aTrail() }
  const payment = { ...aPayment(leaf), ...trail }
  accepted(
    await ledger.execute('decided', {
      ...refusal,
      payment: payment.id,
      count: { key: 'decisions' },
      proof: aProof(leaf),
      ...trail,
    }),
  )
  const digest = sha256('card')
  const { id, node, payee, merchant, amount, currency, lines } = payment
  accepted(
    await ledger.execute('refuse', {
      ...refusal,
      denial: hold('approval_required', 'big-spend'),
      proof: aProof(leaf),
      hold: {
        id: holdIdOf(id, digest),
        run: run.id,
        ...{ node, payment: id, digest, payee, merchant, amount, currency, lines },
        code: 'approval_required',
        expiresAtSeconds: later(NOW, 60),
        createdAtSeconds: NOW,
        state: 'open',
      },
      ...trail,
    }),
  )
  const approval = { hold: holdIdOf(id, digest), digest }
  await ledger.execute('decideHold', { ...approval, ...act, decision: 'approved' })
  accepted(
    await ledger.execute('reserve', { ...aReserve(leaf, { approval, nonce: 'n' }), payment }),
  )
  const settle = { payment: id, amount: minor(900), railReference: 'rail 1', now: NOW }
  const { payment: settled } = accepted(await ledger.execute('settle', settle))
  const other = await paySubmitted(ledger, second)
  await ledger.execute('markUnknown', { payment: other.id, reason: 'timeout', now: NOW })
  accepted(await ledger.execute('reserve', aReserve(third)))
  await closeSubtree(ledger, root.id, 'op', fixedClock)
  const release = { payment: other.id, from: 'submitted', reason: 'absent', now: NOW } as const
  await ledger.execute('release', release)
  const lost = { payment: aPayment(third).id, from: 'reserved', reason: 'lost', now: NOW } as const
  await ledger.execute('release', lost)
  accepted(await closeSubtree(ledger, root.id, 'op', fixedClock))
  const account = await ledger.account(root.id)
  if (!account) throw new Error('expected an account')
  const seal = signSeal(run, account, signer, NOW)
  accepted(await ledger.execute('finishRun', { run: run.id, state: 'completed', seal, now: NOW }))
  await ledger.execute('note', {
    stream: root.id,
    type: 'operator',
    data: { act: 'read' },
    now: NOW,
  })
  const receipt = receiptOf(run, settled, signer) ?? ''
  const options = { seals: [seal], receipts: [receipt], jwks: jwksOf(signer.key, signer.kid) }
  const written = { run, root, planner, leaf, seal, receipt, options }
  const all = await collect(exportLog(ledger))
  return { ...written, lines: all, ofRun: await collect(exportLog(ledger, run.id)) }
}

export async function collect(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

/** A body as loose JSON: what a forger works on. */
export type Body = { [key: string]: unknown } & {
  stream: string
  seq: number
  type: string
  data: { [key: string]: unknown }
  balances: { [key: string]: number }
}

export const bodyOf = (line: string): Body => JSON.parse(JSON.parse(line).body)

/**
 * Changes one event and then hashes and chains everything after it anew, through every stream, the way somebody with
 * the whole store in their hands would.
 */
export function forge(
  lines: readonly string[],
  change: (body: Body) => void,
  which: (body: Body) => boolean,
): string[] {
  const bodies = lines.map(bodyOf)
  const target = bodies.find(which)
  if (!target) throw new Error('expected such an event')
  const before = bodies.map((body) => eventHash(canonicalJson(body)))
  change(target)
  const renamed = new Map<unknown, string>()
  const rename = (hash: unknown) => renamed.get(hash) ?? hash
  // Anchors and ends refer to each other across streams, so this repeats until no hash changes any more.
  for (let changed = true; changed; ) {
    changed = false
    for (const [i, body] of bodies.entries()) {
      body.prev = rename(body.prev)
      if (typeof body.data?.hash === 'string') body.data.hash = rename(body.data.hash)
      const hash = eventHash(canonicalJson(body))
      const old = before[i] ?? ''
      if (hash === old) continue
      for (const [from, to] of renamed) if (to === old) renamed.set(from, hash)
      renamed.set(old, hash)
      before[i] = hash
      changed = true
    }
  }
  return bodies.map((body) => {
    const text = canonicalJson(body)
    return JSON.stringify({ hash: eventHash(text), body: text })
  })
}
