/** Places for purchases under way: at most `room` are taken at once, the others wait in order. */
export class Places {
  #room: number
  readonly #waiting: (() => void)[] = []

  constructor(room: number) {
    this.#room = room
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter()
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  /** For work that waits for somebody else: lets another have its place meanwhile, and has one again afterwards. */
  async lend<T>(wait: () => Promise<T>): Promise<T> {
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
