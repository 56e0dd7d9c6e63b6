/** Questions to Firestore that are all answered as of one instant, without a transaction around the first of them. */
import type {
  DocumentReference,
  DocumentSnapshot,
  Firestore,
  Query,
  Timestamp,
  Transaction,
} from '@google-cloud/firestore'

/** Answers of one instant. */
export interface Source {
  all(query: Query): Promise<readonly DocumentSnapshot[]>
  get(refs: readonly DocumentReference[]): Promise<readonly DocumentSnapshot[]>
}

/**
 * The first question is answered as of now, every later one as of the instant of that answer. The client's read-only
 * transactions would say the same; but where the first read of one fails, a promise that nobody can reach is
 * rejected, and with that Node ends the process.
 */
export function sourceOf(db: Firestore): Source {
  let instant: Promise<Timestamp> | undefined
  const ask = async <T>(
    first: () => Promise<{ value: T; readTime: Timestamp }>,
    then: (transaction: Transaction) => Promise<T>,
  ): Promise<T> => {
    if (instant !== undefined) {
      return db.runTransaction(then, { readOnly: true, readTime: await instant })
    }
    const asked = first()
    instant = asked.then(({ readTime }) => readTime)
    instant.catch(() => undefined)
    return (await asked).value
  }
  return {
    all: (query) =>
      ask(
        async () => {
          const { docs, readTime } = await query.get()
          return { value: docs, readTime }
        },
        async (transaction) => (await transaction.get(query)).docs,
      ),
    get: async (refs) => {
      if (refs.length === 0) return []
      return ask(
        async () => {
          const docs = await db.getAll(...refs)
          const [first] = docs
          if (first === undefined) throw new TypeError('expected an answer for each document')
          return { value: docs, readTime: first.readTime }
        },
        (transaction) => transaction.getAll(...refs),
      )
    },
  }
}
