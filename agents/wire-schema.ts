/**
 * Our schemas as providers take them, and their answers back. What Gemini and Groq both take is small: a root object, every
 * property required, no further ones, `anyOf`, enums. So a union at the root is wrapped, what may be absent is there as
 * null, and every bound becomes words that the model can read. None of that is believed: an answer is turned back and
 * parsed by the schema it was asked for, which is where the bounds are held.
 *
 * https://console.groq.com/docs/structured-outputs (strict), https://ai.google.dev/gemini-api/docs/structured-output
 */
import { z } from 'zod'
import { isObject, type Json } from '../runtime/core/json.ts'

/** A JSON schema of the small language that both providers take. */
export type WireSchema =
  | { readonly anyOf: readonly WireSchema[]; readonly description?: string }
  | {
      readonly type: string | readonly string[]
      readonly description?: string
      readonly enum?: readonly Json[]
      readonly items?: WireSchema
      readonly properties?: { readonly [name: string]: WireSchema }
      readonly required?: readonly string[]
      readonly additionalProperties?: false
    }

export interface Wire {
  readonly schema: WireSchema
  /** The value that an answer stands for; still to be parsed. Undefined: not what was asked for. */
  unwrap(answer: Json): Json | undefined
}

type Source = z.core.JSONSchema.BaseSchema

const WRAPPER = 'answer'

/** Throws an Error for a schema that uses what has no form at the providers: a mistake of ours. */
export function wireOf(schema: z.ZodType): Wire {
  const made = z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' })
  const { $schema: _, ...source } = made
  const root = wire(source)
  if ('type' in root && root.type === 'object') {
    return { schema: root, unwrap: (answer) => restored(source, answer) }
  }
  return {
    schema: objectOf({ [WRAPPER]: root }),
    unwrap: (answer) => {
      if (!isObject(answer) || Object.keys(answer).length !== 1) return undefined
      const inner = answer[WRAPPER]
      return inner === undefined ? undefined : restored(source, inner)
    },
  }
}

const objectOf = (properties: { readonly [name: string]: WireSchema }): WireSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/** All that a schema of ours may say; what is not here has no form at the providers. */
const KNOWN = new Set([
  ...['type', 'const', 'enum', 'anyOf', 'oneOf', 'properties', 'required', 'items', 'default'],
  ...['additionalProperties', 'minimum', 'maximum'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'pattern', 'format', 'description'],
])

function wire(source: Source): WireSchema {
  const strange = Object.keys(source).find((key) => !KNOWN.has(key))
  if (strange !== undefined) throw new Error(`no provider takes ${strange} in a schema`)
  const branches = branchesOf(source)
  if (branches !== undefined) return { anyOf: branches.map(wire) }
  const types = typesOf(source)
  const [type] = types
  const description = bounds(source)
  const words = description === '' ? {} : { description }
  if (source.const !== undefined || source.enum !== undefined) {
    const values = (source.enum ?? [source.const]) as Json[]
    return { type: typeOf(values), enum: values, ...words }
  }
  if (type === 'object') return objectOf(propertiesOf(source))
  if (type === 'array') return { type, items: wire(schemaOf(source.items)), ...words }
  if (type === undefined) throw new Error('a schema says no type')
  return { type: types.length > 1 ? types : type, ...words }
}

function propertiesOf(source: Source): { [name: string]: WireSchema } {
  if (source.additionalProperties !== false) throw new Error('an object takes unknown properties')
  return Object.fromEntries(
    Object.entries(source.properties ?? {}).map(([name, property]) => {
      const inner = schemaOf(property)
      const isOptional = !(source.required ?? []).includes(name)
      return [name, isOptional && !takesNull(inner) ? nullable(wire(inner)) : wire(inner)]
    }),
  )
}

/** A type that is a list holds null itself; whatever is more than a type has null beside it. */
function nullable(schema: WireSchema): WireSchema {
  if ('anyOf' in schema) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] }
  const { type } = schema
  const isPlain = schema.enum === undefined && typeof type === 'string' && !NESTED.has(type)
  return isPlain ? { ...schema, type: [type, 'null'] } : { anyOf: [schema, { type: 'null' }] }
}

const NESTED = new Set(['object', 'array'])

const typeOf = (values: readonly Json[]): string => {
  const types = new Set(values.map(plainType))
  const [type, ...others] = types
  if (type === undefined || others.length > 0) throw new Error('an enum mixes types')
  return type
}

/** Every number that is read is a whole one. */
const plainType = (value: Json): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number' ? 'integer' : typeof value
}

const branchesOf = (source: Source): readonly Source[] | undefined =>
  (source.anyOf ?? source.oneOf)?.map(schemaOf)

function schemaOf(source: unknown): Source {
  if (typeof source !== 'object' || source === null || Array.isArray(source)) {
    throw new Error('expected a schema')
  }
  return source as Source
}

const takesNull = (source: Source): boolean =>
  typesOf(source).includes('null') || branchesOf(source)?.some(takesNull) === true

/** A plain type that may be null is a list of two. */
function typesOf({ type }: Source): readonly string[] {
  const types: unknown = type
  if (Array.isArray(types)) return types.map(String)
  return typeof types === 'string' ? [types] : []
}

/** A schema's bounds in words, for a model that is not held to them by its provider. */
function bounds(source: Source): string {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = source
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum
  return [
    ...(source.description === undefined ? [] : [source.description]),
    ...range(minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum, most, ''),
    ...range(minLength, maxLength, ' characters'),
    ...range(minItems, maxItems, ' items'),
    ...(pattern === undefined ? [] : [`like ${pattern}`]),
  ].join('; ')
}

function range(least: number | undefined, most: number | undefined, unit: string): string[] {
  if (least !== undefined && most !== undefined) return [`${least} to ${most}${unit}`]
  if (least !== undefined) return [`at least ${least}${unit}`]
  return most === undefined ? [] : [`at most ${most}${unit}`]
}

/** Without the nulls that stand for what is absent. What does not fit is left as it is, for the parser to refuse. */
function restored(source: Source, value: Json): Json {
  const branches = branchesOf(source)
  if (branches !== undefined) {
    const branch = branches.find((one) => fits(one, value))
    return branch === undefined ? value : restored(branch, value)
  }
  if (Array.isArray(value) && source.items !== undefined) {
    return value.map((item) => restored(schemaOf(source.items), item))
  }
  if (!isObject(value) || source.properties === undefined) return value
  const properties = source.properties
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      if (!Object.hasOwn(properties, name)) return [[name, inner]]
      const property = schemaOf(properties[name])
      const isAbsent = inner === null && !takesNull(property)
      if (isAbsent && !(source.required ?? []).includes(name)) return []
      return [[name, restored(property, inner)]]
    }),
  )
}

/** Whether a value can be of this branch: by its type, and by the fixed values and the names of its properties. */
function fits(source: Source, value: Json): boolean {
  const branches = branchesOf(source)
  if (branches !== undefined) return branches.some((branch) => fits(branch, value))
  if (source.const !== undefined) return source.const === value
  if (source.enum !== undefined) return source.enum.includes(value as string)
  if (!typesOf(source).includes(plainType(value))) return false
  if (!isObject(value)) return true
  const properties = source.properties ?? {}
  return Object.entries(value).every(([name, inner]) => {
    if (!Object.hasOwn(properties, name)) return false
    const property = schemaOf(properties[name])
    const isFixed = property.const !== undefined || property.enum !== undefined
    return !isFixed || inner === null || fits(property, inner)
  })
}
