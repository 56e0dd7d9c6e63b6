/** A run as the console is shown it: every kind of node and state once, and text as a hostile shop writes it. */
import { CHECKS, type CheckStatus } from '../../runtime/core/codes.ts'
import { minor } from '../../runtime/core/money.ts'
import type { HoldView, NodeView, RunView } from '../../runtime/core/wire.ts'

export const FAR = 1_900_000_000

/** Markup, a bidi override, a zero-width joiner, a control character and a link. */
export const HOSTILE =
  '<img src=x onerror=alert(1)> \u202Egnp.exe\u202C a\u200Bb\u0007 https://evil.example/'

const RUN = 'run_stationery'

/** Statuses of the nine checks when check `n` was the first that did not pass; 10 when all passed. */
function checksTo(n: number, status: CheckStatus): NonNullable<NodeView['lastChecks']> {
  return CHECKS.map((check) => ({
    n: check.n,
    name: check.name,
    status: check.n < n ? 'passed' : check.n === n ? status : 'not-reached',
    ms: check.n < n ? 0.4 : 0,
  }))
}

type Money = { spent?: number; reserved?: number; available?: number; allotted?: number }

function node(
  id: string,
  parent: string | undefined,
  kind: NodeView['kind'],
  label: string,
  money: Money,
  more: Partial<NodeView> = {},
): NodeView {
  const { spent = 0, reserved = 0, available = 0, allotted = 0 } = money
  const ceiling = minor(spent + reserved + available + allotted)
  return {
    id: `nd_${id}`,
    ...(parent === undefined ? {} : { parent: `nd_${parent}` as const }),
    kind,
    depth: 0,
    label,
    standing: 'live',
    payees: ['paper-mill', 'ink-house'],
    expiresAtSeconds: FAR,
    tokenCeiling: ceiling,
    ceiling,
    available: minor(available),
    reserved: minor(reserved),
    spent: minor(spent),
    allotted: minor(allotted),
    seq: 3,
    ...more,
  }
}

const pays = (amount: number, state: NonNullable<NodeView['payment']>['state']) =>
  ({
    payment: { id: 'pay_one', payee: 'paper-mill', amount: minor(amount), state },
  }) as const

export const nodes = (): NodeView[] => [
  node('root', undefined, 'planner', 'Stationery for the Pune office', {
    available: 60_000,
    allotted: 440_000,
  }),
  node('paper', 'root', 'planner', 'Paper', { available: 45_000, allotted: 155_000 }),
  node('look1', 'paper', 'looker', 'Search for A4 paper, 80 gsm', {}),
  node(
    'leaf1',
    'paper',
    'leaf',
    'A4 paper, 20 reams',
    { spent: 80_000, reserved: 0 },
    {
      standing: 'closed',
      lastChecks: checksTo(10, 'passed'),
      ...pays(80_000, 'settled'),
    },
  ),
  node(
    'leaf2',
    'paper',
    'leaf',
    'Envelopes',
    { reserved: 30_000, available: 5_000 },
    {
      lastChecks: checksTo(10, 'passed'),
      ...pays(30_000, 'submitted'),
    },
  ),
  node(
    'leaf3',
    'paper',
    'leaf',
    HOSTILE,
    { available: 40_000 },
    {
      lastChecks: checksTo(8, 'failed'),
      lastCode: 'insufficient',
    },
  ),
  node('ink', 'root', 'planner', 'Printer ink', { available: 20_000, allotted: 120_000 }),
  node(
    'leaf4',
    'ink',
    'leaf',
    'Black toner, 2 cartridges',
    { available: 120_000 },
    {
      lastChecks: checksTo(7, 'held'),
      lastCode: 'approval_required',
    },
  ),
  node(
    'chairs',
    'root',
    'planner',
    'Chairs',
    { available: 40_000, allotted: 60_000 },
    {
      standing: 'frozen',
    },
  ),
  node(
    'leaf5',
    'chairs',
    'leaf',
    'One office chair',
    { reserved: 60_000 },
    {
      lastChecks: checksTo(10, 'passed'),
      ...pays(60_000, 'unknown'),
    },
  ),
]

export const run = (more: Partial<RunView> = {}): RunView => ({
  id: RUN,
  state: 'running',
  principal: 'asha',
  task: 'Buy stationery for the Pune office: paper, envelopes, toner and one chair',
  currency: 'INR',
  ceiling: minor(500_000),
  root: 'nd_root',
  payees: ['ink-house', 'paper-mill'],
  createdAtSeconds: 1_796_000_000,
  expiresAtSeconds: FAR,
  totals: { available: minor(330_000), reserved: minor(90_000), spent: minor(80_000) },
  heldCount: 1,
  frozen: true,
  ...more,
})

export const hold = (more: Partial<HoldView> = {}): HoldView => ({
  id: 'hold_toner',
  run: RUN,
  node: 'nd_leaf4',
  payment: 'pay_toner',
  digest: 'q8Zl1Yk2dS0vBq5m3nR7tUwXcEfGhJk9LmNoPqRsTuV',
  code: 'approval_required',
  rule: 'above-the-approval-limit',
  payee: 'ink-house',
  payeeName: 'Ink House Private Limited',
  merchant: 'ink-house',
  amount: minor(118_000),
  currency: 'INR',
  lines: [
    {
      sku: 'TN-2365',
      title: 'Black toner for laser printers',
      quantity: 2,
      unitAmount: minor(55_000),
    },
    { sku: 'TN-X', title: HOSTILE, quantity: 1, unitAmount: minor(8_000) },
  ],
  path: [
    { id: 'nd_root', label: 'Stationery for the Pune office' },
    { id: 'nd_ink', label: 'Printer ink' },
    { id: 'nd_leaf4', label: 'Black toner, 2 cartridges' },
  ],
  state: 'open',
  createdAtSeconds: 1_796_000_000,
  expiresAtSeconds: FAR,
  ...more,
})
