/** The agents’ port: models and what the funnel asks of them. */
import type { z } from 'zod'
import { Fault } from './errors.ts'
import type { Digest, MerchantId, PayeeId } from './ids.ts'
import type { Item } from './merchants.ts'
import type { Currency, Minor } from './money.ts'
import type { QuoteLine } from './quote.ts'
import type { Seconds } from './time.ts'

/** Whose models can be asked, and the credential that holds the key of each. */
export const PROVIDER_KEYS = { gemini: 'GEMINI_API_KEY', groq: 'GROQ_API_KEY' } as const
export type Provider = keyof typeof PROVIDER_KEYS
export const PROVIDERS = Object.keys(PROVIDER_KEYS) as readonly Provider[]

export interface ModelUsage {
  readonly inputTokens: number
  /** What it wrote, thoughts included. */
  readonly outputTokens: number
  /** What it cost by its price list, in millionths of a US dollar, rounded up; 0 of an engine of our own. */
  readonly costMicros: number
}

export interface ModelRequest<T> {
  readonly role: 'planner' | 'looker' | 'chooser' | 'monitor'
  /** Instructions by us; never text of an outsider. */
  readonly instructions: string
  /** The facts to work on, as data. */
  readonly input: unknown
  readonly schema: z.ZodType<T>
  readonly signal: AbortSignal
}

export interface ModelAnswer<T> {
  readonly value: T
  readonly usage: ModelUsage
  /** The model that answered, by the provider's own word. */
  readonly model: string
  /** Why it ended: anything else is no answer. */
  readonly finish: 'stop'
}

/** Why there is no answer. Only some are worth another try: `ModelFault.retryable` says so. */
export const MODEL_FAILURES = [
  /** It says that it will not do this. */
  'refused',
  /** The provider stopped the question or the answer for its content. */
  'blocked',
  /** The answer was cut: out of tokens, or the connection ended. */
  'cut',
  /** Not JSON, or not of the schema. */
  'malformed',
  /** It called a function, which nobody offered it. */
  'tool_call',
  /** Another model than the configured one answered. */
  'other_model',
  /** Too many at once; worth another try later. */
  'rate_limited',
  /** The quota of the account, or a budget of ours, is used up. */
  'quota',
  /** Our deadline came first. */
  'late',
  /** No answer, or one that is not the provider's. */
  'unreachable',
  /** The provider is at fault (5xx). */
  'unavailable',
  /** The key was refused. */
  'unauthorised',
  /** The provider does not take the question as we put it. */
  'bad_request',
  /** The question is longer than the model reads, or than we let it: never shortened. */
  'too_long',
  /** A replay has no such exchange. */
  'unrecorded',
] as const
export type ModelFailure = (typeof MODEL_FAILURES)[number]

/** No decision by a model. What was used up by then counts like that of an answer. */
export class ModelFault extends Fault {
  readonly failure: ModelFailure
  readonly usage: Usage
  /** The model that failed, where one is known. */
  readonly model: string | undefined

  constructor(
    failure: ModelFailure,
    message: string,
    options: {
      retryable?: boolean
      cause?: unknown
      usage?: Usage | undefined
      model?: string | undefined
    } = {},
  ) {
    super('model_failed', message, options)
    this.name = 'ModelFault'
    this.failure = failure
    this.usage = options.usage ?? NO_USAGE
    this.model = options.model
  }
}

/** A model, or something that stands in its place. Anything but a clean, valid answer is a thrown ModelFault. */
export interface Model {
  readonly engine: string
  ask<T>(request: ModelRequest<T>): Promise<ModelAnswer<T>>
}

/** Knows the secrets of this process: a text that holds one goes to no model, and is taken from none. */
export interface TextGuard {
  /** Whether the text holds one, in whatever way it is written. */
  holdsSecret(text: string): boolean
}

/** What one purchase is for. Limits are minor units of the run's currency. */
export interface Need {
  /** What to search for, in words. */
  readonly text: string
  readonly quantity: number
  /** The most for one unit, if the task says so. */
  readonly maxUnit?: Minor
  /** The most for the whole line, if the task says so. */
  readonly maxTotal?: Minor
  /** Preferred merchants or qualities, in the task's own words. */
  readonly prefer: readonly string[]
}

/** One part of a plan: a branch (planned again) or a purchase. */
export type PlanPart =
  | {
      readonly kind: 'branch'
      readonly label: string
      readonly task: string
      readonly ceiling: Minor
      /** Nodes that the branch is thought to need below itself; absent: an equal share. */
      readonly nodes?: number
    }
  | {
      readonly kind: 'purchase'
      readonly label: string
      readonly need: Need
      readonly ceiling: Minor
    }

export type Plan =
  | { readonly kind: 'parts'; readonly parts: readonly PlanPart[] }
  /** The task cannot be read; `reason` is a sentence that a person can act on. */
  | { readonly kind: 'unreadable'; readonly reason: string }

export interface PlanRequest {
  readonly task: string
  readonly currency: Currency
  /** What the planner may give out now. */
  readonly available: Minor
  /** Levels left below this planner: 1 means that only purchases are possible. */
  readonly depthLeft: number
  readonly nodesLeft: number
  readonly fanOut: number
  /** Public names of the payees that the mandate allows. */
  readonly payees: readonly { readonly id: PayeeId; readonly name: string }[]
  /** On a second round: what became of the parts, as typed fields only. */
  readonly outcomes?: readonly PartOutcome[]
  /** On a second round: what the first one used up, so that a limit for the whole task still holds. */
  readonly used?: Minor
  /** Why the planner's last answer was not accepted, in our words; asked again once with it. */
  readonly objection?: string
}

export interface PartOutcome {
  readonly label: string
  readonly need: Need
  readonly reason: 'over_budget' | 'nothing_found' | 'refused' | 'failed'
  /** The cheapest signed quote that was seen, if any. */
  readonly cheapest?: Minor
  /** A short code of ours that says more of a refusal or a failure. */
  readonly code?: string
}

/** A quote that was really fetched, verified and is still good, as typed fields. */
export interface Candidate {
  readonly quote: string
  readonly digest: Digest
  readonly merchant: MerchantId
  readonly payee: PayeeId
  readonly amount: Minor
  readonly expiresAtSeconds: Seconds
  readonly lines: readonly QuoteLine[]
  /** 0 to 1000: how well it fits the need, by the looker. */
  readonly score: number
}

/** What a looker's agent may do: search, read and ask for quotes, through the gateway, with its own token and key. */
export interface LookerSession {
  search(query: {
    text: string
    merchants?: readonly MerchantId[]
    limit: number
  }): Promise<readonly Item[]>
  /** One listing with its whole description. */
  read(merchant: MerchantId, sku: string): Promise<Item>
  quote(merchant: MerchantId, lines: readonly { sku: string; quantity: number }[]): Promise<string>
  /** Told of each call of a model within one look: its budget holds there too. */
  readonly meter?: Meter
}

/** Counts the calls of a model that one question to an agent leads to. */
export interface Meter {
  /** Before each of them. Throws ModelFault `quota` where no more may be made. */
  before(): void
  /** What one used, failed or not. */
  after(usage: Usage): void
}

/** What models may use: calls, tokens read and written, and millionths of a US dollar. */
export interface Budget {
  readonly calls: number
  readonly tokens: number
  readonly costMicros: number
}

/** Of a run as a whole, and of each of its nodes that asks models. */
export interface Budgets {
  readonly run: Budget
  readonly node: Budget
}

export interface LookRequest {
  readonly need: Need
  readonly currency: Currency
  readonly merchants: readonly MerchantId[]
  /** The most that the purchase may cost. */
  readonly ceiling: Minor
}

/** Quotes brought back, best first, by their text; the funnel verifies each before anyone may choose it. */
export interface Look {
  readonly found: readonly { readonly quote: string; readonly score: number }[]
}

export interface ChooseRequest {
  readonly need: Need
  readonly currency: Currency
  readonly ceiling: Minor
  readonly candidates: readonly Omit<Candidate, 'quote' | 'digest'>[]
}

/** An index into the candidates that were given, or none of them. */
export interface Choice {
  readonly index: number | 'none'
}

/** Of one or more calls. */
export interface Usage extends ModelUsage {
  readonly calls: number
}

export const NO_USAGE: Usage = { calls: 0, inputTokens: 0, outputTokens: 0, costMicros: 0 }

export const addUsage = (a: Usage, b: Usage): Usage => ({
  calls: a.calls + b.calls,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  costMicros: a.costMicros + b.costMicros,
})

/** How an answer came about. */
export interface AnsweredBy {
  readonly usage: Usage
  readonly model: string
  /** Of the instructions that it was asked with, which are ours; never of what it was asked about. */
  readonly prompt?: Digest
}

/** The agents' side of the funnel: untrusted, bounded, replaceable. Throws ModelFault for no decision. */
export interface Agents {
  plan(request: PlanRequest, signal: AbortSignal): Promise<{ plan: Plan } & AnsweredBy>
  look(
    request: LookRequest,
    session: LookerSession,
    signal: AbortSignal,
  ): Promise<{ look: Look } & AnsweredBy>
  choose(request: ChooseRequest, signal: AbortSignal): Promise<{ choice: Choice } & AnsweredBy>
}
