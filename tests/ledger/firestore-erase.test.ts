/** What the documents in Firestore still hold after an erasure, field by field. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eraseRun } from '../../runtime/ledger/erasing.ts'
import { type FirestoreDouble, startFirestoreDouble } from '../support/firestore/double.ts'
import { LOST_ANSWERS, loseAnswer } from '../support/firestore/faults.ts'
import { openLedger } from '../support/firestore/ledger.ts'
import { accepted, fixedClock } from '../support/ledger.ts'
import { aPersonalRun, endPersonalRun, PLANTED, plantedIn } from '../support/personal.ts'

let double: FirestoreDouble
beforeAll(async () => {
  double = await startFirestoreDouble()
})
afterAll(() => double.close())

const planted = (): string[] => {
  const documents = [...double.engine.documents.everything()]
  const texts = documents.map(({ name, fields }) => `${name} ${JSON.stringify(fields)}`)
  return plantedIn(texts.join('\n')).sort()
}

it('holds everything that was planted until it is erased, and then nothing in any field or name', async () => {
  const ledger = await openLedger(double.host)
  const run = await endPersonalRun(ledger, await aPersonalRun(ledger))
  expect(planted()).toEqual(Object.values(PLANTED).sort())
  accepted(await eraseRun(ledger, { run: run.id, by: 'op' }, fixedClock))
  expect(planted()).toEqual([])
  await ledger.close()
})

it('is done once where an answer to a part of it was lost', async () => {
  const ledger = await openLedger(double.host)
  const run = await endPersonalRun(ledger, await aPersonalRun(ledger))
  const isLost = loseAnswer(double, { code: LOST_ANSWERS.UNAVAILABLE })
  accepted(await eraseRun(ledger, { run: run.id, by: 'op' }, fixedClock))
  expect(isLost()).toBe(true)
  double.after = undefined
  expect(planted()).toEqual([])
  const events = await ledger.events(run.root, 0, 100)
  expect(events.filter(({ body }) => body.includes('"type":"erased"'))).toHaveLength(1)
  await ledger.close()
})
