/** The lines of a recording, and in which field two requests differ. */
import { z } from 'zod'
import { type Json, parseJson } from '../../core/json.ts'

const headersSchema = z.record(z.string(), z.string())
const requestSchema = z.strictObject({
  method: z.string(),
  path: z.string(),
  /** In the order of the names. */
  query: z.array(z.tuple([z.string(), z.string()])),
  headers: headersSchema,
  body: z
    .union([z.strictObject({ json: z.json() }), z.strictObject({ text: z.string() })])
    .optional(),
})
const answerSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('answer'),
    status: z.number().int(),
    headers: headersSchema,
    /** `latin1` where the bytes were no UTF-8. */
    body: z.strictObject({ encoding: z.enum(['utf8', 'latin1']), text: z.string() }),
  }),
  z.strictObject({ kind: z.literal('notSent'), reason: z.string() }),
  z.strictObject({ kind: z.literal('lost'), reason: z.string() }),
])
export const lineSchema = z.strictObject({
  /** In the order in which they began, from 1. */
  n: z.number().int().min(1),
  request: requestSchema,
  answer: answerSchema,
})

export type RecordedRequest = z.infer<typeof requestSchema>
export type RecordedAnswer = z.infer<typeof answerSchema>

export type RecordedLine = z.infer<typeof lineSchema>

/** The first field in which they differ, named by us or by the adapter and never by its value. */
export function differenceOf(
  was: RecordedRequest,
  is: RecordedRequest,
  n: number,
): string | undefined {
  const at = (field: string) => `exchange ${n} differs from the recording: ${field}`
  if (was.method !== is.method) return at('the method')
  if (was.path !== is.path) return at('the path')
  const query = differentMember(Object.fromEntries(was.query), Object.fromEntries(is.query))
  if (query !== undefined) return at(`the query’s ${query}`)
  if (canonical(was.query) !== canonical(is.query)) return at('the query')
  const header = differentMember(was.headers, is.headers)
  if (header !== undefined) return at(`the header ${header}`)
  const [before, after] = [textOf(was.body), textOf(is.body)]
  if (before === after) return undefined
  const json = (body: RecordedRequest['body']) =>
    body !== undefined && 'json' in body ? (body.json as Json) : undefined
  const member = differentMember(json(was.body), json(is.body))
  return at(member === undefined ? 'the body' : `the body’s ${member}`)
}

const textOf = (body: RecordedRequest['body']): string =>
  body === undefined ? '' : 'json' in body ? `json ${canonical(body.json)}` : `text ${body.text}`

/** RFC 8785 where it can be, else as JSON writes it with sorted names: numbers that are no whole ones still compare. */
function canonical(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(canonical).join(',')}]`
  if (typeof json !== 'object' || json === null) return JSON.stringify(json)
  const members = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`).join(',')}}`
}

/** The way to the first member that differs, such as `items.0.amount.value`; undefined where it is all of it. */
function differentMember(was: unknown, is: unknown): string | undefined {
  if (!isTree(was) || !isTree(is)) return undefined
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].sort()
  for (const name of names) {
    const [before, after] = [Reflect.get(was, name), Reflect.get(is, name)]
    if (canonical(before ?? null) === canonical(after ?? null) && name in was === name in is)
      continue
    const own = /^[\w-]{1,40}$/.test(name) ? name : '?'
    const below = differentMember(before, after)
    return below === undefined ? own : `${own}.${below}`
  }
  return undefined
}

const isTree = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Looser than a boundary's parser: a request of another adapter may hold numbers that ours never do. */
export function jsonOf(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch {
    try {
      return JSON.parse(text) as Json
    } catch {
      return undefined
    }
  }
}
