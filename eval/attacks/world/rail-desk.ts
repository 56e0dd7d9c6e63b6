/**
 * The rail's own side of things: its book, which is what every case is scored on, and its script of faults. Over
 * HTTP to the rail's process, with the rail's key; the gateway is not asked about what the gateway did.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import type { ruleSchema } from '../../../runtime/rails/simulated/script.ts'
import {
  type BookView,
  bookSchema,
  type straySchema,
} from '../../../runtime/rails/simulated/wire.ts'
import type { Move } from '../types.ts'

export interface RailDesk {
  book(): Promise<BookView>
  script(rule: z.input<typeof ruleSchema>): Promise<void>
  clearScript(): Promise<void>
  /** Sends a settled payout back, as a bank does days later. */
  giveBack(key: string): Promise<void>
  /** Money moves without a request; resolves with the rail’s id of it once its list has it. */
  stray(of: z.input<typeof straySchema>): Promise<string>
}

/** Later than anything that is booked here. */
const FAR = 10_000_000_000

export function createRailDesk(url: string, key: string): RailDesk {
  const call = async (method: string, path: string, body?: unknown): Promise<string> => {
    const answer = await fetch(new URL(path, url), {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok)
      throw new Error(`the rail's desk answered ${answer.status} to ${method} ${path}`)
    return answer.text()
  }
  return {
    book: async () => bookSchema.parse(JSON.parse(await call('GET', '/book'))),
    script: async (rule) => void (await call('POST', '/script', rule)),
    giveBack: async (key) => void (await call('POST', `/payouts/${key}/return`)),
    stray: async (of) => {
      // The list has pages, and what is booked now is on the first of those that begin now.
      const from = Math.floor(Date.now() / 1000) - 1
      const { id } = JSON.parse(await call('POST', '/strays', of)) as { id: string }
      for (let waited = 0; waited < 10_000; waited += 50) {
        if ((await call('GET', `/statement?from=${from}&to=${FAR}`)).includes(id)) return id
        await sleep(50)
      }
      throw new Error('the rail’s list does not have what moved')
    },
    clearScript: async () => void (await call('DELETE', '/script')),
  }
}

/** Payouts that moved money and are on `after` but not on `before`. */
export function movesBetween(before: BookView, after: BookView): readonly Move[] {
  const known = new Set(before.payouts.map(({ key }) => key))
  return after.payouts
    .filter(({ key, state }) => state === 'settled' && !known.has(key))
    .map(({ account, amount, currency }) => ({ account, amount, currency }))
}

const line = ({ account, amount, currency }: Move): string => `${currency} ${amount} to ${account}`

/** Moves as sorted lines, so that two lists can be compared whatever their order. */
export const moveLines = (moves: readonly Move[]): readonly string[] => moves.map(line).sort()
