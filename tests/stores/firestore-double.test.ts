/** Holds the double to what Firestore does, by asking Google's emulator the same where a machine has it. */
import { Firestore, Timestamp } from '@google-cloud/firestore'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFirestoreDouble } from '../support/firestore/double.ts'
import { EMULATOR_NOTE, hasEmulator, startEmulator } from '../support/firestore/emulator.ts'
import { Refusal, STATUS } from '../support/firestore/refusal.ts'

process.stdout.write(`${EMULATOR_NOTE}\n`)

let projects = 0
const client = (host: string): Firestore => {
  projects += 1
  // Without it the client sends a read that failed three times, seconds apart, whatever the failure was.
  const gaxServerStreamingRetries = true
  return new Firestore({
    host,
    ssl: false,
    projectId: `facts-${projects}`,
    gaxServerStreamingRetries,
    // Or it would ask the cloud's metadata server, which no test may.
    universeDomain: 'googleapis.com',
  })
}

interface Facts {
  readonly start: () => Promise<{ host: string; close(): Promise<void> }>
  readonly writers: number
}

function facts(name: string, { start, writers }: Facts): void {
  describe(name, () => {
    let server: { host: string; close(): Promise<void> }
    let db: Firestore
    beforeAll(async () => {
      server = await start()
      db = client(server.host)
    }, 60_000)
    afterAll(async () => {
      await db.terminate()
      await server.close()
    })

    const codeOf = (work: Promise<unknown>): Promise<number> =>
      work.then(
        () => 0,
        (error: { code: number }) => error.code,
      )

    it(`counts exactly when ${writers} add one at once`, async () => {
      const counter = db.doc('counters/one')
      await counter.set({ n: 0 })
      let won = 0
      const add = async (): Promise<void> => {
        try {
          await db.runTransaction(
            async (tx) => {
              const { n } = (await tx.get(counter)).data() as { n: number }
              tx.update(counter, { n: n + 1 })
            },
            { maxAttempts: 1 },
          )
          won += 1
        } catch (error) {
          expect((error as { code: number }).code).toBe(STATUS.ABORTED)
          return add()
        }
      }
      await Promise.all(Array.from({ length: writers }, add))
      expect(won).toBe(writers)
      expect((await counter.get()).get('n')).toBe(writers)
    })

    it('refuses to create what exists, to update what does not, and a stale version', async () => {
      const doc = db.doc('things/a')
      const { writeTime } = await doc.create({ n: 1 })
      expect(await codeOf(doc.create({ n: 2 }))).toBe(STATUS.ALREADY_EXISTS)
      expect(await codeOf(db.doc('things/none').update({ n: 1 }))).toBe(STATUS.NOT_FOUND)
      await doc.update({ n: 3 }, { lastUpdateTime: writeTime })
      const stale = doc.update({ n: 4 }, { lastUpdateTime: writeTime })
      expect(await codeOf(stale)).toBe(STATUS.FAILED_PRECONDITION)
      expect((await doc.get()).get('n')).toBe(3)
    })

    it('commits a batch as a whole or not at all', async () => {
      await db.doc('batch/there').set({ n: 1 })
      const batch = db.batch()
      batch.set(db.doc('batch/first'), { n: 1 })
      batch.create(db.doc('batch/there'), { n: 2 })
      expect(await codeOf(batch.commit())).toBe(STATUS.ALREADY_EXISTS)
      expect((await db.doc('batch/first').get()).exists).toBe(false)
    })

    it('changes the named fields only, and takes away what is named and not given', async () => {
      const doc = db.doc('masks/a')
      await doc.set({ a: 1, b: { c: 2, d: 3 }, 'odd.name': 4 })
      await doc.update({ 'b.c': 5 })
      expect((await doc.get()).data()).toEqual({ a: 1, b: { c: 5, d: 3 }, 'odd.name': 4 })
      await doc.set({ a: 9 })
      expect((await doc.get()).data()).toEqual({ a: 9 })
    })

    it('keeps the integers of 64 bits for a client that asks for them', async () => {
      const exact = new Firestore({
        host: server.host,
        ssl: false,
        projectId: 'facts-exact',
        useBigInt: true,
        universeDomain: 'googleapis.com',
      })
      const n = 2n ** 53n + 1n
      await exact.doc('big/a').set({ n })
      expect((await exact.doc('big/a').get()).get('n')).toBe(n)
      await exact.terminate()
    })

    it('orders strings by their bytes, and ends a range where it ends', async () => {
      const things = db.collection('words')
      const words = ['b', 'a', 'ä', 'Z', 'ab', 'a|1', 'a|2', 'b|1']
      await Promise.all(words.map((word, i) => things.doc(`w${i}`).set({ word })))
      const all = await things.orderBy('word').get()
      const sorted = [...words].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      expect(all.docs.map((doc) => doc.get('word'))).toEqual(sorted)
      const range = await things.where('word', '>=', 'a|').where('word', '<', 'a}').get()
      expect(range.docs.map((doc) => doc.get('word'))).toEqual(['a|1', 'a|2'])
      const last = await things.orderBy('word', 'desc').limit(2).get()
      expect(last.docs.map((doc) => doc.get('word'))).toEqual(['ä', 'b|1'])
    })

    it('finds by equality, by what an array holds, and by names', async () => {
      const things = db.collection('found')
      await things.doc('x1').set({ run: 'r', on: ['a', 'b'] })
      await things.doc('x2').set({ run: 'r', on: [] })
      await things.doc('x3').set({ run: 's', on: ['b'] })
      const ids = (found: { docs: { id: string }[] }) => found.docs.map(({ id }) => id)
      expect(ids(await things.where('run', '==', 'r').get())).toEqual(['x1', 'x2'])
      expect(ids(await things.where('on', 'array-contains', 'b').get())).toEqual(['x1', 'x3'])
      const named = things.where('__name__', '>', 'x1').where('__name__', '<=', 'x3')
      expect(ids(await named.orderBy('__name__').limit(1).get())).toEqual(['x2'])
    })

    it('keeps the time of creation through every change, and orders commits by time', async () => {
      const [a, b] = [db.doc('times/a'), db.doc('times/b')]
      await a.create({ n: 1 })
      await b.create({ n: 1 })
      const before = (await a.get()).createTime
      await a.update({ n: 2 })
      const [first, second] = [await a.get(), await b.get()]
      expect(first.createTime?.isEqual(before ?? Timestamp.now())).toBe(true)
      expect((first.createTime?.valueOf() ?? '') < (second.createTime?.valueOf() ?? '')).toBe(true)
    })

    it('shows a read-only transaction one instant', async () => {
      const doc = db.doc('instants/a')
      await doc.set({ n: 1 })
      const seen = await db.runTransaction(
        async (tx) => {
          const first = (await tx.get(doc)).get('n')
          await doc.set({ n: 2 })
          return [first, (await tx.get(doc)).get('n')]
        },
        { readOnly: true },
      )
      expect(seen).toEqual([1, 1])
    })

    it('never lets two transactions each miss what the other adds to their query', async () => {
      const things = db.collection('phantoms')
      const addIfAlone = async (id: string): Promise<void> => {
        const attempt = db.runTransaction(
          async (tx) => {
            const found = await tx.get(things.where('on', 'array-contains', 'x'))
            await new Promise((resolve) => setTimeout(resolve, 20))
            if (found.size === 0) tx.create(things.doc(id), { on: ['x'] })
          },
          { maxAttempts: 1 },
        )
        const code = await codeOf(attempt)
        if (code !== 0) {
          expect(code).toBe(STATUS.ABORTED)
          await addIfAlone(id)
        }
      }
      await Promise.all([addIfAlone('a'), addIfAlone('b')])
      expect((await things.get()).size).toBe(1)
    })

    it('never lets two transactions each write what the other has read', async () => {
      const [a, b] = [db.doc('skew/a'), db.doc('skew/b')]
      await a.set({ on: true })
      await b.set({ on: true })
      const takeOff = async (own: typeof a, other: typeof a): Promise<void> => {
        const attempt = db.runTransaction(
          async (tx) => {
            const read = await tx.getAll(a, b)
            await new Promise((resolve) => setTimeout(resolve, 20))
            if (read.every((doc) => doc.get('on'))) tx.update(own, { on: false })
            return other
          },
          { maxAttempts: 1 },
        )
        const code = await codeOf(attempt)
        if (code !== 0) {
          expect(code).toBe(STATUS.ABORTED)
          await takeOff(own, other)
        }
      }
      await Promise.all([takeOff(a, b), takeOff(b, a)])
      const on = [(await a.get()).get('on'), (await b.get()).get('on')]
      expect(on.filter(Boolean)).toHaveLength(1)
    })
  })
}

for (const mode of ['pessimistic', 'optimistic', 'hostile'] as const) {
  // Two that block each other wait until one gives up: a long wait would only be long.
  const lockMs = mode === 'hostile' ? 20 : 500
  facts(`the double, ${mode}`, {
    start: () => startFirestoreDouble({ mode, lockMs }),
    writers: mode === 'pessimistic' ? 200 : 25,
  })
}

// Its locks time out after two seconds, so that a few writers at once already take it half a minute.
if (hasEmulator) facts('Google’s emulator', { start: startEmulator, writers: 2 })

describe('the double', () => {
  it('refuses what it does not hold, so that nothing is accepted in silence', async () => {
    const double = await startFirestoreDouble()
    const db = client(double.host)
    const { FieldValue } = await import('@google-cloud/firestore')
    await db.doc('a/a').set({ n: 1, m: 1 })
    const refused = [
      () => db.doc('a/a').update({ n: FieldValue.increment(5) }),
      () => db.collection('a').count().get(),
      () => db.collection('a').select('n').get(),
      () => db.collection('a').offset(1).get(),
      () => db.collectionGroup('a').get(),
      () => db.collection('a').where('n', '!=', 1).get(),
    ]
    for (const attempt of refused) {
      await expect(attempt()).rejects.toMatchObject({ code: STATUS.UNIMPLEMENTED })
    }
    const composite = db.collection('a').where('n', '==', 1).orderBy('m').get()
    await expect(composite).rejects.toMatchObject({ code: STATUS.FAILED_PRECONDITION })
    await db.terminate()
    await double.close()
  })

  it('has applied a commit whose answer it loses, and ended the transaction', async () => {
    const double = await startFirestoreDouble()
    const db = client(double.host)
    const doc = db.doc('a/a')
    await doc.set({ n: 0 })
    let lost = 0
    double.after = (method) => {
      if (method !== 'Commit' || lost > 0) return
      lost += 1
      throw new Refusal(STATUS.UNKNOWN, 'the answer is lost')
    }
    const attempt = db.runTransaction(
      async (tx) => {
        const { n } = (await tx.get(doc)).data() as { n: number }
        tx.update(doc, { n: n + 1 })
      },
      { maxAttempts: 1 },
    )
    await expect(attempt).rejects.toMatchObject({ code: STATUS.UNKNOWN })
    expect((await doc.get()).get('n')).toBe(1)
    const unknown = Buffer.from('no such transaction')
    expect(() => double.engine.find(unknown)).toThrow('transaction has expired')
    expect(() => double.engine.rollback(unknown)).not.toThrow()
    await db.terminate()
    await double.close()
  })
})
