/** Exchanges with models in a folder: one file each, readable by their owner alone, and none with a secret in it. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TextGuard } from '../runtime/core/agents.ts'
import { Fault } from '../runtime/core/errors.ts'
import { parseJson } from '../runtime/core/json.ts'
import { type ExchangeStore, exchangeSchema, keyOf, type ModelExchange } from './recording.ts'

/** Numbers in the order in which exchanges ended, and whom was asked: for whoever looks into the folder. */
const NAME = /^[0-9]{6}-(planner|looker|chooser|monitor)\.json$/

/**
 * A store in a folder that is made where there is none. Throws Fault `config_invalid` for one that has exchanges already
 * or cannot be written; its `add` throws `secret_withheld`, with nothing written, for what holds a secret.
 */
export function folderForExchanges(dir: string, guard: TextGuard): ExchangeStore {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw invalid('expected a folder for a recording that can be written', cause)
  }
  if (namesIn(dir).length > 0) {
    throw invalid('expected a folder for a recording that has no exchanges in it yet')
  }
  let written = 0
  return {
    add: (exchange) => {
      const text = `${JSON.stringify(exchange, null, 2)}\n`
      if (guard.holdsSecret(text)) {
        const message = `what was said with the ${exchange.asked.role} held a secret and is not recorded`
        throw new Fault('secret_withheld', message, { retryable: false })
      }
      written += 1
      const name = `${String(written).padStart(6, '0')}-${exchange.asked.role}.json`
      writeFileSync(join(dir, name), text, { mode: 0o600, flag: 'wx' })
    },
  }
}

/** Everything in such a folder, in its order. Throws Fault `config_invalid` for one that is not whole. */
export function exchangesIn(dir: string): readonly ModelExchange[] {
  const names = namesIn(dir)
  const wrong = names.some((name, i) => Number(name.slice(0, 6)) !== i + 1)
  if (names.length === 0 || wrong) {
    throw invalid('expected a folder with all exchanges of a recording, from the first one on')
  }
  return names.map((name) => {
    const exchange = exchangeSchema.safeParse(jsonIn(join(dir, name))).data
    if (exchange === undefined || exchange.key !== keyOf(exchange.asked)) {
      throw invalid('expected one whole exchange in each file of a recording')
    }
    return exchange
  })
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir)
      .filter((name) => NAME.test(name))
      .sort()
  } catch (cause) {
    throw invalid('expected a folder with a recording that can be read', cause)
  }
}

function jsonIn(file: string): unknown {
  try {
    return parseJson(readFileSync(file))
  } catch {
    return undefined
  }
}

const invalid = (message: string, cause?: unknown) =>
  new Fault('config_invalid', message, { retryable: false, cause })
