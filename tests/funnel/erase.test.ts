/** A run as the funnel itself carries it out leaves words in many places: none of them is left when it is erased. */
import { expect, it } from 'vitest'
import { exportLog, exportSides } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { eraseRun } from '../../runtime/ledger/erasing.ts'
import { collect } from '../audit/log.ts'
import { fixedClock } from '../support/ledger.ts'
import { World } from './world.ts'

const WORDS = ['kettle', 'Kettle', 'quarbs', 'Mugs', 'mugs', 'KETTLE'] as const

it('leaves no word of its task, of what it found or of why it ended', async () => {
  const world = await World.open({
    task: 'Kitchen:\n- kettle\n- 1 set of stoneware mugs\n- 2 quarbs',
  })
  const run = await world.finished()
  expect(run.seal).toBeDefined()
  const { ledger } = world
  const readable = async () => {
    const tree = await ledger.tree(run.id)
    const steps: unknown[] = []
    for (const { node } of tree) {
      for (const name of await ledger.steps(node.id)) {
        steps.push(name, await ledger.step(node.id, name))
      }
    }
    const payments = await ledger.payments({ run: run.id, limit: 100 })
    const sides = await collect(exportSides(ledger, [run.id]))
    const mandate = (await ledger.run(run.id))?.mandate.split('.')[1] ?? ''
    const claims = Buffer.from(mandate, 'base64url').toString()
    const log = await collect(exportLog(ledger))
    return {
      log,
      text: JSON.stringify([await ledger.run(run.id), claims, tree, steps, payments, sides, log]),
    }
  }
  const found = (text: string) => WORDS.filter((word) => text.includes(word))
  const before = await readable()
  expect(found(before.text)).toEqual(expect.arrayContaining(['kettle', 'Kettle', 'quarbs', 'mugs']))
  // The log itself never had one.
  expect(found(before.log.join())).toEqual([])
  const erased = await eraseRun(ledger, { run: run.id, by: 'op' }, fixedClock)
  expect(erased.ok).toBe(true)
  const after = await readable()
  expect(found(after.text)).toEqual([])
  const verdict = verifyExport(after.log)
  expect(verdict.broken).toBeUndefined()
  expect(verdict.personal).toMatchObject({ disclosed: 0, absent: 0, erasedRuns: 1 })
})
