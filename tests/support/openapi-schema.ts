/**
 * The schemas of an OpenAPI 3.0 document as JSON Schema 2019-09, closed: what a document does not name is refused, or
 * else a wrong name of a right member would pass every schema there is. Of requests alone, in which nothing that is
 * read-only may stand.
 */
export type Tree = { readonly [name: string]: unknown }

export const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** OpenAPI's own words, which a JSON Schema validator does not know or takes otherwise. */
const DROPPED = new Set([
  'nullable',
  'readOnly',
  'writeOnly',
  'discriminator',
  'xml',
  'externalDocs',
  'example',
  'examples',
  'deprecated',
  'title',
  'description',
  'default',
])

const REF = /^#\/components\/schemas\/(.+)$/

export interface SchemaRules {
  /** What is sent back as it came, so that read-only members, and others, may stand in it. */
  readonly echoed: readonly string[]
}

/** `closed` of each component may not hold more than it names; `open` is part of another that may. */
export function closedDefinitions(components: Tree, { echoed }: SchemaRules): Tree {
  const definitions = Object.entries(components).flatMap(([name, schema]) => {
    const isEcho = echoed.includes(name)
    return [
      [`${name}.closed`, convert(schema, { isPart: false, isEcho })],
      [`${name}.open`, convert(schema, { isPart: true, isEcho })],
    ]
  })
  return Object.fromEntries(definitions)
}

interface Place {
  /** One of several schemas of the same value: another of them names what this does not. */
  readonly isPart: boolean
  readonly isEcho: boolean
}

/** A schema as it stands in a document, or a reference to one. */
export function convert(schema: unknown, place: Place): unknown {
  if (!isTree(schema)) return schema
  const target = typeof schema.$ref === 'string' ? REF.exec(schema.$ref)?.[1] : undefined
  // OpenAPI 3.0: what stands beside a reference is ignored, but for `readOnly`, which a property is asked for first.
  if (target !== undefined) return { $ref: `#/$defs/${target}.${place.isPart ? 'open' : 'closed'}` }
  const made: Record<string, unknown> = {}
  for (const [word, value] of Object.entries(schema)) {
    if (!DROPPED.has(word) && !word.startsWith('x-')) made[word] = convertWord(word, value, place)
  }
  if (Array.isArray(made.required)) made.required = made.required.filter(isWritable(schema, place))
  const isObject = ['properties', 'allOf', 'anyOf', 'oneOf'].some((word) => word in schema)
  const isOpen = place.isPart || place.isEcho || 'additionalProperties' in schema
  const isClosed = isObject && !isOpen
  const { type } = schema
  if (isClosed && (type === 'object' || type === undefined)) made.unevaluatedProperties = false
  return schema.nullable === true && typeof type === 'string'
    ? { ...made, type: [type, 'null'] }
    : made
}

function convertWord(word: string, value: unknown, place: Place): unknown {
  if (word === 'properties' && isTree(value)) return properties(value, place)
  if (['allOf', 'anyOf', 'oneOf'].includes(word) && Array.isArray(value)) {
    return value.map((each) => convert(each, { ...place, isPart: true }))
  }
  if (['items', 'not', 'additionalProperties'].includes(word)) {
    return convert(value, { ...place, isPart: word === 'not' })
  }
  return value
}

const isReadOnly = (schema: unknown, { isEcho }: Place): boolean =>
  !isEcho && isTree(schema) && schema.readOnly === true

function properties(of: Tree, place: Place): Tree {
  const below = { ...place, isPart: false }
  return Object.fromEntries(
    Object.entries(of).map(([name, schema]) => [
      name,
      isReadOnly(schema, place) ? false : convert(schema, below),
    ]),
  )
}

const isWritable =
  ({ properties: of }: Tree, place: Place) =>
  (name: unknown): boolean =>
    !isTree(of) || !isReadOnly(of[String(name)], place)
