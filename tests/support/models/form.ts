/**
 * Puts a value into the form that a request's own JSON schema asks for: as a model that is held to a schema by its
 * provider would write it. What the schema wraps is wrapped, and what it requires and the value leaves out is null.
 */
import { z } from 'zod'

export const schemaSchema = z.record(z.string(), z.unknown())
export type JsonSchema = z.infer<typeof schemaSchema>

/** The value so, or undefined where no such schema can hold it. */
export function inForm(value: unknown, schema: JsonSchema, root: JsonSchema = schema): unknown {
  const { $ref, anyOf, oneOf } = schema
  if (typeof $ref === 'string') return inForm(value, referred($ref, root), root)
  const variants = listOf(anyOf ?? oneOf)
  if (variants !== undefined) return first(variants, (each) => inForm(value, each, root))
  if ('const' in schema) return value === schema.const ? value : undefined
  if (Array.isArray(schema.enum)) {
    return schema.enum.includes(value ?? null) ? (value ?? null) : undefined
  }
  return first(typesOf(schema), (type) => ofType(type, value, schema, root))
}

function ofType(type: string, value: unknown, schema: JsonSchema, root: JsonSchema): unknown {
  switch (type) {
    case 'null':
      return value === undefined || value === null ? null : undefined
    case 'string':
    case 'boolean':
      return typeof value === type ? value : undefined
    case 'number':
      return typeof value === 'number' ? value : undefined
    case 'integer':
      return Number.isInteger(value) ? value : undefined
    case 'array':
      return Array.isArray(value) ? items(value, schema, root) : undefined
    default:
      return object(value, schema, root)
  }
}

function items(value: readonly unknown[], schema: JsonSchema, root: JsonSchema): unknown {
  const each = schemaSchema.safeParse(schema.items).data ?? {}
  const fitted = value.map((item) => inForm(item, each, root))
  return fitted.includes(undefined) ? undefined : fitted
}

function object(value: unknown, schema: JsonSchema, root: JsonSchema): unknown {
  const properties = Object.entries(
    z.record(z.string(), schemaSchema).parse(schema.properties ?? {}),
  )
  const required = z.array(z.string()).parse(schema.required ?? [])
  const given = schemaSchema.safeParse(value).data
  const asItIs = given === undefined ? undefined : members(given, { properties, required, root })
  if (asItIs !== undefined) return asItIs
  const [only, ...others] = properties
  if (only === undefined || others.length > 0 || value === undefined) return undefined
  const [name, inner] = only
  const wrapped = inForm(value, inner, root)
  return wrapped === undefined ? undefined : { [name]: wrapped }
}

interface Members {
  readonly properties: readonly [string, JsonSchema][]
  readonly required: readonly string[]
  readonly root: JsonSchema
}

function members(given: JsonSchema, { properties, required, root }: Members): unknown {
  const names = properties.map(([name]) => name)
  if (Object.keys(given).some((name) => given[name] !== undefined && !names.includes(name))) {
    return undefined
  }
  const written: JsonSchema = {}
  for (const [name, schema] of properties) {
    const isAbsent = given[name] === undefined
    if (isAbsent && !required.includes(name)) continue
    const fitted = inForm(given[name], schema, root)
    if (fitted === undefined) return undefined
    written[name] = fitted
  }
  return written
}

function referred(reference: string, root: JsonSchema): JsonSchema {
  const parts = reference.replace(/^#\/?/, '').split('/').filter(Boolean)
  return parts.reduce<JsonSchema>((at, part) => schemaSchema.parse(at[part]), root)
}

export const typesOf = ({ type, properties }: JsonSchema): string[] => {
  if (Array.isArray(type)) return type.map(String)
  if (typeof type === 'string') return [type]
  return properties === undefined
    ? ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']
    : ['object']
}

const listOf = (variants: unknown): JsonSchema[] | undefined =>
  variants === undefined ? undefined : z.array(schemaSchema).parse(variants)

function first<T>(all: readonly T[], act: (each: T) => unknown): unknown {
  for (const each of all) {
    const got = act(each)
    if (got !== undefined) return got
  }
  return undefined
}
