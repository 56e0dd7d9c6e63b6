/** For each command a ledger in which it has something to do, and its input: the same each time. */
import { signSeal } from '../../runtime/audit/seal.ts'
import { deny } from '../../runtime/core/codes.ts'
import { authorisationIdOf, holdIdOf, sha256 } from '../../runtime/core/ids.ts'
import { ed25519FromSeed } from '../../runtime/core/keys.ts'
import type { CommandName, Commands, Ledger } from '../../runtime/core/ledger.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import type { HoldRecord, NodeRecord } from '../../runtime/core/records.ts'
import { later } from '../../runtime/core/time.ts'
import {
  aChild,
  accepted,
  allPassed,
  aPayment,
  aProof,
  aReserve,
  aRun,
  aSplit,
  aSubmit,
  NOW,
  startChain,
} from '../support/ledger.ts'
import { MOVED } from './contract/inbox.ts'

export type Scenes = {
  readonly [K in CommandName]: (ledger: Ledger) => Promise<Commands[K]['input']>
}

export function aHold(leaf: NodeRecord, of: Partial<HoldRecord> = {}): HoldRecord {
  const payment = aPayment(leaf)
  const digest = of.digest ?? sha256(`card of ${payment.id}`)
  return {
    id: holdIdOf(payment.id, digest),
    run: leaf.run,
    node: leaf.id,
    payment: payment.id,
    digest,
    code: 'approval_required',
    payee: payment.payee,
    merchant: payment.merchant,
    amount: payment.amount,
    currency: payment.currency,
    lines: payment.lines,
    expiresAtSeconds: later(NOW, LIMITS.holdSeconds),
    createdAtSeconds: NOW,
    state: 'open',
    ...of,
  }
}

const refusalOf = (leaf: NodeRecord): Commands['refuse']['input'] => ({
  node: leaf.id,
  run: leaf.run,
  denial: deny('approval_required'),
  checks: allPassed,
  proof: aProof(leaf, 'refused'),
  payment: aPayment(leaf).id,
  hold: aHold(leaf),
  now: NOW,
})

/** A leaf whose payment was reserved by one attempt. */
async function reserved(ledger: Ledger, nonce?: string) {
  const chain = await startChain(ledger)
  const uses = [{ key: 'day', maxAmount: minor(50_000) }]
  const proof = aProof(chain.leaf, 'reserved')
  const input = aReserve(chain.leaf, { proof, uses, ...(nonce ? { nonce } : {}) })
  const { payment } = accepted(await ledger.execute('reserve', input))
  return { ...chain, payment: payment.id }
}

/** A payment that the rail has no word on. */
async function unknown(ledger: Ledger) {
  const { payment } = await reserved(ledger, 'mine')
  accepted(await ledger.execute('markUnknown', { payment, reason: 'timeout', now: NOW }))
  return payment
}

/** A settled payment of which a part came back. */
async function reversed(ledger: Ledger, amount = 300) {
  const { payment } = await reserved(ledger, 'mine')
  const settle = { payment, amount: minor(900), railReference: 'rail-1', now: NOW } as const
  accepted(await ledger.execute('settle', settle))
  const reverse = { payment, id: 'rfnd_0', kind: 'refunded', now: NOW } as const
  accepted(await ledger.execute('reverse', { ...reverse, amount: minor(amount) }))
  return payment
}

/** A run whose nodes are closed, and the seal that ends it. */
async function ending(ledger: Ledger): Promise<Commands['finishRun']['input']> {
  const { run, root, planner, leaf } = await startChain(ledger)
  for (const { id: node } of [leaf, planner, root]) {
    accepted(await ledger.execute('close', { node, by: 'op', now: NOW }))
  }
  const account = await ledger.account(root.id)
  if (!account) throw new Error('expected an account')
  const key = ed25519FromSeed(Buffer.alloc(32, 7))
  const seal = signSeal(run, account, { gateway: 'gate', key, kid: 'gate-1' }, NOW)
  return { run: run.id, state: 'completed', seal, now: NOW }
}

async function ended(ledger: Ledger) {
  const input = await ending(ledger)
  const { run } = accepted(await ledger.execute('finishRun', input))
  const leaf = (await ledger.tree(run.id)).at(-1)?.node
  if (leaf === undefined) throw new Error('expected a leaf')
  return { run: run.id, leaf: leaf.id }
}

const ASKED = {
  id: 'rfd_1',
  amount: minor(200),
  by: 'op',
  nonce: 'mine',
  nowMs: NOW * 1000,
  now: NOW,
} as const

const refundable = async (ledger: Ledger) => ({ payment: await reversed(ledger) })

async function refunding(ledger: Ledger) {
  const of = await refundable(ledger)
  accepted(await ledger.execute('refund', { ...of, ...ASKED }))
  return { ...of, refund: ASKED.id }
}

const UNTIL = { untilSeconds: later(NOW, 3_600) }

async function toAuthorise(ledger: Ledger): Promise<Commands['askAuthorisation']['input']> {
  const { payment, leaf } = await reserved(ledger, 'mine')
  const authorisation = authorisationIdOf(leaf.run, aPayment(leaf).payee)
  const of = { authorisation, payment, nonce: 'mine', amount: minor(1_000), key: 'hg-key' }
  return { ...of, nowMs: NOW * 1000, now: NOW }
}

async function asked(ledger: Ledger) {
  const input = await toAuthorise(ledger)
  accepted(await ledger.execute('askAuthorisation', input))
  return input
}

const MESSAGE = { rail: 'rail', id: 'evt_1' }

async function parked(ledger: Ledger) {
  accepted(await ledger.execute('hear', { ...MESSAGE, name: 'payout.processed', now: NOW }))
  return MESSAGE
}

export const SCENES: Scenes = {
  createRun: async () => ({ ...aRun(), token: 'root token', nodes: 9, now: NOW }),
  split: async (ledger) => {
    const { planner } = await startChain(ledger)
    return aSplit(aChild(planner, 'new', { ceiling: 500 }))
  },
  reserve: async (ledger) => {
    const { leaf } = await startChain(ledger)
    const uses = [{ key: 'Asia/Kolkata day', maxAmount: minor(50_000) }]
    return aReserve(leaf, { proof: aProof(leaf, 'pay'), uses, nonce: 'mine' })
  },
  submit: async (ledger) => aSubmit((await reserved(ledger)).leaf, 'mine'),
  settle: async (ledger) => {
    const { payment } = await reserved(ledger, 'mine')
    return { payment, amount: minor(900), railReference: 'rail-1', now: NOW }
  },
  release: async (ledger) => {
    const { payment } = await reserved(ledger)
    return { payment, from: 'reserved', reason: 'timed_out', now: NOW }
  },
  markUnknown: async (ledger) => {
    const { payment } = await reserved(ledger, 'mine')
    return { payment, reason: 'timeout', now: NOW }
  },
  lease: async (ledger) => {
    return { payment: await unknown(ledger), holder: 'a gateway', seconds: 60, now: NOW }
  },
  markOverdue: async (ledger) => {
    return { payment: await unknown(ledger), attempt: 'mine', now: later(NOW, 3_600) }
  },
  resolve: async (ledger) => {
    const payment = await unknown(ledger)
    const word = {
      payment,
      outcome: 'settled',
      amount: minor(900),
      evidence: 'statement 7',
      now: NOW,
    } as const
    accepted(await ledger.execute('resolve', { ...word, by: 'asha', attempt: 'first' }))
    return { ...word, by: 'bela', attempt: 'mine' }
  },
  reverse: async (ledger) => {
    const payment = await reversed(ledger)
    return { payment, id: 'rfnd_1', kind: 'refunded', amount: minor(200), now: NOW }
  },
  regain: async (ledger) => {
    const payment = await reversed(ledger)
    const word = { evidence: 'note 7', by: 'asha', attempt: 'mine', now: NOW }
    return { payment, reversedAmount: minor(300), ...word }
  },
  refund: async (ledger) => ({ ...(await refundable(ledger)), ...ASKED }),
  refunded: async (ledger) => {
    const refund = await refunding(ledger)
    return { ...refund, amount: ASKED.amount, railReference: 'simr_1', now: NOW }
  },
  refundFailed: async (ledger) => ({ ...(await refunding(ledger)), reason: 'declined', now: NOW }),
  refundUnknown: async (ledger) => ({ ...(await refunding(ledger)), reason: 'late', now: NOW }),
  haltRun: async (ledger) => {
    const { run, leaf } = await startChain(ledger)
    return { run: run.id, stream: leaf.id, now: NOW }
  },
  leaseRun: async (ledger) => {
    const { run } = await startChain(ledger)
    return { run: run.id, holder: 'a gateway', seconds: 30, now: NOW }
  },
  refuse: async (ledger) => refusalOf((await startChain(ledger)).leaf),
  decided: async (ledger) => {
    const { leaf } = await startChain(ledger)
    const { node, run, checks, proof, now } = refusalOf(leaf)
    const count = { key: `decisions:${node}`, maxCount: 3 }
    return { node, run, payment: aPayment(leaf).id, checks, count, proof, now }
  },
  decideHold: async (ledger) => {
    const { leaf } = await startChain(ledger)
    const hold = aHold(leaf)
    accepted(await ledger.execute('refuse', refusalOf(leaf)))
    return { hold: hold.id, digest: hold.digest, decision: 'approved', by: 'op', now: NOW }
  },
  setStanding: async (ledger) => {
    const { planner } = await reserved(ledger, 'mine')
    return { node: planner.id, state: 'frozen', by: 'op', now: NOW }
  },
  close: async (ledger) => ({ node: (await startChain(ledger)).leaf.id, by: 'op', now: NOW }),
  note: async (ledger) => {
    const { leaf } = await startChain(ledger)
    return { stream: leaf.id, type: 'read', data: { items: 3 }, now: NOW }
  },
  saveStep: async (ledger) => {
    const { root } = await startChain(ledger)
    return { node: root.id, name: 'a/b.plan', value: { parts: [1] }, now: NOW }
  },
  finishRun: ending,
  eraseParts: async (ledger) => {
    const { run, leaf } = await ended(ledger)
    return { run, nodes: [leaf], payments: [], holds: [], steps: [], now: NOW }
  },
  erase: async (ledger) => {
    const { run } = await ended(ledger)
    return { run, by: 'op', nodes: 3, payments: 0, holds: 0, now: NOW }
  },
  complete: async (ledger) => {
    const { payment } = await reserved(ledger, 'mine')
    const said = { awaits: 'capture', railReference: 'rail-1' } as const
    const word = { payment, reason: 'awaits_capture', said, now: NOW }
    accepted(await ledger.execute('markUnknown', word))
    return { payment, now: NOW }
  },
  askAuthorisation: toAuthorise,
  authorised: async (ledger) => {
    const { authorisation } = await asked(ledger)
    return { authorisation, amount: minor(1_000), reference: 'AUTH1', ...UNTIL, now: NOW }
  },
  draw: async (ledger) => {
    const { authorisation, payment, nonce } = await asked(ledger)
    const word = { authorisation, amount: minor(1_000), reference: 'AUTH1', ...UNTIL, now: NOW }
    accepted(await ledger.execute('authorised', word))
    return { authorisation, payment, nonce, now: NOW }
  },
  moveAuthorisation: async (ledger) => {
    const { authorisation } = await asked(ledger)
    return { authorisation, to: 'failed', reason: 'declined', now: NOW }
  },
  hear: async () => ({ ...MESSAGE, name: 'payout.processed', ref: 'pout_1', now: NOW }),
  takeMessage: async (ledger) => ({ ...(await parked(ledger)), attempt: 'mine', now: NOW }),
  heard: async (ledger) => ({ heard: await parked(ledger), now: NOW }),
  outside: async () => ({ outside: MOVED, now: NOW }),
  acknowledge: async (ledger) => {
    accepted(await ledger.execute('outside', { outside: MOVED, now: NOW }))
    return { outside: MOVED.id, evidence: 'our rent', by: 'op', attempt: 'mine', now: NOW }
  },
  walked: async () => ({ rail: 'rail', untilSeconds: NOW, now: NOW }),
}
