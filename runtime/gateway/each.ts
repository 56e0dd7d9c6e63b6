/** Doing what is independent one after another: what fails holds up none of the others. */

/** Does `act` for each. Throws the first of what was thrown, after having tried all. */
export async function forEach<T>(
  all: Iterable<T>,
  act: (each: T) => Promise<unknown>,
): Promise<void> {
  const thrown: unknown[] = []
  for (const each of all) {
    try {
      await act(each)
    } catch (error) {
      thrown.push(error)
    }
  }
  if (thrown.length > 0) throw thrown[0]
}
