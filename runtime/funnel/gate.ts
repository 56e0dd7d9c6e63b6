/** A counting gate: at most `room` holders at once, the others wait in order. */
export class Gate {
  #room: number
  readonly #waiting: (() => void)[] = []

  constructor(room: number) {
    this.#room = room
  }

  async hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.#room > 0) this.#room -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#room += 1
    }
  }
}
