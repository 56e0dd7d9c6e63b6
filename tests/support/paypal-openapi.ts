/**
 * What PayPal's own OpenAPI documents say of a request: its method, path, query, headers and body. A request that no
 * document knows is no request. Some rules stand only in the documents' prose or in their lists of issues; those are
 * written out here, each with the words that it rests on, so that a document without them is noticed.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import { closedDefinitions, convert, isTree, type Tree } from './openapi-schema.ts'
import { ROOT } from './source.ts'

const FOLDER = join(ROOT, '../shared/data/paypal-openapi')

/** Absent: nothing is judged, and whoever would have judged says so. */
export const hasPaypalDocuments = existsSync(FOLDER)

export const NO_DOCUMENTS = 'PayPal’s OpenAPI documents are not beside this repository'

const DOCUMENTS = [
  'checkout_orders_v2',
  'notifications_webhooks_v1',
  'payments_payment_v2',
  'payments_payouts_batch_v1',
  'reporting_transactions_v1',
  'vault_payment_tokens_v3',
] as const

export interface ComposedRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly body?: string
}

export type Judgement =
  | { readonly kind: 'valid'; readonly operation: string }
  /** `why`: each a place and what was expected there. */
  | { readonly kind: 'invalid'; readonly operation?: string; readonly why: readonly string[] }

export interface Operation {
  /** As the document names it, such as `orders.create`. */
  readonly id: string
  readonly method: string
  /** With `{names}`. */
  readonly path: string
}

export interface PaypalDocuments {
  readonly operations: readonly Operation[]
  judge(request: ComposedRequest): Judgement
  /** Rules whose words the documents no longer have. */
  missingWords(): readonly string[]
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly isRequired: boolean
  readonly type: unknown
  readonly validate: Validate
}

interface Known extends Operation {
  readonly pattern: RegExp
  readonly parameters: readonly Parameter[]
  readonly body?: { readonly isRequired: boolean; readonly validate: Validate }
}

/** Reads and compiles every document. Throws where one is missing or no document. */
export function loadPaypalDocuments(): PaypalDocuments {
  const texts = DOCUMENTS.map((name) => readFileSync(join(FOLDER, `${name}.json`), 'utf8'))
  const issues = readFileSync(join(FOLDER, 'issues-by-endpoint.json'), 'utf8')
  const known = texts.flatMap((text) => operationsOf(JSON.parse(text) as Tree))
  const all = [...texts, issues].join('\n')
  return {
    operations: known.map(({ id, method, path }) => ({ id, method, path })),
    judge: (request) => judge(known, request),
    missingWords: () => PROSE.map(({ words }) => words).filter((words) => !all.includes(words)),
  }
}

function operationsOf(document: Tree): Known[] {
  const components = newer(treeOf(document.components))
  const $defs = closedDefinitions(treeOf(components.schemas), { echoed: ['event'] })
  const ajv = new Ajv2019({ strict: false, allErrors: true, unicodeRegExp: false, logger: false })
  addFormats.default(ajv)
  // One copy of the definitions, under a name that each schema of this document is relative to.
  ajv.addSchema({ $id: 'document:/all', $defs })
  // Each at its first use: all of them take seconds.
  const compile: Compile = (schema) => {
    const text = JSON.stringify(convert(schema, { isPart: false, isEcho: false }))
    const own = JSON.parse(text.replaceAll('"#/$defs/', '"document:/all#/$defs/')) as Tree
    let made: ValidateFunction | undefined
    return (value) => {
      made ??= ajv.compile(own)
      return made(value) ? [] : (made.errors ?? [])
    }
  }
  const resolve = (value: unknown): Tree => {
    const { $ref } = treeOf(value)
    if (typeof $ref !== 'string') return treeOf(value)
    return treeOf($ref.slice('#/'.length).split('/').reduce<unknown>(childOf, document))
  }
  return Object.entries(treeOf(document.paths)).flatMap(([path, methods]) =>
    Object.entries(treeOf(methods)).flatMap(([method, operation]) => {
      if (!isTree(operation) || typeof operation.operationId !== 'string') return []
      const listed = [operation.parameters, treeOf(methods).parameters].flat().filter(isTree)
      const parameters = listed.map(resolve).map((of) => parameterOf(of, compile))
      const body = bodyOf(resolve(operation.requestBody), compile)
      const known = { id: operation.operationId, method: method.toUpperCase(), path, parameters }
      return [{ ...known, pattern: patternOf(path), ...(body === undefined ? {} : { body }) }]
    }),
  )
}

/** PayPal's own package is newer than the documents and knows more kinds of token that can be kept. */
function newer(components: Tree): Tree {
  const schemas = treeOf(components.schemas)
  const request = treeOf(schemas.token_id_request)
  const properties = treeOf(request.properties)
  const type = treeOf(properties.type)
  if (!Array.isArray(type.enum)) return components
  const kinds = [...new Set([...type.enum, 'SETUP_TOKEN'])]
  const changed = { ...request, properties: { ...properties, type: { ...type, enum: kinds } } }
  return { ...components, schemas: { ...schemas, token_id_request: changed } }
}

type Validate = (value: unknown) => readonly ErrorObject[]
type Compile = (schema: unknown) => Validate

function parameterOf(of: Tree, compile: Compile): Parameter {
  return {
    name: String(of.name),
    in: of.in as Parameter['in'],
    isRequired: of.required === true,
    type: treeOf(of.schema).type,
    validate: compile(of.schema),
  }
}

function bodyOf({ content, required }: Tree, compile: Compile): Known['body'] {
  const json = treeOf(content)['application/json']
  if (!isTree(json)) return undefined
  return { isRequired: required === true, validate: compile(json.schema) }
}

const childOf = (of: unknown, name: string): unknown => treeOf(of)[name]

const treeOf = (value: unknown): Tree => (isTree(value) ? value : {})

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '([^/]+)')}$`)

/** Headers of HTTP itself, which no document lists. */
const OF_HTTP = ['accept', 'authorization', 'connection', 'content-length', 'content-type', 'host']

function judge(known: readonly Known[], request: ComposedRequest): Judgement {
  const url = new URL(request.path, 'http://paypal.invalid')
  const operation = known
    .filter(({ method, pattern }) => method === request.method && pattern.test(url.pathname))
    // A path without a name in it is meant before one with.
    .sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0]
  if (operation === undefined) return { kind: 'invalid', why: ['no document knows this request'] }
  const body = bodyIn(request)
  const why = [
    ...pathReasons(operation, url),
    ...queryReasons(operation, url),
    ...headerReasons(operation, request),
    ...bodyReasons(operation, request, body),
    ...PROSE.flatMap(({ on, words, holds }) =>
      on.includes(operation.id) && !holds({ url, headers: lower(request.headers), body })
        ? [`the documents say: ${words}`]
        : [],
    ),
  ]
  const { id } = operation
  return why.length === 0
    ? { kind: 'valid', operation: id }
    : { kind: 'invalid', operation: id, why }
}

const lower = (headers: ComposedRequest['headers']): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

function bodyIn({ body }: ComposedRequest): unknown {
  try {
    return body === undefined || body === '' ? undefined : JSON.parse(body)
  } catch {
    return undefined
  }
}

const parametersOf = ({ parameters }: Known, where: Parameter['in']) =>
  parameters.filter((parameter) => parameter.in === where)

function pathReasons(operation: Known, url: URL): string[] {
  const names = [...operation.path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? '')
  const values = (operation.pattern.exec(url.pathname) ?? []).slice(1).map(decodeURIComponent)
  return parametersOf(operation, 'path').flatMap((parameter) =>
    valueReasons(parameter, values[names.indexOf(parameter.name)]),
  )
}

function queryReasons(operation: Known, url: URL): string[] {
  const parameters = parametersOf(operation, 'query')
  const strange = [...url.searchParams.keys()].filter(
    (name, i, all) => !parameters.some((each) => each.name === name) || all.indexOf(name) !== i,
  )
  return [
    ...strange.map((name) => `query ${name}: expected no such parameter, or one of it`),
    ...parameters.flatMap((each) =>
      valueReasons(each, url.searchParams.get(each.name) ?? undefined),
    ),
  ]
}

function headerReasons(operation: Known, { headers, body }: ComposedRequest): string[] {
  const parameters = parametersOf(operation, 'header')
  const given = lower(headers)
  const allowed = [...OF_HTTP, ...parameters.map(({ name }) => name.toLowerCase())]
  const type = given['content-type']
  return [
    ...Object.keys(given)
      .filter((name) => !allowed.includes(name) && name !== 'user-agent')
      .map((name) => `header ${name}: expected no such header`),
    ...(body === undefined || type === 'application/json'
      ? []
      : ['header content-type: expected application/json']),
    ...(given.authorization?.startsWith('Bearer ')
      ? []
      : ['header authorization: expected Bearer']),
    ...parameters.flatMap((each) => valueReasons(each, given[each.name.toLowerCase()])),
  ]
}

/** As its schema means it: in a path, a query and a header everything is text. */
function typed(value: string, type: unknown): unknown {
  if (type === 'integer' && /^-?\d+$/.test(value)) return Number(value)
  return type === 'boolean' && /^(true|false)$/.test(value) ? value === 'true' : value
}

function valueReasons(parameter: Parameter, value: string | undefined): string[] {
  const { name, isRequired, type, validate } = parameter
  const at = `${parameter.in} ${name}`
  if (value === undefined) return isRequired ? [`${at}: expected a value`] : []
  return reasons(validate, typed(value, type), at)
}

function bodyReasons(operation: Known, request: ComposedRequest, body: unknown): string[] {
  const isGiven = request.body !== undefined && request.body !== ''
  if (operation.body === undefined) return isGiven ? ['body: expected none'] : []
  if (!isGiven) return operation.body.isRequired ? ['body: expected one'] : []
  if (body === undefined) return ['body: expected JSON']
  return reasons(operation.body.validate, body, 'body')
}

function reasons(validate: Validate, value: unknown, at: string): string[] {
  return validate(value).map(({ instancePath, message, params }) => {
    const more = 'unevaluatedProperty' in params ? ` ${String(params.unevaluatedProperty)}` : ''
    return `${at}${instancePath}: ${message}${more}`
  })
}

interface Asked {
  readonly url: URL
  readonly headers: Record<string, string>
  readonly body: unknown
}

interface Prose {
  readonly on: readonly string[]
  /** What a document says, word for word. */
  readonly words: string
  readonly holds: (asked: Asked) => boolean
}

const DAY_MS = 24 * 3600 * 1000

/** Every value below a member of this name. */
function valuesOf(body: unknown, name: string): unknown[] {
  if (typeof body !== 'object' || body === null) return []
  return Object.entries(body).flatMap(([key, value]) =>
    key === name ? [value] : valuesOf(value, name),
  )
}

const MOVING = ['orders.create', 'authorizations.capture', 'captures.refund']

/** What the schemas leave open and the documents say beside them. */
const PROSE: readonly Prose[] = [
  {
    on: ['search.get'],
    words: 'The maximum supported range is 31 days.',
    holds: ({ url }) => {
      const [from, to] = ['start_date', 'end_date'].map((name) =>
        Date.parse(url.searchParams.get(name) ?? ''),
      )
      return Number(to) >= Number(from) && Number(to) - Number(from) <= 31 * DAY_MS
    },
  },
  {
    on: ['orders.create'],
    words: 'PAYPAL_REQUEST_ID_REQUIRED',
    holds: ({ headers, body }) =>
      treeOf(body).payment_source === undefined || headers['paypal-request-id'] !== undefined,
  },
  {
    on: MOVING,
    words: 'CANNOT_BE_ZERO_OR_NEGATIVE',
    holds: ({ body }) => valuesOf(body, 'value').every((value) => Number(value) > 0),
  },
  {
    on: MOVING,
    words: 'DECIMAL_PRECISION',
    holds: ({ body }) =>
      valuesOf(body, 'value').every((value) => /^\d+(\.\d{1,2})?$/.test(String(value))),
  },
  {
    on: [...MOVING, 'orders.capture', 'orders.authorize', 'authorizations.void'],
    words: '<code>return=representation</code>',
    holds: ({ headers: { prefer } }) =>
      prefer === undefined || /^return=(minimal|representation)$/.test(prefer),
  },
  {
    on: ['payouts.post'],
    words: 'The ID type that identifies the payment receiver.',
    holds: ({ body }) =>
      valuesOf(body, 'recipient_type').every((type) =>
        ['EMAIL', 'PHONE', 'PAYPAL_ID'].includes(String(type)),
      ),
  },
  {
    on: ['payouts.post'],
    words: 'The value, which might be:<ul><li>An integer for currencies like `JPY`',
    holds: ({ body }) =>
      valuesOf(body, 'value').every((value) => /^(?!0+(\.0+)?$)\d+(\.\d+)?$/.test(String(value))),
  },
  {
    on: ['payouts.post'],
    words: 'The [three-character ISO-4217 currency code]',
    holds: ({ body }) =>
      valuesOf(body, 'currency').every((currency) => /^[A-Z]{3}$/.test(String(currency))),
  },
  {
    on: ['payouts.post'],
    words:
      'PayPal does not process duplicate payouts. If you specify a <code>sender_batch_id</code>',
    holds: ({ body }) => valuesOf(body, 'sender_batch_id').some((id) => id !== ''),
  },
]
