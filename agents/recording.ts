/**
 * Questions to models and their answers, written down and played again at the port: above every provider's library, so
 * that one form serves all engines. An exchange is known by everything that a model is told and by which model it was to
 * be; a replay gives answers in their order to the very question that had them, reaches nobody and needs no key. Where a
 * question is another one it says which part of it is, by the names of our own fields and never by a value. How often the
 * same is asked is the world's doing, not the model's: a look begins anew when a merchant did not answer. So the last
 * answer to a question is its answer from then on, and an exchange is left over only if its question was never put.
 */
import { z } from 'zod'
import {
  MODEL_FAILURES,
  type Model,
  type ModelAnswer,
  ModelFault,
  type ModelRequest,
} from '../runtime/core/agents.ts'
import { type Digest, digestSchema, sha256 } from '../runtime/core/ids.ts'
import { canonicalJson, parseJson } from '../runtime/core/json.ts'

type Role = ModelRequest<unknown>['role']

/** Which model is to answer whom: by configuration, whoever then really does. */
export interface Named {
  readonly engine: string
  modelOf(role: Role): string
}

const count = z.number().int().min(0)
const usageSchema = z.strictObject({
  inputTokens: count,
  outputTokens: count,
  costMicros: count,
})

const askedSchema = z.strictObject({
  engine: z.string(),
  model: z.string(),
  role: z.enum(['planner', 'looker', 'chooser', 'monitor']),
  instructions: z.string(),
  input: z.json(),
  schema: z.json(),
})
export type AskedExchange = z.infer<typeof askedSchema>

const outcomeSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('answer'),
    value: z.json(),
    usage: usageSchema,
    model: z.string(),
  }),
  z.strictObject({
    kind: z.literal('failure'),
    failure: z.enum(MODEL_FAILURES),
    message: z.string(),
    retryable: z.boolean(),
    usage: usageSchema.extend({ calls: count }),
    model: z.string().exactOptional(),
  }),
])

export const exchangeSchema = z.strictObject({
  /** SHA-256 of `asked` as canonical JSON (RFC 8785). */
  key: digestSchema,
  asked: askedSchema,
  outcome: outcomeSchema,
})
export type ModelExchange = z.infer<typeof exchangeSchema>

/** Where exchanges are kept, in the order in which they ended. `add` throws where one cannot or may not be kept. */
export interface ExchangeStore {
  add(exchange: ModelExchange): void
}

export function keyOf(asked: AskedExchange): Digest {
  return sha256(canonicalJson(asked))
}

/** The same model; an exchange that cannot be written down is not passed on. A call that was given up is none. */
export function recording(model: Model, store: ExchangeStore, named: Named): Model {
  return {
    engine: model.engine,
    async ask<T>(request: ModelRequest<T>): Promise<ModelAnswer<T>> {
      const asked = askedOf(request, named)
      const key = keyOf(asked)
      try {
        const answer = await model.ask(request)
        const { usage, model: by } = answer
        const { inputTokens, outputTokens, costMicros } = usage
        const value = plain(answer.value)
        const outcome = { value, usage: { inputTokens, outputTokens, costMicros }, model: by }
        store.add({ key, asked, outcome: { kind: 'answer', ...outcome } })
        return answer
      } catch (error) {
        if (error instanceof ModelFault) store.add({ key, asked, outcome: failed(error) })
        throw error
      }
    },
  }
}

const failed = ({ failure, message, retryable, usage, model }: ModelFault) => ({
  kind: 'failure' as const,
  failure,
  message,
  retryable,
  usage: { ...usage },
  ...(model === undefined ? {} : { model }),
})

/** What was recorded, played once. */
export interface ModelReplay {
  /** A model that answers from it and reaches nobody. Throws ModelFault `unrecorded` for another question. */
  as(named: Named): Model
  /** What went otherwise than it was recorded, in one sentence without a value; undefined: nothing. */
  end(): string | undefined
}

export function replaying(exchanges: readonly ModelExchange[]): ModelReplay {
  const byKey = Map.groupBy(exchanges, ({ key }) => key)
  const put = new Map<Digest, number>()
  let problem: string | undefined
  const next = (asked: AskedExchange): ModelExchange => {
    const key = keyOf(asked)
    const told = put.get(key) ?? 0
    const answers = byKey.get(key) ?? []
    const found = answers[told] ?? answers.at(-1)
    if (found !== undefined) {
      put.set(key, told + 1)
      return found
    }
    const why = differenceOf(asked, exchanges, (key) => put.has(key))
    problem ??= why
    throw new ModelFault('unrecorded', why, { retryable: false })
  }
  return {
    as: (named) => ({
      engine: named.engine,
      async ask<T>(request: ModelRequest<T>): Promise<ModelAnswer<T>> {
        request.signal.throwIfAborted()
        return answerOf(request, next(askedOf(request, named)))
      },
    }),
    end: () => {
      const left = exchanges.filter(({ key }) => !put.has(key)).length
      if (problem !== undefined || left === 0) return problem
      return `${left} of ${exchanges.length} recorded exchanges were never asked for`
    },
  }
}

function answerOf<T>(request: ModelRequest<T>, { outcome }: ModelExchange): ModelAnswer<T> {
  if (outcome.kind === 'failure') {
    const { failure, message, retryable, usage, model } = outcome
    throw new ModelFault(failure, message, { retryable, usage, model })
  }
  const { usage, model } = outcome
  const value = request.schema.safeParse(outcome.value)
  if (value.success) return { value: value.data, usage, model, finish: 'stop' }
  const message = `what is recorded for the ${request.role} is out of shape`
  throw new ModelFault('malformed', message, { usage: { calls: 1, ...usage }, model })
}

function askedOf(request: ModelRequest<unknown>, { engine, modelOf }: Named): AskedExchange {
  const { role, instructions, input } = request
  const schema = z.toJSONSchema(request.schema, { io: 'input', unrepresentable: 'any' })
  return {
    engine,
    model: modelOf(role),
    role,
    instructions,
    input: plain(input),
    schema: plain(schema),
  }
}

const plain = (value: unknown) => z.json().parse(parseJson(canonicalJson(value)))

const PARTS = ['engine', 'model', 'instructions', 'schema', 'input'] as const

/** Which part differs from the nearest exchange of the same role, one that was not played yet before others. */
function differenceOf(
  asked: AskedExchange,
  all: readonly ModelExchange[],
  isPut: (key: Digest) => boolean,
): string {
  const { role } = asked
  const ofRole = [...all].sort((a, b) => Number(isPut(a.key)) - Number(isPut(b.key)))
  const [nearest] = ofRole
    .filter((exchange) => exchange.asked.role === role)
    .map((exchange) => ({
      n: all.indexOf(exchange) + 1,
      parts: PARTS.filter((part) => !isSame(asked[part], exchange.asked[part])),
      fields: fieldsOf(asked.input, exchange.asked.input),
    }))
    .sort((a, b) => a.parts.length - b.parts.length || a.fields.length - b.fields.length)
  if (nearest === undefined) return `no question to a ${role} is recorded`
  const words = nearest.parts.map((part) =>
    part === 'input' && nearest.fields.length > 0 ? `input (${nearest.fields.join(', ')})` : part,
  )
  return `the ${role} was asked something else than was recorded: ${words.join(', ')} of the nearest exchange, ${nearest.n}, differ`
}

const isSame = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b)

/** Names of the fields in which two inputs differ: an input is an object of ours. */
function fieldsOf(a: unknown, b: unknown): string[] {
  const [one, other] = [a, b].map((input) => z.record(z.string(), z.json()).safeParse(input).data)
  if (one === undefined || other === undefined) return []
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].filter((name) => !isSame(one[name] ?? null, other[name] ?? null)).sort()
}
