/**
 * The part of JSON Schema that Groq takes with `strict: true`, in the words of its refusals: every object closed and
 * every property required, no keyword beyond the documented ones, and between variants one way to tell them apart.
 */
import { z } from 'zod'
import { type JsonSchema, schemaSchema } from '../models/form.ts'

export interface SchemaProblem {
  readonly path: readonly string[]
  readonly message: string
  readonly kind?: string
  readonly code?: string
}

const KEYWORDS = new Set([
  '$defs',
  '$ref',
  'type',
  'title',
  'description',
  'enum',
  'const',
  'items',
  'anyOf',
  'properties',
  'additionalProperties',
  'required',
])
const TYPES = new Set(['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'])

export function strictProblem(schema: unknown): SchemaProblem | undefined {
  const root = schemaSchema.safeParse(schema).data
  if (root === undefined) return { path: [], message: 'expected a JSON Schema object' }
  if (root.type !== 'object') {
    return {
      path: [],
      message: 'schema must have type "object" and not have "anyOf" at the top level',
    }
  }
  return problemAt(root, [], root)
}

function problemAt(
  given: unknown,
  path: readonly string[],
  root: JsonSchema,
): SchemaProblem | undefined {
  const schema = schemaSchema.safeParse(given).data
  if (schema === undefined) return { path, message: 'expected a JSON Schema object' }
  const foreign = Object.keys(schema).find((name) => !KEYWORDS.has(name))
  if (foreign !== undefined) return { path, message: `${foreign} is not supported` }
  if ('$ref' in schema) return undefined
  const types = typeList(schema)
  if (types.some((type) => !TYPES.has(type))) return { path, message: 'unknown type' }
  if (types.length === 0 && !['anyOf', 'enum', 'const'].some((name) => name in schema)) {
    return { path, message: "schema must have a 'type' key" }
  }
  return (
    (types.includes('object') ? openness(schema, path) : undefined) ??
    (types.includes('array') && !('items' in schema)
      ? { path, message: 'array schema is missing items' }
      : undefined) ??
    ambiguity(schema, path, root) ??
    childrenOf(schema, path)
      .map(([at, child]) => problemAt(child, at, root))
      .find((problem) => problem !== undefined)
  )
}

const typeList = ({ type }: JsonSchema): string[] =>
  type === undefined ? [] : (Array.isArray(type) ? type : [type]).map(String)

const propertiesOf = ({ properties }: JsonSchema): JsonSchema =>
  schemaSchema.safeParse(properties).data ?? {}

const requiredOf = ({ required }: JsonSchema): readonly string[] =>
  z.array(z.string()).safeParse(required).data ?? []

function openness(schema: JsonSchema, path: readonly string[]): SchemaProblem | undefined {
  if (schema.additionalProperties !== false) {
    return { path, message: 'additionalProperties:false must be set on every object' }
  }
  const at = [...path, 'required']
  if (!Array.isArray(schema.required)) {
    const message =
      '`required` is required to be supplied and to be an array including every key in properties'
    return { path: at, message }
  }
  const left = Object.keys(propertiesOf(schema)).filter(
    (name) => !requiredOf(schema).includes(name),
  )
  if (left.length === 0) return undefined
  const message = `The following properties must be listed in \`required\`: ${left.join(', ')}`
  return { path: at, message }
}

/** A decoder has to know by one key which variant it writes. */
function ambiguity(
  { anyOf }: JsonSchema,
  path: readonly string[],
  root: JsonSchema,
): SchemaProblem | undefined {
  if (anyOf === undefined) return undefined
  const variants = z.array(schemaSchema).safeParse(anyOf).data ?? []
  const objects = variants
    .map((each) => derefer(each, root))
    .filter((v) => typeList(v).includes('object'))
  if (objects.length < 2) return undefined
  const failed = (message: string, code: string) => ({
    path: [...path, 'anyOf'],
    message: `anyOf disambiguation failed: anyOf: ${message} [${code}]`,
    kind: 'anyOf',
    code,
  })
  const candidates = Object.keys(propertiesOf(objects[0] ?? {})).filter((name) =>
    objects.every((each) => valuesOf(each, name) !== undefined),
  )
  const [only, ...others] = candidates
  if (only === undefined) return overlap(objects, failed)
  if (others.length > 0) {
    const names = candidates.sort().join(', ')
    return failed(
      `discriminator: multiple candidate properties ${names}`,
      'discriminator_multiple_candidates',
    )
  }
  const values = objects.flatMap((each) => valuesOf(each, only) ?? [])
  const twice = values.find((value, i) => values.indexOf(value) !== i)
  return twice === undefined
    ? undefined
    : failed(`overlapping discriminator value '${String(twice)}'`, 'discriminator_overlap')
}

function overlap(
  objects: readonly JsonSchema[],
  failed: (message: string, code: string) => SchemaProblem,
): SchemaProblem | undefined {
  for (const [i, one] of objects.entries()) {
    for (const [j, other] of objects.entries()) {
      const shared = requiredOf(one).find((name) => i !== j && name in propertiesOf(other))
      if (shared === undefined) continue
      const message = `key-set-exclusion: required key '${shared}' from one variant appears in another's properties (variant ${i} vs ${j})`
      return failed(message, 'keyset_required_overlap')
    }
  }
  return undefined
}

/** Of a property that can only be one of a few. */
function valuesOf(schema: JsonSchema, name: string): readonly unknown[] | undefined {
  const property = schemaSchema.safeParse(propertiesOf(schema)[name]).data ?? {}
  if ('const' in property) return [property.const]
  return Array.isArray(property.enum) ? property.enum : undefined
}

const derefer = (schema: JsonSchema, root: JsonSchema): JsonSchema => {
  const name = /^#\/\$defs\/(.+)$/.exec(String(schema.$ref ?? ''))?.[1]
  const defs = schemaSchema.safeParse(root.$defs).data ?? {}
  return name === undefined ? schema : (schemaSchema.safeParse(defs[name]).data ?? schema)
}

function childrenOf(schema: JsonSchema, path: readonly string[]): [readonly string[], unknown][] {
  const named = (keyword: string) =>
    Object.entries(schemaSchema.safeParse(schema[keyword]).data ?? {}).map(
      ([name, child]): [readonly string[], unknown] => [[...path, keyword, name], child],
    )
  const listed = (Array.isArray(schema.anyOf) ? schema.anyOf : []).map(
    (child, i): [readonly string[], unknown] => [[...path, 'anyOf', String(i)], child],
  )
  const items: [readonly string[], unknown][] =
    'items' in schema ? [[[...path, 'items'], schema.items]] : []
  return [...named('properties'), ...named('$defs'), ...listed, ...items]
}
