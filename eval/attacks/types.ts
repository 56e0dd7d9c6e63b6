/**
 * What an attack is: who wants what, how it is tried, and what must come of it. A case never scores itself on a text
 * that it read: the runner compares the rail's own book before and after, and the ledger's balances of every run
 * that the case touched, with what the case says must have moved.
 */
import type { CheckName } from '../../runtime/core/codes.ts'
import type { Currency } from '../../runtime/core/money.ts'
import type { Bench } from './world/bench.ts'

export const LAYERS = [
  'token',
  'request',
  'ledger',
  'agent',
  'monitor',
  'operator',
  'rail',
  'legit',
] as const
export type Layer = (typeof LAYERS)[number]

/** Each layer’s cases begin with a letter of their own; `legit` is what must be let through (F). */
const LETTERS = 'TQLAMORF'

/** The layer of a case or of a number of the public list; throws Error for any other text. */
export function layerOf(id: string): Layer {
  const layer = LAYERS[LETTERS.indexOf(id.charAt(0))]
  if (layer === undefined) throw new Error('expected a case of a layer')
  return layer
}

/**
 * Which composition a case needs. `main`: no monitor, default rules. `monitored`: a scripted monitor. `ruled`: rules
 * of the operator. `late`: a clock that the case may push. `heard`: the same, and a rail that sends messages. `astray`: a
 * rail that redirects. `funnel`: the product's own funnel carries runs out, with agents that can be talked into anything.
 * `obedient`: the same with agents that obey whatever they read, in shops that talk. `gemini` and `groq`: the same again,
 * watched by a model of that provider, which a stand-in speaks for; `distrusted`: one of which canaries are asked.
 */
export const WORLDS = [
  'main',
  'monitored',
  'ruled',
  'late',
  'heard',
  'astray',
  'funnel',
  'obedient',
  'gemini',
  'groq',
  'distrusted',
] as const
export type WorldName = (typeof WORLDS)[number]

/**
 * What the answer must be; of a process, `status` is its exit code. `code` is the gateway's denial code, or the problem's
 * code where no check was reached.
 */
export interface Expected {
  readonly status: number
  readonly code?: string
  readonly verdict?: 'allow' | 'hold' | 'deny'
}

/** Money that must be on the rail's book afterwards and was not before: account, minor units, currency. */
export interface Move {
  readonly account: string
  readonly amount: number
  readonly currency: Currency
}

/** What came back at the decisive step, and what the case says must have moved by then. */
export interface Seen extends Expected {
  readonly moved?: readonly Move[]
  /** Lost within the authority, where nothing is meant to stop it: what was paid over the best offer, in minor units. */
  readonly residual?: number
}

export interface AttackCase {
  /** The number in the list of cases, whose first letter says the layer; a letter behind it for a variant. */
  readonly id: string
  readonly goal: string
  readonly method: string
  readonly expected: Expected
  readonly world?: WorldName
  /** The check whose worth this case shows: an evaluation without that check runs it again. */
  readonly guards?: CheckName
  readonly run: (bench: Bench) => Promise<Seen>
}

/** A case that went another way than it must: the reason is a sentence for a person. */
export class Wrong extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'Wrong'
  }
}

export interface CaseResult {
  readonly id: string
  readonly layer: Layer
  readonly ms: number
  /** As the case counted it. */
  readonly residual?: number
  /** Absent: it went as it must. */
  readonly why?: string
  /** Money moved that should not have, or did not that should have. */
  readonly moneyWrong?: boolean
}
