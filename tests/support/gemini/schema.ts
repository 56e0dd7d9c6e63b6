/** The part of JSON Schema that Gemini documents for `responseJsonSchema`; what it would pass over is refused here. */
import { schemaSchema } from '../models/form.ts'

const KEYWORDS = new Set([
  '$id',
  '$defs',
  '$ref',
  '$anchor',
  'type',
  'format',
  'title',
  'description',
  'enum',
  'items',
  'prefixItems',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
  'anyOf',
  'oneOf',
  'properties',
  'additionalProperties',
  'required',
  'propertyOrdering',
])
const TYPES = new Set(['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'])

/** A model's decoder has a bounded number of states. */
const DEEPEST = 24

export function schemaProblem(schema: unknown): string | undefined {
  return problemAt(schema, 'response_json_schema', 0)
}

function problemAt(given: unknown, place: string, depth: number): string | undefined {
  const schema = schemaSchema.safeParse(given).data
  const at = `* GenerateContentRequest.generation_config.${place}:`
  if (schema === undefined) return `${at} expected a JSON Schema object\n`
  if (depth > DEEPEST) return `${at} the schema is nested too deeply\n`
  const names = Object.keys(schema)
  const foreign = names.find((name) => !KEYWORDS.has(name))
  if (foreign !== undefined) return `${at} "${foreign}" is not supported\n`
  if ('$ref' in schema && names.some((name) => !name.startsWith('$'))) {
    return `${at} no other property may be set beside $ref\n`
  }
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? 'object']
  if (types.some((type) => !TYPES.has(String(type)))) return `${at} unknown type\n`
  if (Array.isArray(schema.enum)) {
    if (
      schema.enum.some((value) => !['string', 'number'].includes(typeof value) && value !== null)
    ) {
      return `${at} enum is supported for strings and numbers\n`
    }
  }
  return childrenOf(schema)
    .map(([name, child]) => problemAt(child, `${place}.${name}`, depth + 1))
    .find((problem) => problem !== undefined)
}

function childrenOf(schema: Record<string, unknown>): [string, unknown][] {
  const named = (keyword: string): [string, unknown][] =>
    Object.entries(schemaSchema.safeParse(schema[keyword]).data ?? {}).map(([name, child]) => [
      `${keyword}[${name}]`,
      child,
    ])
  const listed = (keyword: string): [string, unknown][] =>
    Array.isArray(schema[keyword])
      ? schema[keyword].map((child, i) => [`${keyword}[${i}]`, child])
      : []
  const one = (keyword: string): [string, unknown][] =>
    typeof schema[keyword] === 'object' ? [[keyword, schema[keyword]]] : []
  return [
    ...named('properties'),
    ...named('$defs'),
    ...listed('anyOf'),
    ...listed('oneOf'),
    ...listed('prefixItems'),
    ...one('items'),
    ...one('additionalProperties'),
  ]
}
