/**
 * A process that writes to a ledger until it is killed: `node ledger-writer.ts FILE ROUND`. It says `ready` and waits for
 * a line on stdin before it opens the file, so that its start costs no time; then `open`, and one line of JSON for each
 * command that was acknowledged, written before the next one of that lane begins. A fault is a line, and ends nothing.
 */
import { createInterface } from 'node:readline'
import { deny } from '../../runtime/core/codes.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { freshId } from '../../runtime/core/ids.ts'
import type { CommandName, Commands } from '../../runtime/core/ledger.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Head, NodeRecord } from '../../runtime/core/records.ts'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import { aHold } from '../ledger/scenes.ts'
import { aChild, allPassed, aProof, aReserve, aRun, aSplit, aSubmit, NOW } from './ledger.ts'

/** What the parent is told: a command was acknowledged, with what must be found of it afterwards. */
export interface Told {
  readonly name: CommandName
  readonly node: string
  readonly id?: string
  /** The head that the answer stated: this event must be there for ever. */
  readonly head?: Head
}

const [path = '', round = ''] = process.argv.slice(2)
const say = (line: string) => process.stdout.write(`${line}\n`)

say('ready')
for await (const _go of createInterface({ input: process.stdin })) break
const ledger = await openSqliteLedger({ path, organisation: 'acme', lockMs: 2_000 })
const { run, root } = aRun({ jti: `round-${round}`, ceiling: 100_000_000 })
say('open')

async function told<K extends CommandName>(
  name: K,
  input: Commands[K]['input'],
  of: Omit<Told, 'name'>,
): Promise<Extract<Commands[K]['result'], { ok: true }>> {
  const result = await ledger.execute(name, input)
  if (!result.ok) throw new Error(`${name}: ${result.code}`)
  const head =
    'account' in result ? result.account.head : 'head' in result ? result.head : undefined
  say(JSON.stringify({ name, ...of, ...(head === undefined ? {} : { head }) } satisfies Told))
  return result as Extract<Commands[K]['result'], { ok: true }>
}

async function pay(leaf: NodeRecord, i: number): Promise<void> {
  const counters = [{ key: `day-${round}`, maxAmount: minor(1_000_000_000) }]
  const atOnce = i % 2 === 0
  const reserve = aReserve(leaf, { uses: counters, ...(atOnce ? { nonce: leaf.id } : {}) })
  const { id } = reserve.payment
  const of = { node: leaf.id, id }
  await told('reserve', reserve, of)
  if (i % 7 === 3) {
    const release = { payment: id, from: atOnce ? 'submitted' : 'reserved', reason: 'no' } as const
    await told('release', { ...release, now: NOW }, of)
    return
  }
  if (!atOnce) await told('submit', aSubmit(leaf, leaf.id), of)
  if (i % 3 === 1) await told('markUnknown', { payment: id, reason: 'late', now: NOW }, of)
  const settle = { payment: id, amount: minor(7), railReference: id, now: NOW }
  await told('settle', settle, of)
}

async function lane(n: number, planner: NodeRecord): Promise<never> {
  for (let i = 0; ; i += 1) {
    const leaf = aChild(planner, `${n}-${i}`, { ceiling: 10 })
    const of = { node: leaf.id }
    await told('split', aSplit(leaf, { fanOut: 100_000 }), of)
    if (i % 5 === 2) {
      const denial = deny('approval_required')
      const proof = aProof(leaf, freshId())
      const of = { node: leaf.id, run: leaf.run, denial, checks: allPassed, proof }
      await told('refuse', { ...of, hold: aHold(leaf), now: NOW }, { node: leaf.id })
    }
    await pay(leaf, i)
    const step = { node: leaf.id, name: 'bought', value: { n, i }, now: NOW }
    await told('saveStep', { ...step, note: { type: 'chose', data: { n, i } } }, of)
    await told('close', { node: leaf.id, by: 'writer', now: NOW }, of)
  }
}

try {
  const create = { run, root, token: 'root token', nodes: 1_000_000, now: NOW }
  await told('createRun', create, { node: root.id })
  await Promise.all(
    Array.from({ length: 12 }, async (_, n) => {
      const planner = aChild(root, `p${n}`, { kind: 'planner', ceiling: 1_000_000 })
      await told('split', aSplit(planner, { nodes: 10_000 }), { node: planner.id })
      await lane(n, planner)
    }),
  )
} catch (error) {
  if (!(error instanceof Fault)) throw error
  say(JSON.stringify({ fault: error.code, retryable: error.retryable, message: error.message }))
  await ledger.close()
  process.stdin.destroy()
  process.exitCode = 3
}
