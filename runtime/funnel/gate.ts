/** A counting gate: at most `room` holders at once, the others wait in order. */
export class Gate {
  #room: number
  readonly #waiting: (() => void)[] = []

  constructor(room: number) {
    this.#room = room
  }

  async hold<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter()
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  /** For a holder that waits for somebody else: lets another in meanwhile, and has its place again afterwards. */
  async rest<T>(wait: () => Promise<T>): Promise<T> {
    this.#leave()
    try {
      return await wait()
    } finally {
      await this.#enter()
    }
  }

  async #enter(): Promise<void> {
    if (this.#room > 0) this.#room -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#room += 1
  }
}
