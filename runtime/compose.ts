/**
 * The one place where a gateway is put together, from a typed configuration and its secrets to a listening server.
 * It reads no environment and no file of its own accord, exits nothing and decides nothing. Parts start in the order in which they need each other and end in the opposite one.
 */

import type { KeyObject } from 'node:crypto'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { checkpointFile, checkpointLog } from './audit/checkpoint-file.ts'
import type { GatewaySigner } from './audit/signer.ts'
import { createClient } from './client/client.ts'
import type { Config } from './config.ts'
import type { Agents } from './core/agents.ts'
import { systemClock } from './core/clock.ts'
import type { TokenEngine } from './core/engine.ts'
import { Fault } from './core/errors.ts'
import { freshId, type RunId } from './core/ids.ts'
import type { Monitor, Policy } from './core/judges.ts'
import type { Ledger } from './core/ledger.ts'
import type { Merchants } from './core/merchants.ts'
import type { Rail } from './core/rail.ts'
import type { RunRecord } from './core/records.ts'
import { type Clock, nowSeconds } from './core/time.ts'
import type { FunnelBounds, FunnelDeps } from './funnel/context.ts'
import { createFunnel, type Funnel } from './funnel/funnel.ts'
import { createModelCounts, type ModelCounts } from './funnel/model-counts.ts'
import { assertPayable } from './gateway/bindings.ts'
import { openCheckpoints } from './gateway/checkpoints.ts'
import { finishIfClosed } from './gateway/finish.ts'
import { type Alarm, type GatewayDeps, payeeOf, subjectOf, type Timings } from './gateway/gate.ts'
import { createGateway, type Gateway } from './gateway/gateway.ts'
import { createMerchants } from './gateway/merchants.ts'
import type { Check } from './gateway/pipeline.ts'
import { askAtStart } from './gateway/ready.ts'
import { createReconciler, type ReconcileDelays, type Reconciler } from './gateway/reconcile.ts'
import { recordTerms } from './gateway/terms.ts'
import { repeat } from './gateway/timers.ts'
import { inProcess } from './http/in-process.ts'
import { createInterface } from './http/interface.ts'
import type { LoginCode } from './http/operators.ts'
import { refusalProblem } from './http/problems.ts'
import { publicKeysOfSigner } from './http/public-key.ts'
import type { Route } from './http/route.ts'
import type { LogEntry } from './http/server.ts'
import { STREAM_TIMINGS, type StreamTimings } from './http/stream.ts'
import { openLedger } from './ledger/open.ts'
import { agentOf, funnelModels, type ModelExchanges, monitorOf, watchingOf } from './models.ts'
import { createPolicy } from './policy/policy.ts'
import type { Transport } from './rails/exchange.ts'
import { openRail } from './rails/open.ts'
import type { SecretGuard } from './secrets/guard.ts'
import { createSecretGuard } from './secrets/guard.ts'
import { guardedLedger, guardedLog, guardedRail } from './secrets/guarded.ts'
import { type Credentials, revealed } from './secrets/resolve.ts'
import type { Secret } from './secrets/secret.ts'
import { createHolderKeys } from './tokens/holder-keys.ts'
import { createTokenEngine } from './tokens/pool.ts'
import { publishedRootKeys, type RetiringKey, type RootKeys } from './tokens/root-keys.ts'

/** What a gateway is made of besides its configuration. */
export interface GatewaySecrets {
  /** Signs block 0 of every token; `id` stands in the token. */
  readonly root: { readonly id: number; readonly key: KeyObject }
  /** Older root keys, in force until their grace ends, and after that only known by name. */
  readonly retiring?: readonly RetiringKey[]
  /** Holder keys of the runtime's own nodes derive from it. */
  readonly runtimeSecret: Uint8Array
  /** Signs receipts and seals. */
  readonly signing: Pick<GatewaySigner, 'kid' | 'key' | 'before'>
  readonly operatorToken: Secret
}

/** Parts that an evaluation or a test puts in the place of the configured ones. */
export interface Overrides {
  readonly clock?: Clock
  readonly ledger?: Ledger
  readonly engine?: TokenEngine
  readonly rail?: Rail
  readonly monitor?: Monitor | 'none'
  /** Its quota and canaries. */
  readonly watching?: NonNullable<GatewayDeps['watching']>
  readonly policy?: Policy
  readonly merchants?: Merchants
  /** The nine checks; an evaluation of what one check is worth replaces it with a pass. */
  readonly checks?: readonly Check[]
  readonly timings?: Partial<Timings>
  readonly delays?: Partial<ReconcileDelays>
  readonly agents?: Agents
  readonly bounds?: Partial<FunnelBounds>
  readonly streams?: Partial<StreamTimings>
  /** How often a checkpoint is signed, if anything has changed. */
  readonly checkpointMs?: number
  /** Nobody reconciles, sweeps or carries out runs: the test does. */
  readonly manual?: boolean
}

export interface ComposeOptions {
  readonly config: Config
  readonly secrets: GatewaySecrets
  /** What the rail needs, resolved for its host and environment, unless `overrides.rail` is given. */
  readonly credentials?: Credentials
  /** How the rail is reached, where its traffic is recorded or played again. */
  readonly transport?: Transport
  /** Where what is said with models is recorded, or played again from. */
  readonly exchanges?: ModelExchanges
  /** Whether the rail is asked at the start if it can be used: it takes a moment, and tests have theirs to themselves. */
  readonly askRail?: boolean
  /** Knows more secrets than those given here; made where it is absent. */
  readonly guard?: SecretGuard
  /** The file of the `sqlite` store; needed for that unless `overrides.ledger` is given. */
  readonly store?: string
  /** Where checkpoints are kept unless the configuration says, a file or `log`; absent in both: there are none. */
  readonly checkpoints?: string
  /** The store, or the clock, may be behind the last checkpoint, this once. */
  readonly acceptRollback?: boolean
  /** Signs and returns a mandate for `POST /demo`; absent: there is no demonstration. */
  readonly demoMandate?: () => string
  readonly log?: (entry: LogEntry) => void
  readonly overrides?: Overrides
}

/** A running gateway and the parts that it is made of. */
export interface Headgate {
  readonly app: FastifyInstance
  /** The public origin: what proofs are signed for. */
  readonly url: string
  /** Reachable from this machine without resolving a name. */
  readonly local: string
  readonly routes: readonly Route[]
  readonly ledger: Ledger
  readonly engine: TokenEngine
  readonly gateway: Gateway
  readonly reconciler: Reconciler
  readonly funnel: Funnel
  readonly signer: GatewaySigner
  newLoginCode(): LoginCode
  close(): Promise<void>
}

/** How often refusals before identity are written down, and checkpoints. */
const MINUTE_MS = 60_000

/**
 * Starts everything and listens. If a part cannot start, ends those that did and throws what it threw: a Fault such as
 * `config_invalid` or `store_locked`, or the system's `EADDRINUSE`.
 */
export async function compose(given: ComposeOptions): Promise<Headgate> {
  const guard = guardOf(given)
  const log = guardedLog(guard, given.log ?? (() => undefined))
  const options = { ...given, guard, log }
  const { config, secrets, overrides = {} } = options
  const clock = overrides.clock ?? systemClock()
  const closing: (() => Promise<void> | void)[] = []
  const endAll = async () => {
    for (const close of closing.splice(0).reverse()) await close()
  }
  let ending: Promise<void> | undefined
  // Whoever asks again waits for the same end.
  const closeAll = () => {
    ending ??= endAll()
    return ending
  }
  try {
    const rail = guardedRail(guard, railOf(options, clock))
    assertPayable(config.payees, rail)
    const ledger = guardedLedger(guard, overrides.ledger ?? (await openLedger(options)))
    closing.push(() => ledger.close())
    // Before anything is written: a store that was rolled back is left as it is.
    const checkpoints = await checkpointsOf(options, ledger, clock)
    const engine =
      overrides.engine ?? (await createTokenEngine({ rootKeys: rootKeysOf(secrets), clock }))
    closing.push(() => engine.close())
    if (options.askRail === true) await askAtStart(rail, log)
    const parts = { ledger, engine, clock, rail, merchants: merchantsOf(options) }
    const policy = overrides.policy ?? createPolicy(config.policy)
    const rootKeys = publishedRootKeys(rootKeysOf(secrets))
    await recordTerms(ledger, { rootKeys, policy: policy.version }, nowSeconds(clock))
    const gateway = createGateway({ ...gatewayDeps(options, parts, log), policy })
    const reconciler = createReconciler(reconcileDeps(options, parts, log))
    const signer = signerOf(options)
    if (!overrides.manual) {
      const failed = (error: unknown) => log(failureEntry('background', error))
      if (checkpoints !== undefined) {
        closing.push(() => checkpoints.write().catch(failed))
        const { checkpointMs = MINUTE_MS } = overrides
        closing.push(repeat(checkpointMs, () => checkpoints.write(), failed))
      }
      reconciler.start()
      closing.push(() => reconciler.close())
      closing.push(repeat(config.reconcile.sweepMs, () => gateway.sweep(), failed))
      closing.push(() => gateway.flushCounts())
      closing.push(repeat(MINUTE_MS, () => gateway.flushCounts(), failed))
    }
    const all = { ...options, ...parts, gateway, reconciler, signer, log, closing }
    const served = await serve(all)
    return { ...served, ledger, engine, gateway, reconciler, signer, close: closeAll }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** What was given, with something that knows every secret in it. */
type Guarded = ComposeOptions & { readonly guard: SecretGuard }

interface Parts {
  readonly ledger: Ledger
  readonly engine: TokenEngine
  readonly clock: Clock
  readonly rail: Rail
  readonly merchants: Merchants
}

type Log = (entry: LogEntry) => void

/** Everything that this gateway has and may never say: what it was given, and its own keys. */
function guardOf({ secrets, credentials = {}, guard }: ComposeOptions): SecretGuard {
  const all = guard ?? createSecretGuard()
  const resolved = Object.values(credentials).map(({ secret }) => secret)
  all.watch(secrets.operatorToken, ...resolved)
  all.watchBytes(secrets.runtimeSecret)
  for (const { key } of [secrets.root, secrets.signing]) {
    all.watchBytes(Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url'))
  }
  return all
}

const signerOf = ({ config, secrets }: ComposeOptions): GatewaySigner => ({
  ...secrets.signing,
  gateway: config.gateway.id,
})

async function checkpointsOf(options: ComposeOptions, ledger: Ledger, clock: Clock) {
  const file = options.config.audit.checkpoints ?? options.checkpoints
  if (file === undefined) return undefined
  const { acceptRollback = false, log = () => undefined } = options
  const signer = signerOf(options)
  const toLog = (jws: string) => log({ level: 'info', code: 'checkpoint', message: jws })
  const place = file === 'log' ? checkpointLog(toLog) : checkpointFile(file)
  return openCheckpoints({ ledger, clock, file: place, acceptRollback, signer })
}

const rootKeysOf = ({ root, retiring = [] }: GatewaySecrets): RootKeys => {
  return { current: { id: root.id, privateKey: root.key }, others: retiring }
}

const railOf = (
  { config, credentials, overrides, transport }: ComposeOptions,
  clock: Clock,
): Rail =>
  overrides?.rail ??
  openRail(config.rail, {
    clock,
    transport,
    credential: (name) => revealed(credentials, name),
  })

const merchantsOf = ({ config, overrides }: ComposeOptions): Merchants =>
  overrides?.merchants ?? createMerchants({ merchants: config.merchants })

function gatewayDeps(options: Guarded, parts: Parts, log: Log): Omit<GatewayDeps, 'policy'> {
  const { config, secrets, overrides = {} } = options
  return {
    ...parts,
    facts: {
      organisation: config.organisation,
      gatewayId: config.gateway.id,
      gatewayUrl: config.gateway.url,
      principals: config.principals,
      payees: config.payees,
      railName: parts.rail.name,
      agent: agentOf(config),
    },
    holderKeys: createHolderKeys(secrets.runtimeSecret),
    monitor:
      overrides.monitor === 'none'
        ? undefined
        : (overrides.monitor ?? monitorOf({ ...options, ...parts })),
    // A monitor that was composed in brings its own terms, or none.
    watching:
      overrides.watching ??
      (overrides.monitor === undefined ? watchingOf(config, options.exchanges) : {}),
    signing: secrets.signing,
    refundBudget: config.refunds.budget,
    ...(overrides.timings === undefined ? {} : { timings: overrides.timings }),
    ...(overrides.checks === undefined ? {} : { checks: overrides.checks }),
    onFault: (fault) => log({ level: 'error', code: fault.code, message: fault.message }),
    onAlarm: (alarm) => log(alarmEntry(alarm)),
  }
}

function reconcileDeps({ config, overrides }: ComposeOptions, parts: Parts, log: Log) {
  return {
    ...parts,
    refundBudget: config.refunds.budget,
    delays: { everyMs: config.reconcile.everyMs, ...overrides?.delays },
    onAlarm: (alarm: Alarm) => log(alarmEntry(alarm)),
    onError: (error: unknown) => log(failureEntry('reconcile', error)),
  }
}

const alarmEntry = (alarm: Alarm): LogEntry => ({
  level: 'error',
  code: alarm.kind,
  message: subjectOf(alarm),
})

const failureEntry = (code: string, error: unknown): LogEntry => ({
  level: 'error',
  code: error instanceof Fault ? error.code : code,
  message: error instanceof Error ? error.message : 'failed',
})

interface ToServe extends ComposeOptions, Parts {
  readonly guard: SecretGuard
  readonly gateway: Gateway
  readonly reconciler: Reconciler
  readonly signer: GatewaySigner
  readonly closing: (() => Promise<void> | void)[]
  readonly log: Log
}

/** The interface, the funnel that goes through it like everybody else, and then the port. */
async function serve(parts: ToServe) {
  const { config, gateway, signer, closing, demoMandate, overrides = {} } = parts
  const { listen } = config
  const carryOut = (run: RunRecord) => {
    if (!overrides.manual) funnel.start(run)
  }
  const modelCounts = createModelCounts(agentOf(config).engine)
  const served = await createInterface({
    ...parts,
    modelCounts: modelCounts.all,
    operatorToken: parts.secrets.operatorToken.reveal(),
    namedOperators: config.operators,
    streamTimings: { ...STREAM_TIMINGS, ...overrides.streams },
    payeeNames: new Map(config.payees.map(({ id, name }) => [id, name])),
    publicKeys: publicKeysOfSigner(signer),
    rootKeys: publishedRootKeys(rootKeysOf(parts.secrets)),
    url: config.gateway.url,
    consoleDir: join(import.meta.dirname, '../console'),
    carryOut,
    reconcile: () => parts.reconciler.runOnce(),
    ...(demoMandate === undefined ? {} : { demo: demoOf(gateway, demoMandate, carryOut) }),
  })
  closing.push(() => served.close())
  const funnel = createFunnel(funnelDeps({ ...parts, modelCounts }, served.app))
  const port = await served.listen({
    host: listen.host,
    port: listen.port,
    local: listen.mode === 'local',
    moreHosts: listen.hosts,
  })
  closing.push(() => funnel.close())
  if (!overrides.manual) await funnel.resume()
  const { app, routes, newLoginCode } = served
  const local = `http://127.0.0.1:${port}`
  return { app, routes, newLoginCode, funnel, url: config.gateway.url, local }
}

function funnelDeps(
  parts: ToServe & { readonly modelCounts: ModelCounts },
  app: FastifyInstance,
): FunnelDeps {
  const { config, clock, overrides, secrets, log } = parts
  const fetch = inProcess(app)
  return {
    ...parts,
    holderKeys: createHolderKeys(secrets.runtimeSecret),
    ...funnelModels(parts, overrides?.agents),
    onAsked: parts.modelCounts.add,
    connect: ({ token, holder }) =>
      createClient({ gateway: config.gateway.url, token, holder, fetch, clock }),
    // Names only: where a payee's money goes is nothing that a model reads.
    payees: config.payees.map(({ id, name }) => ({ id, name })),
    payeeOf,
    finish: (run, state, reason) => finishIfClosed(parts, run, state, reason),
    // An embedded store has one process: whoever has the file is the only one.
    ...(config.store.kind === 'firestore' ? { holder: freshId() } : {}),
    onFault: (error) => log(failureEntry('funnel', error)),
    ...(overrides?.bounds === undefined ? {} : { bounds: overrides.bounds }),
  }
}

const demoOf =
  (gateway: Gateway, mandate: () => string, carryOut: (run: RunRecord) => void) =>
  async (): Promise<RunId> => {
    const made = await gateway.createRun(mandate())
    if (!made.ok) throw refusalProblem(made)
    carryOut(made.run)
    return made.run.id
  }
