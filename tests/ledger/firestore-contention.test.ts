/** No hot root, counted: how often payments of one run make each other wait until one is aborted. */
import { Firestore } from '@google-cloud/firestore'
import { expect, it } from 'vitest'
import { startFirestoreDouble } from '../support/firestore/double.ts'
import { slow } from '../support/firestore/faults.ts'
import { freshProject, openLedger } from '../support/firestore/ledger.ts'
import { accepted, addChild, aReserve, startRun } from '../support/ledger.ts'

const LEAVES = 64

it('lets every leaf of a run pay at once without one abort, where writing the root aborts', async () => {
  const double = await startFirestoreDouble({ mode: 'hostile', lockMs: 200 })
  const ledger = await openLedger(double.host, { pollMs: 60_000 })
  const { run, root } = await startRun(ledger)
  const leaves = await Promise.all(
    Array.from({ length: LEAVES }, (_, i) => addChild(ledger, root, `l${i}`, { ceiling: 10 })),
  )
  await ledger.feed(run.id, 0, 1)
  slow(double, 20)
  const before = double.engine.aborted
  await Promise.all(
    leaves.map(async (leaf, i) =>
      accepted(await ledger.execute('reserve', aReserve(leaf, { nonce: `n${i}` }))),
    ),
  )
  expect(double.engine.aborted - before).toBe(0)
  await ledger.close()

  // The same over documents of which each payment writes its own and its root's.
  const db = new Firestore({
    host: double.host,
    ssl: false,
    projectId: freshProject(),
    universeDomain: 'googleapis.com',
    gaxServerStreamingRetries: true,
  })
  const shared = db.doc('nodes/root')
  await shared.set({ reserved: 0 })
  const once = double.engine.aborted
  const pay = (i: number) =>
    db.runTransaction(
      async (transaction) => {
        const own = db.doc(`nodes/leaf-${i}`)
        const [above] = await transaction.getAll(shared, own)
        transaction.set(own, { reserved: 1 })
        transaction.update(shared, { reserved: Number(above?.get('reserved')) + 1 })
      },
      { maxAttempts: 1 },
    )
  await Promise.allSettled(Array.from({ length: 8 }, (_, i) => pay(i)))
  expect(double.engine.aborted - once).toBeGreaterThan(0)
  await db.terminate()
  await double.close()
})
