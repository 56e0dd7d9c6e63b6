/** What must hold of a ledger that another process wrote to, however that process ended. */
import { expect } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { parseEvent } from '../../runtime/core/events.ts'
import type { NodeId, PaymentId } from '../../runtime/core/ids.ts'
import type { Ledger, NodeState } from '../../runtime/core/ledger.ts'
import type { RunRecord } from '../../runtime/core/records.ts'
import type { Told } from './ledger-writer.ts'

/** Each acknowledged command, by what only it would have left. */
export async function assertKept(ledger: Ledger, told: readonly Told[]): Promise<void> {
  for (const { name, node, id, head } of told) {
    const stream = node as NodeId
    if (head !== undefined) {
      const [event] = await ledger.events(stream, head.seq - 1, 1)
      expect([name, event?.seq, event?.hash]).toEqual([name, head.seq, head.hash])
    }
    const payment = id === undefined ? undefined : await ledger.payment(id as PaymentId)
    if (name === 'settle') expect(payment).toMatchObject({ state: 'settled', settledAmount: 7 })
    if (name === 'release') expect(payment?.state).toBe('released')
    if (name === 'reserve') expect(payment).toBeDefined()
    if (name === 'submit') expect(payment?.nonce).toBe(node)
    if (name === 'markUnknown') expect(['unknown', 'settled']).toContain(payment?.state)
    if (name === 'split') expect(await ledger.node(stream)).toBeDefined()
    if (name === 'close') expect((await ledger.standing(stream)).state).toBe('closed')
    if (name === 'saveStep') expect(await ledger.step(stream, 'bought')).toBeDefined()
    if (name === 'refuse') expect((await typesOf(ledger, stream)).includes('held')).toBe(true)
  }
}

const typesOf = async (ledger: Ledger, stream: NodeId) =>
  (await ledger.events(stream, 0, 100)).map(({ body }) => parseEvent(body).type)

/** Balances at every node, and each record against the events that speak of it: no command is half there. */
export async function assertWhole(ledger: Ledger, run: RunRecord): Promise<void> {
  const tree = await ledger.tree(run.id)
  const below = Map.groupBy(tree, ({ node }: NodeState) => node.parent)
  let counted = 0
  for (const { node, account, payment, standing } of tree) {
    const { ceiling, available, reserved, spent, allotted, head } = account
    expect(ceiling).toBe(available + reserved + spent + allotted)
    const given = (below.get(node.id) ?? []).reduce((sum, child) => sum + child.account.ceiling, 0)
    expect(allotted).toBe(given)
    const events = await ledger.events(node.id, 0, 100_000)
    expect([events.length, events.at(-1)?.hash]).toEqual([head.seq, head.hash])
    if (node.kind !== 'leaf') continue
    const types = events.map(({ body }) => parseEvent(body).type)
    const last = types.findLast((type) => STATES.has(type))
    expect(payment?.state).toBe(last)
    if (payment !== undefined && payment.state !== 'released') counted += 1
    expect(standing.state === 'closed').toBe(types.includes('ended'))
    expect((await ledger.step(node.id, 'bought')) !== undefined).toBe(types.includes('chose'))
  }
  const round = run.jti.replace('round-', '')
  const day = { node: run.root, counters: [`day-${round}`] }
  expect((await ledger.snapshot(day))?.counters[0]?.count).toBe(counted)
}

const STATES: ReadonlySet<string> = new Set([
  'reserved',
  'submitted',
  'settled',
  'released',
  'unknown',
])

export async function assertVerifies(ledger: Ledger): Promise<number> {
  const lines: string[] = []
  for await (const line of exportLog(ledger)) lines.push(line)
  const verdict = verifyExport(lines)
  expect(verdict.broken).toBeUndefined()
  return verdict.events
}
