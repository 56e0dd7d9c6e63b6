/** Missions: mandates with tasks, as files, for the demonstration, the tests and the evaluation. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { issueSentences } from '../config.ts'
import { JsonError, parseJson } from '../core/json.ts'
import { mandateSchema } from '../core/mandate.ts'
import { Failure } from './failure.ts'
import type { RailName } from './world-rails.ts'

const FOLDER = join(import.meta.dirname, '../../eval/missions')

const { task, currency, ceiling, perPayment, approvalAbove, payees, limits, window } =
  mandateSchema.shape

export const missionSchema = z.strictObject({
  /** One line for a list. */
  title: z.string().min(1).max(120),
  /** What a person watching should notice. */
  shows: z.string().min(1).max(400),
  /** Claims of the mandate; who signs, when and until when are the run's own. */
  mandate: z.strictObject({
    task,
    currency,
    ceiling,
    perPayment,
    approvalAbove,
    payees,
    limits,
    window,
  }),
  /** What the operator of the demonstration answers when a payment is held. */
  holds: z.enum(['approve', 'refuse']),
  /** What must hold at the end, beside what must always hold. */
  expect: z.strictObject({
    state: z.enum(['completed', 'failed']),
    settledAtLeast: z.number().int().min(0),
    heldAtLeast: z.number().int().min(0),
    unmet: z.boolean(),
  }),
})

export type Mission = z.output<typeof missionSchema> & { readonly name: string }

const DEFAULT_MISSION = 'office-move'

/** PayPal takes rupees inside India only. */
export const defaultMission = (rail: RailName): string =>
  rail === 'paypal' ? 'office-move-dollars' : DEFAULT_MISSION

/** Names of the missions that come with the product. */
export const missionNames = (): string[] =>
  (existsSync(FOLDER) ? readdirSync(FOLDER) : [])
    .filter((file) => file.endsWith('.json'))
    .map((file) => basename(file, '.json'))
    .sort()

/** A mission by its name or by its file's path; throws Failure with one sentence if there is none or it is not one. */
export function loadMission(nameOrFile: string): Mission {
  const named = join(FOLDER, `${nameOrFile}.json`)
  const isName = /^[a-z0-9-]+$/.test(nameOrFile) && existsSync(named)
  const file = isName ? named : nameOrFile
  if (!existsSync(file)) {
    throw new Failure(
      'usage',
      `expected a file or one of the missions ${missionNames().join(', ')}`,
    )
  }
  const mission = missionSchema.safeParse(read(file))
  if (mission.success) return { ...mission.data, name: basename(file, '.json') }
  const wrong = mission.error.issues.flatMap((issue) => issueSentences(issue, 'the mission'))
  throw new Failure('usage', ['the mission is wrong', ...wrong].join('\nheadgate: '))
}

function read(file: string): unknown {
  try {
    return parseJson(readFileSync(file))
  } catch (cause) {
    const why = cause instanceof JsonError ? `: ${cause.message}` : ''
    throw new Failure('usage', `expected the mission to be a file of strict JSON${why}`, { cause })
  }
}
