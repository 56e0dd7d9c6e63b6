/** Lets work that would meet in a shared store queue up here first; what is correct never rests on it. */

export interface Lanes {
  /** Runs the work once every earlier one that names one of these lanes has ended. */
  run<T>(names: readonly string[], work: () => Promise<T>): Promise<T>
}

export function createLanes(): Lanes {
  const tails = new Map<string, Promise<void>>()
  return {
    run: async (names, work) => {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      const own = [...new Set(names)]
      // All lanes are entered in one step, so no two works can wait for each other.
      const ahead = own.map((name) => tails.get(name))
      for (const name of own) tails.set(name, ended)
      try {
        await Promise.all(ahead)
        return await work()
      } finally {
        end()
        for (const name of own) if (tails.get(name) === ended) tails.delete(name)
      }
    },
  }
}
