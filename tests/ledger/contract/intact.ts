/** Accounts that somebody edited behind the store's back: nothing is appended to them, and their run stops for good. */
import { describe, expect, it } from 'vitest'
import type { CommandName, Ledger } from '../../../runtime/core/ledger.ts'
import { minor } from '../../../runtime/core/money.ts'
import type { Account, StreamId } from '../../../runtime/core/records.ts'
import {
  aChild,
  accepted,
  addChild,
  aReserve,
  aSplit,
  aSubmit,
  NOW,
  paySubmitted,
  startChain,
} from '../../support/ledger.ts'
import { SCENES } from '../scenes.ts'
import type { Bench } from './bench.ts'

/** They append to no stream of a node. */
const APART: ReadonlySet<CommandName> = new Set([
  'createRun',
  'eraseParts',
  'finishRun',
  'haltRun',
  'lease',
  'leaseRun',
  'hear',
  'takeMessage',
  'heard',
  'outside',
  'acknowledge',
  'walked',
])

const corrupt = { code: 'ledger_corrupt', retryable: false }

const more = (account: Account): Account => ({
  ...account,
  ceiling: minor(account.ceiling + 1),
  available: minor(account.available + 1),
})

/** Every event of the nodes' streams. */
async function logOf(ledger: Ledger): Promise<unknown> {
  const heads = (await ledger.heads()).filter(({ stream }) => stream !== 'gateway')
  return Promise.all(heads.map(({ stream }) => ledger.events(stream, 0, 1_000)))
}

async function streamsOf(ledger: Ledger): Promise<StreamId[]> {
  return (await ledger.heads()).map(({ stream }) => stream)
}

export function intactContract(bench: Bench): void {
  const edit = (node: StreamId, change = more) => bench.edit(node, change)
  const commands = (Object.keys(SCENES) as CommandName[]).filter((name) => !APART.has(name))

  describe('an edited account', () => {
    it.each(commands)('is found by %s, which appends nothing and halts the run', async (name) => {
      const ledger = bench.ledger()
      const input = await SCENES[name](ledger)
      for (const stream of await streamsOf(ledger)) {
        if (stream !== 'gateway') await edit(stream)
      }
      const before = await logOf(ledger)
      const ofGateway = await bench.types('gateway')
      await expect(ledger.execute(name, input)).rejects.toMatchObject(corrupt)
      expect(await logOf(ledger)).toEqual(before)
      const [run] = await ledger.runs({ limit: 1 })
      expect(run?.halted).toMatchObject({ atSeconds: input.now })
      expect(await bench.types('gateway')).toEqual([...ofGateway, 'operator'])
    })

    it('stops everything that its run would give out, also once it is put back, and no other run', async () => {
      const ledger = bench.ledger()
      const { root, planner, leaf } = await startChain(ledger)
      const waiting = await addChild(ledger, planner, 'waiting')
      accepted(await ledger.execute('reserve', aReserve(waiting)))
      const paid = await addChild(ledger, planner, 'paid')
      const { id } = await paySubmitted(ledger, paid)
      const other = await startChain(ledger, { jti: 'other' })
      const sound = await bench.account(leaf.id)
      await edit(leaf.id)
      const close = { node: leaf.id, by: 'op', now: NOW }
      await expect(ledger.execute('close', close)).rejects.toMatchObject(corrupt)
      await edit(leaf.id, () => sound)

      for (const instance of [ledger, await bench.again()]) {
        const attempts = [
          () => instance.execute('reserve', aReserve(leaf)),
          () => instance.execute('submit', aSubmit(waiting, 'n')),
          () => instance.execute('split', aSplit(aChild(root, 'more'))),
        ]
        for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject(corrupt)
      }
      const again = await bench.again()
      expect((await again.payments({ states: ['submitted'], limit: 9 })).map((p) => p.id)).toEqual([
        id,
      ])
      // The rail's word on what was on its way is still written down.
      const settle = { payment: id, amount: minor(900), railReference: 'r', now: NOW }
      expect(accepted(await again.execute('settle', settle)).payment.state).toBe('settled')
      expect((await paySubmitted(again, other.leaf)).state).toBe('submitted')
    })

    it.each([
      ['a balance', more],
      ['a sum that does not add up', (of: Account) => ({ ...of, reserved: minor(1) })],
      ['a head', ({ head, ...of }: Account) => ({ ...of, head: { ...head, seq: 1 } })],
    ])('is one where %s differs', async (_what, change) => {
      const ledger = bench.ledger()
      const { planner } = await startChain(ledger)
      const attempt = async () => {
        await edit(planner.id, change)
        return ledger.execute('split', aSplit(aChild(planner, 'x')))
      }
      await expect(attempt()).rejects.toMatchObject({
        code: expect.stringMatching(/^(ledger_corrupt|store_refused)$/),
      })
    })
  })

  it('halts a run once, and says so in the gateway’s stream', async () => {
    const ledger = bench.ledger()
    const input = await SCENES.haltRun(ledger)
    expect(accepted(await ledger.execute('haltRun', input)).halted).toBe(true)
    await bench.unchangedBy('haltRun', input, { halted: false })
    expect(await bench.types('gateway')).toEqual(['run_created', 'operator'])
    await bench.refusedBy('haltRun', { ...input, run: 'run_none' }, 'not_found')
  })
}
