/**
 * One process of a world: the real gateway, funnel, reconciler and sweeper over ports that die with it. Before it is up
 * it compares the store with the last checkpoint, as every start does; one that may not start ends, and is tried again.
 */
import type { CheckpointFile } from '../../runtime/audit/checkpoint-file.ts'
import { steadyClock } from '../../runtime/core/clock.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { publicJwkOf } from '../../runtime/core/keys.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import type { Clock, Timers } from '../../runtime/core/time.ts'
import { createFunnel, type Funnel } from '../../runtime/funnel/funnel.ts'
import { openCheckpoints } from '../../runtime/gateway/checkpoints.ts'
import { finishIfClosed } from '../../runtime/gateway/finish.ts'
import { type GatewayDeps, payeeOf } from '../../runtime/gateway/gate.ts'
import { createGateway, type Gateway } from '../../runtime/gateway/gateway.ts'
import { createReconciler, type Reconciler } from '../../runtime/gateway/reconcile.ts'
import { repeat } from '../../runtime/gateway/timers.ts'
import { createPolicy } from '../../runtime/policy/policy.ts'
import { agentsOf, monitorOf, SHOPS, shopsOf } from './fakes.ts'
import { doorOf, PRINCIPAL, URL } from './people.ts'
import { QUICK } from './signatures.ts'
import { ORGANISATION } from './store.ts'
import { keyFor } from './tokens.ts'
import type { World } from './world.ts'

export interface Process {
  readonly id: number
  /** False from its death on: nothing that it waited for reaches it any more. */
  isAlive: boolean
  /** Whether it answers. */
  isUp: boolean
  readonly gateway: Gateway
  readonly funnel: Funnel
  /** Under which names it leases payments. */
  readonly leases: Set<string>
  readonly death: Promise<undefined>
  readonly die: () => void
}

const SIGNER = { kid: 'g1', key: keyFor('gateway'), gateway: 'gw', signatures: QUICK }
const PRINCIPAL_JWK = {
  ...publicJwkOf(PRINCIPAL.export({ format: 'jwk' }) as Parameters<typeof publicJwkOf>[0]),
  kid: 'p1',
}

const FACTS: GatewayDeps['facts'] = {
  organisation: ORGANISATION,
  gatewayId: SIGNER.gateway,
  gatewayUrl: URL,
  principals: [{ id: 'ada', keys: [PRINCIPAL_JWK] }],
  payees: SHOPS.map((id) => ({ id, name: id, accounts: { simulated: `acc-${id}` } })),
  railName: 'simulated',
}

const POLICY = createPolicy({
  rules: [{ kind: 'hourly_count', id: 'h', most: 25, effect: 'hold' }],
})

/** A minute in the product; sooner here, where a history is short. */
const CHECKPOINT_MS = 10_000
/** A quarter of an hour in the product. */
const OVERDUE_MS = 50_000

interface Parts {
  readonly ledger: Ledger
  readonly clock: Clock
  readonly timers: Timers
  readonly onFault: (error: unknown) => void
  readonly reconciler: Reconciler
}

export function startProcess(world: World, id: number): Process {
  const process = { id, isAlive: true, isUp: false, leases: new Set(), ...ending() } as Process
  const parts = compose(world, process)
  void open(world, process, parts)
  return process
}

function ending(): Pick<Process, 'death' | 'die'> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  return { death: promise, die: () => resolve(undefined) }
}

function compose(world: World, process: Process): Parts {
  const { planted } = world
  const timers: Timers = {
    after: (ms, act) =>
      world.scheduler.after(ms, () => {
        if (process.isAlive) act()
      }),
  }
  const clock = steadyClock(
    () => world.wallMs(),
    () => world.scheduler.nowMs,
  )
  const onFault = (error: unknown) => judgeFault(world, error)
  const [store, book] = [world.store.port(process), world.rail.port(process)]
  const ledger = planted?.store?.(store, world) ?? store
  const rail = planted?.rail?.(book, world) ?? book
  const engine = world.tokens.port(world, process)
  const merchants = shopsOf(world, process)
  const holderKeys = world.keys
  const refundBudget = world.seed % 2 === 0 ? 'return' : 'hold'
  const own = {
    ledger,
    rail,
    engine,
    merchants,
    clock,
    timers,
    holderKeys,
    onFault,
    refundBudget,
  } as const
  const { signatures } = SIGNER
  const gateway = createGateway({
    ...own,
    facts: FACTS,
    policy: POLICY,
    signing: SIGNER,
    signatures,
    ...(world.hasMonitor ? { monitor: monitorOf(world, process) } : {}),
  })
  const funnel = createFunnel({
    ...own,
    signatures,
    agents: agentsOf(world, process),
    connect: doorOf(world, process),
    payees: SHOPS.map((name) => ({ id: name, name })),
    payeeOf,
    finish: (run, state, reason) =>
      finishIfClosed({ ledger, clock, signer: SIGNER }, run, state, reason),
  })
  const reconciler = createReconciler({
    ...own,
    delays: { everyMs: 10_000, overdueMs: OVERDUE_MS },
    onError: onFault,
    onAlarm: ({ kind }) => {
      if (kind === 'overdue') world.count('overdue')
    },
  })
  Object.assign(process, { gateway, funnel })
  return { ledger, clock, timers, onFault, reconciler }
}

/** What is not one of the simulation's own troubles is a fault of the gateway's. */
function judgeFault(world: World, error: unknown): void {
  const isTrouble = error instanceof Fault && !['internal', 'ledger_corrupt'].includes(error.code)
  if (isTrouble || !(error instanceof Error)) return
  const { stack } = error.cause instanceof Error ? error.cause : error
  world.fail(`a fault of the gateway's own: ${error.message} ${stack}`)
}

async function open(world: World, process: Process, parts: Parts): Promise<void> {
  const { ledger, clock, timers, onFault, reconciler } = parts
  const file = fileOf(world, process)
  const compared = !world.checkpoints.isEmpty
  // Whoever has set the clock right knows that it was wrong.
  const acceptRollback = world.wallOffsetMs === 0 && world.wasClockRefused
  try {
    if (compared && world.random.chance(0.2)) await showOlder(world, process, parts)
    const deps = { ledger, clock, file, signer: SIGNER, acceptRollback }
    const checkpoints = await openCheckpoints(deps)
    if (compared) world.count('compared')
    world.wasClockRefused = false
    process.isUp = true
    reconciler.start()
    repeat(
      10_000,
      () => world.planted?.sweep?.(ledger, process.gateway, clock) ?? process.gateway.sweep(),
      onFault,
      timers,
    )
    repeat(CHECKPOINT_MS, () => checkpoints.write(), onFault, timers)
    await process.funnel.resume()
  } catch (error) {
    if (process.isUp) return
    world.wasClockRefused ||= error instanceof Fault && error.code === 'clock_untrusted'
    judgeFault(world, error)
    world.trace(`p${process.id} does not start`)
    timers.after(world.random.between(500, 2_000), () => world.replace(process))
  }
}

function fileOf(world: World, process: Process): CheckpointFile {
  const file = world.checkpoints.port(process)
  return world.planted?.checkpoints?.(file) ?? file
}

/** A store from which the last events of the gateway's stream are gone is refused at the start. */
async function showOlder(world: World, process: Process, parts: Parts): Promise<void> {
  const { ledger, clock } = parts
  const older: Ledger = {
    ...ledger,
    events: async (stream, after, limit) => {
      const events = await ledger.events(stream, after, limit)
      return stream === 'gateway' ? [] : events
    },
  }
  const file = fileOf(world, process)
  try {
    await openCheckpoints({ ledger: older, clock, file, signer: SIGNER })
    world.fail('a store that was rolled back was accepted')
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'ledger_corrupt') throw error
    world.count('rollbacksRefused')
  }
}
