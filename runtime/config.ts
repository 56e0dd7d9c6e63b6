/**
 * Configuration: the strict reading of `headgate.json` and the only reader of the environment. Whatever is wrong
 * is reported all at once, each error as a sentence that names its field and never shows a value, because a value
 * may be a secret. Credentials come as NAME or NAME_FILE and never stand in the file.
 */
import { readFileSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { budgetsSchema, engineSchema, modelProblems, monitorSchema } from './config-models.ts'
import { digestSchema, identifierSchema } from './core/ids.ts'
import { JsonError, parseJson } from './core/json.ts'
import { jwksSchema, publicJwkSchema } from './core/keys.ts'
import { LIMITS } from './core/limits.ts'
import { isLoopback, loopbackUrlSchema } from './core/loopback.ts'
import { REFUND_BUDGETS } from './core/refund.ts'
import { DEFAULT_POLICY, policySchema } from './policy/rules.ts'
import { CREDENTIAL_NAMES, type CredentialName } from './secrets/catalogue.ts'
import type { Given, GivenCredentials } from './secrets/resolve.ts'
import { Secret } from './secrets/secret.ts'

/** Why a configuration was refused: every error, one sentence each. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** Names that records give to operators without one. */
const NOBODY = new Set(['token', 'session', 'unknown'])

const isOrigin = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && url.origin === text
}

const isHttpUrl = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

const originSchema = z
  .string()
  .max(200)
  .refine(isOrigin, 'expected an http or https origin such as http://headgate.localhost:8080')

const urlSchema = z.string().max(500).refine(isHttpUrl, 'expected an http or https URL')

const uniqueIds = (items: readonly { id: string }[]): boolean =>
  new Set(items.map((item) => item.id)).size === items.length

const listOf = <T extends z.ZodType<{ id: string }>>(schema: T) =>
  z.array(schema).max(10_000).refine(uniqueIds, 'expected each id once')

const milliseconds = (least: number, most: number) => z.number().int().min(least).max(most)

const listenSchema = z
  .strictObject({
    host: z.string().min(1).max(120).default('127.0.0.1'),
    port: z.number().int().min(0).max(65_535).default(8080),
    /** `public` is the explicit word without which no other interface than loopback is served. */
    mode: z.enum(['local', 'public']).default('local'),
    /** More names (host:port) under which the gateway may be called. */
    hosts: z.array(z.string().min(1).max(200)).max(32).default([]),
  })
  .refine((listen) => listen.mode === 'public' || isLoopback(listen.host), {
    message: 'expected a loopback address, or `"mode": "public"` beside it',
    path: ['host'],
  })

/** What moves money. Its credentials are secrets and come from the environment. */
const railSchema = z.discriminatedUnion('name', [
  /** Play money. Its key is HEADGATE_RAIL_KEY. */
  z.strictObject({ name: z.literal('simulated'), url: urlSchema }),
  /** RAZORPAY_KEY_ID, RAZORPAY_KEY_SECRET, RAZORPAY_WEBHOOK_SECRET. */
  z.strictObject({
    name: z.literal('razorpay'),
    /** `live` is the explicit word without which no key that moves real money is taken. */
    mode: z.enum(['test', 'live']).default('test'),
    /** Of RazorpayX: the account that payouts leave from. */
    accountNumber: z.string().regex(/^[0-9A-Za-z]{5,35}$/),
    /** Of a stand-in on this machine; absent: Razorpay. */
    url: loopbackUrlSchema.optional(),
  }),
  /** PAYPAL_CLIENT_ID, PAYPAL_CLIENT_SECRET, PAYPAL_WEBHOOK_ID. */
  z.strictObject({
    name: z.literal('paypal'),
    mode: z.enum(['sandbox', 'live']).default('sandbox'),
    url: loopbackUrlSchema.optional(),
  }),
])

const LOOPBACK_ADDRESS = /^(127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5}$/

/** Where the ledger is kept. */
const storeSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('sqlite'),
    /** The operator's word that never more than one instance runs, and that its disk outlives it. */
    oneInstance: z.boolean().default(false),
  }),
  z.strictObject({
    kind: z.literal('firestore'),
    /** Of Google Cloud. */
    projectId: z.string().regex(/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/),
    databaseId: z
      .string()
      .regex(/^(\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$/)
      .optional(),
    /** An emulator is spoken to without encryption or credentials, so it has to be on this machine. */
    emulatorHost: z
      .string()
      .regex(LOOPBACK_ADDRESS, 'expected host:port of an emulator on a loopback address')
      .optional(),
  }),
])

const timingsSchema = z.strictObject({
  /** How often unanswered payments are asked about at the rail. */
  everyMs: milliseconds(50, 3_600_000).default(5_000),
  /** How often expired nodes are closed. */
  sweepMs: milliseconds(50, 3_600_000).default(5_000),
})

const auditSchema = z.strictObject({
  /**
   * The file of checkpoints, beside the store unless it is named: on another volume it outlives the store. `log`: lines
   * of the gateway's own log, for where no disk lasts; nothing is then compared at a start.
   */
  checkpoints: z
    .string()
    .max(1_000)
    .refine((to) => to === 'log' || isAbsolute(to), 'expected an absolute path or `log`')
    .optional(),
})

const refundsSchema = z.strictObject({
  /** Whether what was refunded may be spent again at once, or waits for a person. */
  budget: z.enum(REFUND_BUDGETS).default('hold'),
})

const fileSchema = z.strictObject({
  organisation: identifierSchema,
  gateway: z.strictObject({ id: identifierSchema, url: originSchema }),
  principals: listOf(
    z.strictObject({ id: identifierSchema, keys: z.array(publicJwkSchema).min(1).max(16) }),
  ),
  /** People with a token of their own (`headgate keys operator`): what takes two operators takes two of these. */
  operators: listOf(
    z.strictObject({
      id: identifierSchema.refine((id) => !NOBODY.has(id), 'expected the name of a person'),
      tokenDigest: digestSchema,
    }),
  ).default([]),
  payees: listOf(
    z.strictObject({
      id: identifierSchema,
      name: z.string().min(1).max(LIMITS.titleChars),
      accounts: z.record(identifierSchema, z.string().min(1).max(200)),
    }),
  ),
  merchants: listOf(z.strictObject({ id: identifierSchema, url: urlSchema, jwks: jwksSchema })),
  rail: railSchema,
  policy: policySchema.default(DEFAULT_POLICY),
  monitor: monitorSchema.default({ kind: 'none' }),
  engine: engineSchema.default({ kind: 'scripted' }),
  budgets: budgetsSchema.prefault({}),
  listen: listenSchema.prefault({}),
  reconcile: timingsSchema.prefault({}),
  store: storeSchema.prefault({ kind: 'sqlite' }),
  audit: auditSchema.prefault({}),
  refunds: refundsSchema.prefault({}),
})

export type ConfigFile = z.input<typeof fileSchema>
export type Config = z.infer<typeof fileSchema>

/** What the environment says. Nothing else in the runtime reads it. */
export interface Environment {
  readonly dataDir?: string
  readonly configFile?: string
  /** The port that a platform gives to a container. */
  readonly port?: string
  /** Address of a running gateway, for the command line. */
  readonly url?: string
  readonly noColour: boolean
  /** Started by a script of npm, through a shell that passes no signal on. */
  readonly underNpm: boolean
  /** Cloud Run says so (its container contract): the disk is lost with the instance, and there may be several. */
  readonly onCloudRun: boolean
  /** Each as NAME, or as NAME_FILE with the path of a file; a value may still be a reference (`sm://`). */
  readonly credentials: GivenCredentials
}

type Variables = Readonly<Record<string, string | undefined>>

/** Reads the environment once. Throws ConfigError for a secret that is given twice, is empty or cannot be read. */
export function readEnvironment(variables: Variables = process.env): Environment {
  const problems: string[] = []
  const credentials: { [name in CredentialName]?: Given } = {}
  for (const name of CREDENTIAL_NAMES) {
    const found = readCredential(variables, name, problems)
    if (found !== undefined) credentials[name] = found
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const text = (name: string) => (variables[name] ? variables[name] : undefined)
  const dataDir = text('HEADGATE_DATA')
  const configFile = text('HEADGATE_CONFIG')
  const url = text('HEADGATE_URL')
  const port = text('PORT')
  return {
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(configFile === undefined ? {} : { configFile }),
    ...(url === undefined ? {} : { url }),
    ...(port === undefined ? {} : { port }),
    noColour: text('NO_COLOR') !== undefined,
    underNpm: text('npm_lifecycle_event') !== undefined,
    onCloudRun: text('K_SERVICE') !== undefined,
    credentials,
  }
}

function readCredential(
  variables: Variables,
  name: CredentialName,
  problems: string[],
): Given | undefined {
  const inline = variables[name]
  const file = variables[`${name}_FILE`]
  if (inline !== undefined && file !== undefined) {
    problems.push(`${name} and ${name}_FILE are both set: expected one of them`)
    return undefined
  }
  if (file === undefined) {
    if (inline === '') problems.push(`${name} is empty: expected a secret`)
    return inline ? { from: 'variable', value: new Secret(inline) } : undefined
  }
  try {
    const value = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    if (value !== '') return { from: 'file', value: new Secret(value) }
    problems.push(`${name}_FILE names an empty file: expected a secret`)
  } catch {
    problems.push(`${name}_FILE names a file that cannot be read`)
  }
  return undefined
}

/** Changes what a configuration says before it is checked: a rail on this machine in the place of its own. */
export type Change = (json: unknown) => unknown

/** Reads and checks one configuration file. Throws ConfigError with every error. */
export function readConfig(path: string, change?: Change): Config {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch {
    throw new ConfigError([
      `the configuration ${path} cannot be read: expected it there, or --config FILE`,
    ])
  }
  return parseConfig(bytes, change)
}

/** Checks configuration text. Throws ConfigError with every error. */
export function parseConfig(text: string | Uint8Array, change: Change = (json) => json): Config {
  let json: unknown
  try {
    json = change(parseJson(text))
  } catch (error) {
    const why = error instanceof JsonError ? error.message : 'it cannot be read'
    throw new ConfigError([`the configuration is not strict JSON: ${why}`])
  }
  const parsed = fileSchema.safeParse(json)
  if (!parsed.success)
    throw new ConfigError(
      parsed.error.issues.flatMap((issue) => issueSentences(issue, 'the configuration')),
    )
  const problems = crossChecks(parsed.data)
  if (problems.length > 0) throw new ConfigError(problems)
  return parsed.data
}

/** Throws ConfigError where the store would not outlive the place that it runs in. */
export function assertStoreLasts({ store }: Config, { onCloudRun }: Environment): void {
  if (!onCloudRun || store.kind !== 'sqlite' || store.oneInstance) return
  throw new ConfigError([
    '`store.kind` is wrong: expected firestore on Cloud Run, where two instances would be two ledgers, or ' +
      '`"oneInstance": true` beside sqlite where one instance is configured and its disk lasts',
  ])
}

/** What no single field can say about itself. */
function crossChecks(config: Config): string[] {
  const problems: string[] = []
  config.payees.forEach((payee, i) => {
    if (payee.accounts[config.rail.name] === undefined) {
      problems.push(
        `\`payees[${i}].accounts\` is wrong: expected an account on the rail ${config.rail.name}`,
      )
    }
  })
  const digests = new Set(config.operators.map(({ tokenDigest }) => tokenDigest))
  if (digests.size < config.operators.length) {
    problems.push('`operators` is wrong: expected a token of their own for each')
  }
  const secure = config.gateway.url.startsWith('https:')
  if (config.listen.mode === 'public' && !secure) {
    problems.push('`gateway.url` is wrong: expected https where `listen.mode` is public')
  }
  return [...problems, ...modelProblems(config)]
}

const fieldName = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((name, part) => {
    if (typeof part === 'number') return `${name}[${part}]`
    return name === '' ? String(part) : `${name}.${String(part)}`
  }, '')

/** What is wrong with one field of a document, in words that hold nothing of its values. */
export function issueSentences(issue: z.core.$ZodIssue, document: string): string[] {
  const field = fieldName(issue.path)
  const where = field === '' ? document : `\`${field}\``
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${where} has a field that is not known: \`${key}\``)
  }
  return [`${where} is wrong: ${expectation(issue)}`]
}

/** What was expected, never what was found. */
function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `expected ${issue.expected}`
  if (issue.code === 'invalid_union' && 'options' in issue && issue.options !== undefined) {
    return `expected one of ${issue.options.join(', ')}`
  }
  if (issue.code === 'invalid_value') return `expected one of ${issue.values.join(', ')}`
  if (issue.code === 'too_small') return `expected at least ${issue.minimum} ${unit(issue.origin)}`
  if (issue.code === 'too_big') return `expected at most ${issue.maximum} ${unit(issue.origin)}`
  if (issue.code === 'invalid_format') return `expected text of the documented form`
  if (issue.code === 'custom') return issue.message
  return 'expected the documented shape'
}

const unit = (origin: string): string =>
  origin === 'string' ? 'characters' : origin === 'array' ? 'entries' : ''

/** The environment of a child process: ours without any credential, with these names set. */
export function childEnvironment(set: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const ours: NodeJS.ProcessEnv = { ...process.env }
  for (const name of CREDENTIAL_NAMES) {
    delete ours[name]
    delete ours[`${name}_FILE`]
  }
  return { ...ours, ...set }
}
