/** One value that must never be shown: it prints as `[secret]` wherever it ends up by mistake. */
import { inspect } from 'node:util'

export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toJSON(): string {
    return '[secret]'
  }

  toString(): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}
