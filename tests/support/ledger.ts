/** Small ledgers for tests: a run, a chain of nodes, a payment, with ids that derive from their names. */
import { CHECKS, type CheckResult } from '../../runtime/core/codes.ts'
import {
  childNodeIdOf,
  freshId,
  type NodeId,
  paymentIdOf,
  railKeyOf,
  rootNodeIdOf,
  runIdOf,
  sha256,
} from '../../runtime/core/ids.ts'
import type {
  Commands,
  CounterUse,
  Ledger,
  ProofUse,
  Reserve,
  Split,
  Submit,
} from '../../runtime/core/ledger.ts'
import { type Minor, minor, ZERO } from '../../runtime/core/money.ts'
import { type Provenance, QUOTES_DOOR } from '../../runtime/core/provenance.ts'
import type { NodeRecord, PaymentRecord, RunRecord } from '../../runtime/core/records.ts'
import { type Clock, later, type Seconds, seconds } from '../../runtime/core/time.ts'

/** The second at which every fixture begins. */
export const NOW: Seconds = seconds(1_800_000_000)

export const fixedClock: Clock = { nowMs: () => NOW * 1000 }

const PAYEES = ['grocer', 'baker'] as const

export const allPassed: readonly CheckResult[] = CHECKS.map(({ n, name }) => ({
  n,
  name,
  status: 'passed',
  ms: 0,
}))

export interface RunOptions {
  readonly organisation?: string
  readonly jti?: string
  readonly ceiling?: number
  readonly nodes?: number
  readonly now?: Seconds
}

/** A run and its root planner, valid for a day. */
export function aRun({
  organisation = 'acme',
  jti = 'mandate-1',
  ceiling = 100_000,
  now = NOW,
}: RunOptions = {}): { run: RunRecord; root: NodeRecord } {
  const id = runIdOf(organisation, 'asha', jti)
  const rootId = rootNodeIdOf(id)
  const shared = {
    currency: 'INR',
    ceiling: minor(ceiling),
    createdAtSeconds: now,
    expiresAtSeconds: later(now, 24 * 3600),
  } as const
  const mandate = `mandate.${jti}.signed`
  return {
    run: {
      id,
      principal: 'asha',
      jti,
      mandate,
      mandateDigest: sha256(mandate),
      root: rootId,
      bindings: Object.fromEntries(PAYEES.map((payee) => [payee, sha256(`account of ${payee}`)])),
      agent: { engine: 'scripted' },
      state: 'running',
      ...shared,
    },
    root: {
      id: rootId,
      run: id,
      path: [rootId],
      kind: 'planner',
      label: 'root',
      payees: PAYEES,
      holder: sha256(`holder of ${rootId}`),
      revocationIds: [revocationId(rootId)],
      custody: 'funnel',
      salt: `salt of ${rootId}`,
      ...shared,
    },
  }
}

const revocationId = (node: NodeId): string =>
  Buffer.from(sha256(`revocation ${node}`), 'base64url').toString('hex')

export interface ChildOptions {
  readonly kind?: NodeRecord['kind']
  readonly ceiling?: number
  readonly payees?: readonly string[]
  readonly expiresAtSeconds?: Seconds
}

/** A child that `step` names; a leaf gets one payee and a quote. */
export function aChild(parent: NodeRecord, step: string, options: ChildOptions = {}): NodeRecord {
  const { kind = 'leaf', expiresAtSeconds = parent.expiresAtSeconds } = options
  const id = childNodeIdOf(parent.id, step)
  const { payees = kind === 'leaf' ? parent.payees.slice(0, 1) : parent.payees } = options
  return {
    id,
    run: parent.run,
    parent: parent.id,
    path: [...parent.path, id],
    kind,
    label: step,
    currency: parent.currency,
    ceiling: kind === 'looker' ? ZERO : minor(options.ceiling ?? 1_000),
    expiresAtSeconds,
    payees,
    holder: sha256(`holder of ${id}`),
    ...(kind === 'leaf' ? { quote: sha256(`quote for ${id}`) } : {}),
    revocationIds: [...parent.revocationIds, revocationId(id)],
    custody: 'funnel',
    salt: `salt of ${id}`,
    createdAtSeconds: parent.createdAtSeconds,
  }
}

export const aProof = (
  node: NodeRecord,
  attempt: string = freshId(),
  now: Seconds = NOW,
): ProofUse => ({
  jti: `jti-${attempt}`,
  holder: node.holder,
  expiresAtSeconds: later(now, 62),
  attempt,
})

export interface PaymentOptions {
  readonly amount?: number
  readonly merchant?: string
  readonly quoteJti?: string
  readonly counters?: readonly string[]
}

/** The payment of a leaf's whole ceiling for its quote, unless said otherwise. */
export function aPayment(leaf: NodeRecord, options: PaymentOptions = {}): PaymentRecord {
  const { merchant = 'corner-shop', quoteJti = `q-${leaf.id}`, counters = [] } = options
  const amount: Minor = minor(options.amount ?? leaf.ceiling)
  const quote = leaf.quote ?? sha256('no quote')
  const id = paymentIdOf(leaf.id, quote)
  return {
    id,
    run: leaf.run,
    node: leaf.id,
    payee: leaf.payees[0] ?? 'nobody',
    merchant,
    quote,
    quoteJti,
    lines: [{ sku: 'rice-1kg', title: 'Rice, 1 kg', quantity: 1, unitAmount: amount }],
    currency: leaf.currency,
    amount,
    state: 'reserved',
    rail: 'simulated',
    account: 'acct-1',
    railKey: railKeyOf(id),
    counters,
    checks: allPassed,
    createdAtSeconds: NOW,
  }
}

/** The trail of a quote for one item that a looker of this id fetched. */
export function aTrail(sku = 'rice-1kg', node: NodeId = 'nd_looker'): Provenance {
  const item = { merchant: 'corner-shop', sku }
  const quoted = [{ source: 'quote', tool: QUOTES_DOOR, item, node, at: NOW }] as const
  return {
    payee: [{ source: 'mandate' }, { source: 'operator' }],
    amount: quoted,
    currency: [{ source: 'mandate' }, ...quoted],
    quantity: quoted,
    recurring: quoted,
  }
}

export interface ReserveOptions extends PaymentOptions {
  readonly proof?: ProofUse
  readonly uses?: readonly CounterUse[]
  readonly approval?: Reserve['approval']
  /** Submits in the same transaction, with this nonce. */
  readonly nonce?: string
  readonly now?: Seconds
}

export function aReserve(leaf: NodeRecord, options: ReserveOptions = {}): Reserve {
  const { uses = [], approval, nonce, now = NOW } = options
  const { proof = aProof(leaf, freshId(), now) } = options
  return {
    payment: aPayment(leaf, options),
    path: leaf.path,
    expiresAtSeconds: leaf.expiresAtSeconds,
    proof,
    counters: uses,
    ...(approval ? { approval } : {}),
    ...(nonce === undefined ? {} : { submit: { nonce, nowMs: now * 1000 } }),
    now,
  }
}

export const aSubmit = (leaf: NodeRecord, nonce: string, now: Seconds = NOW): Submit => ({
  payment: aPayment(leaf).id,
  path: leaf.path,
  expiresAtSeconds: leaf.expiresAtSeconds,
  nonce,
  nowMs: now * 1000,
  checks: allPassed,
  now,
})

export const aSplit = (child: NodeRecord, options: Partial<Split> = {}): Split => ({
  child,
  token: `token of ${child.id}`,
  nodes: child.kind === 'planner' ? 10 : 0,
  fanOut: 100,
  now: NOW,
  ...options,
})

/** The result of a command that the test expects to succeed; throws with the refusal's code otherwise. */
export function accepted<T extends { readonly ok: boolean }>(
  result: T,
): Extract<T, { readonly ok: true }> {
  if (!result.ok) throw new Error(`refused: ${'code' in result ? String(result.code) : ''}`)
  return result as Extract<T, { readonly ok: true }>
}

export async function startRun(ledger: Ledger, options: RunOptions = {}) {
  const { run, root } = aRun(options)
  const { nodes = 1_000, now = NOW } = options
  const input: Commands['createRun']['input'] = { run, root, token: 'root token', nodes, now }
  accepted(await ledger.execute('createRun', input))
  return { run, root }
}

export async function addChild(
  ledger: Ledger,
  parent: NodeRecord,
  step: string,
  options: ChildOptions & Partial<Split> = {},
): Promise<NodeRecord> {
  const { nodes, fanOut, now } = options
  const split = aSplit(aChild(parent, step, options), {
    ...(nodes === undefined ? {} : { nodes }),
    ...(fanOut === undefined ? {} : { fanOut }),
    ...(now === undefined ? {} : { now }),
  })
  return accepted(await ledger.execute('split', split)).child
}

/** A run, a planner below its root, and a leaf below that. */
export async function startChain(ledger: Ledger, options: RunOptions = {}) {
  const { run, root } = await startRun(ledger, options)
  const planner = await addChild(ledger, root, 'planner', { kind: 'planner', ceiling: 10_000 })
  const leaf = await addChild(ledger, planner, 'leaf', { ceiling: 1_000 })
  return { run, root, planner, leaf }
}

/** Reserves and submits the leaf's payment at once. */
export async function paySubmitted(ledger: Ledger, leaf: NodeRecord, options: ReserveOptions = {}) {
  const input = aReserve(leaf, { nonce: `nonce-${leaf.id}`, ...options })
  return accepted(await ledger.execute('reserve', input)).payment
}
