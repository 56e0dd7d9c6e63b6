/**
 * One simulated world: the real gateway, funnel, reconciler and sweeper over the store in memory, in virtual time. A
 * crash drops everything of the process but the store, the rail's book, the shops and the people; another process is
 * then composed anew and resumes. Whatever waits, waits in the scheduler, so one seed is one history.
 */
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { steadyClock } from '../../runtime/core/clock.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { parseEvent } from '../../runtime/core/events.ts'
import type { NodeId, RunId } from '../../runtime/core/ids.ts'
import { publicJwkOf } from '../../runtime/core/keys.ts'
import type { CommandName, Commands, Ledger } from '../../runtime/core/ledger.ts'
import type { Timers } from '../../runtime/core/time.ts'
import { createFunnel, type Funnel } from '../../runtime/funnel/funnel.ts'
import type { Answer } from '../../runtime/gateway/answers.ts'
import { finishIfClosed } from '../../runtime/gateway/finish.ts'
import { type GatewayDeps, payeeOf } from '../../runtime/gateway/gate.ts'
import { createGateway, type Gateway } from '../../runtime/gateway/gateway.ts'
import { createReconciler } from '../../runtime/gateway/reconcile.ts'
import { repeat } from '../../runtime/gateway/timers.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { createPolicy } from '../../runtime/policy/policy.ts'
import {
  agentsOf,
  doorOf,
  holderKeys,
  keyFor,
  monitorOf,
  SHOPS,
  shopsOf,
  Tokens,
  URL,
} from './fakes.ts'
import { PRINCIPAL } from './people.ts'
import type { Planted } from './planted.ts'
import { RailBook } from './rail.ts'
import { Reference } from './reference.ts'
import { Random, Scheduler } from './scheduler.ts'
import { storeOf } from './store.ts'

export const START_MS = 1_800_000_000_000
const ORGANISATION = 'acme'
const SIGNING = { kid: 'g1', key: keyFor('gateway') }
const KEYS = holderKeys()
const PRINCIPAL_JWK = {
  ...publicJwkOf(PRINCIPAL.export({ format: 'jwk' }) as Parameters<typeof publicJwkOf>[0]),
  kid: 'p1',
}

export interface Process {
  readonly id: number
  isAlive: boolean
  parts: { readonly gateway: Gateway; readonly funnel: Funnel }
  readonly death: Promise<undefined>
  readonly die: () => void
}

export interface Counts {
  payments: number
  attempts: number
  crashes: number
  lostRequests: number
  lostReplies: number
  duplicates: number
  jumps: number
}

export class World {
  readonly seed: number
  readonly planted: Planted | undefined
  readonly random: Random
  readonly scheduler: Scheduler
  readonly tokens = new Tokens()
  readonly rail = new RailBook(this)
  readonly reference: Reference
  readonly ledger: Ledger
  readonly runs = new Set<RunId>()
  readonly frozen = new Set<NodeId | 'gateway'>()
  readonly counts: Counts = {
    payments: 0,
    attempts: 0,
    crashes: 0,
    lostRequests: 0,
    lostReplies: 0,
    duplicates: 0,
    jumps: 0,
  }
  isFaulty = true
  violation: string | undefined
  /** How far the wall clock is from true time. */
  wallOffsetMs = 0
  process: Process
  readonly #hasMonitor: boolean
  #made = 0

  constructor(seed: number, planted: Planted | undefined, keepLines: number) {
    this.seed = seed
    this.planted = planted
    this.random = new Random(seed)
    this.scheduler = new Scheduler(START_MS, keepLines)
    this.reference = new Reference(this.rail, (why) => this.fail(why))
    const transitions = planted?.transitions
    this.ledger = createMemoryLedger({
      organisation: ORGANISATION,
      ...(transitions === undefined ? {} : { transitions }),
    })
    this.#hasMonitor = this.random.chance(0.5)
    this.process = this.#compose(1)
  }

  wallMs(): number {
    return this.scheduler.nowMs + this.wallOffsetMs
  }

  fresh(): string {
    this.#made += 1
    return `${this.seed}-${this.#made}`
  }

  trace(line: string): void {
    this.scheduler.trace(line)
  }

  fail(why: string): void {
    if (this.violation !== undefined) return
    this.violation = why
    this.trace(`VIOLATION ${why}`)
  }

  never(): Promise<never> {
    return new Promise(() => undefined)
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.scheduler.after(ms, () => resolve()))
  }

  /** Something that the process waits for; a process that has died meanwhile never hears of it. */
  io<T>(
    process: Process,
    what: string,
    act: () => T | Promise<T>,
    ms = this.random.between(0, 4),
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      this.scheduler.after(ms, async () => {
        if (!process.isAlive) return
        try {
          const value = await act()
          if (process.isAlive) resolve(value)
        } catch (error) {
          if (!process.isAlive) return
          this.trace(`p${process.id} ${what} failed`)
          reject(error)
        }
      })
    })
  }

  /** A call from outside: its request or its reply may be lost, or the process may die; undefined is no answer. */
  async outside<T>(act: () => Promise<T>): Promise<T | undefined> {
    const { process, random } = this
    if (this.isFaulty && random.chance(0.03)) {
      this.counts.lostRequests += 1
      return undefined
    }
    try {
      const answer = await Promise.race([act(), process.death])
      const isLost = this.isFaulty && random.chance(0.05)
      if (isLost) this.counts.lostReplies += 1
      return isLost ? undefined : answer
    } catch {
      return undefined
    }
  }

  /** A verdict that an agent was told must have its record. */
  answered({ status, body }: Answer): void {
    const { paymentId, verdict, reason } = body as {
      paymentId?: never
      verdict?: string
      reason?: { code: string }
    }
    this.trace(`answer ${status} ${verdict ?? ''} ${reason?.code ?? ''}`)
    if (paymentId === undefined) return
    const isAllowed = verdict === 'allow'
    const hasRecord = isAllowed
      ? this.reference.payments.has(paymentId)
      : this.reference.refused.has(`${paymentId} ${reason?.code}`)
    if (!hasRecord) this.fail('a verdict has no record')
  }

  /** One command at the store, followed by the reference and compared with it. */
  async commit<K extends CommandName>(
    name: K,
    input: Commands[K]['input'],
  ): Promise<Commands[K]['result']> {
    const result = await this.ledger.execute(name, input)
    this.trace(`p${this.process.id} ${name} ${result.ok ? 'ok' : result.code}`)
    if (!result.ok) return result
    const run = 'created' in result ? result.created === true : true
    this.reference.apply(name, input, run)
    await this.compare()
    for (const id of name === 'reserve' ? this.reference.used : []) {
      const hold = await this.ledger.hold(id)
      if (hold?.state !== 'consumed') this.fail('an approval can be used again')
    }
    return result
  }

  /** Every account against the reference, and the sums that hold by themselves. */
  async compare(): Promise<void> {
    const sums = new Map<NodeId, number>()
    const { places } = this.reference
    for (const [id, place] of places) {
      const account = await this.ledger.account(id)
      if (account === undefined) return this.fail('an account is missing')
      const { ceiling, available, reserved, spent, allotted } = account
      if (ceiling !== available + reserved + spent + allotted)
        this.fail('an account does not add up')
      const parent = place.path.at(-2)
      if (parent !== undefined) sums.set(parent, (sums.get(parent) ?? 0) + ceiling)
      const isSame =
        ceiling === place.ceiling &&
        available === place.available &&
        reserved === place.reserved &&
        spent === place.spent &&
        allotted === place.allotted
      if (!isSame) this.fail(`an account is not what the reference says`)
      const standing = await this.ledger.standing(id)
      if (standing.state !== place.state) this.fail('a standing is not what the reference says')
    }
    for (const [id, place] of places) {
      if ((sums.get(id) ?? 0) !== place.allotted)
        this.fail('allotted is not the sum of the children')
    }
  }

  crash(): void {
    const { process } = this
    if (!process.isAlive) return
    this.counts.crashes += 1
    this.trace(`p${process.id} crashed`)
    process.isAlive = false
    process.die()
    this.process = this.#compose(process.id + 1)
    const { funnel } = this.process.parts
    void funnel.resume().catch(() => undefined)
  }

  #compose(id: number): Process {
    let die = () => {}
    const death = new Promise<undefined>((resolve) => {
      die = () => resolve(undefined)
    })
    const process = { id, isAlive: true, death, die } as Process
    const timers: Timers = {
      after: (ms, act) =>
        this.scheduler.after(ms, () => {
          if (process.isAlive) act()
        }),
    }
    const clock = steadyClock(
      () => this.wallMs(),
      () => this.scheduler.nowMs,
    )
    const onFault = (error: unknown) => {
      const isWrong = error instanceof Fault && ['internal', 'ledger_corrupt'].includes(error.code)
      const isBug = !(error instanceof Fault) && error instanceof Error
      if (isWrong || isBug)
        this.fail(
          `a fault of the gateway's own: ${(error as Error).message} ${((error as Error).cause as Error | undefined)?.stack ?? ''}`,
        )
    }
    const ledger = this.planted?.store?.(storeOf(this, process), this) ?? storeOf(this, process)
    const rail = this.planted?.rail?.(this.rail.port(process), this) ?? this.rail.port(process)
    const engine = this.tokens.port(this, process)
    const merchants = shopsOf(this, process)
    const parts = { ledger, rail, engine, merchants, clock, timers }
    const gateway = createGateway({
      ...gatewayDeps(),
      ...parts,
      onFault,
      ...(this.#hasMonitor ? { monitor: monitorOf(this, process) } : {}),
    })
    const reconciler = createReconciler({ ...parts, delays: { everyMs: 5_000 }, onError: onFault })
    const signer = { ...SIGNING, gateway: 'gw' }
    const funnel = createFunnel({
      ...parts,
      holderKeys: KEYS,
      agents: agentsOf(this, process),
      connect: doorOf(this, process),
      payees: SHOPS.map((name) => ({ id: name, name })),
      payeeOf,
      finish: (run, state, reason) => finishIfClosed({ ledger, clock, signer }, run, state, reason),
      onFault,
    })
    process.parts = { gateway, funnel }
    reconciler.start()
    repeat(
      10_000,
      () => this.planted?.sweep?.(ledger, gateway, clock) ?? gateway.sweep(),
      onFault,
      timers,
    )
    return process
  }

  /** At the end of everything: the log, the balances that it states, and the rail's own book. */
  async audit(): Promise<void> {
    const lines: string[] = []
    const balances = new Map<string, unknown>()
    for await (const line of exportLog(this.ledger)) {
      lines.push(line)
      const event = parseEvent((JSON.parse(line) as { body: string }).body)
      balances.set(event.stream, event.balances)
    }
    const verdict = verifyExport(lines)
    if (!verdict.ok) this.fail(`the log does not verify: ${verdict.broken?.why}`)
    for (const [id] of this.reference.places) {
      const account = await this.ledger.account(id)
      const stated = balances.get(id) as Record<string, number> | undefined
      const fields = ['ceiling', 'available', 'reserved', 'spent', 'allotted'] as const
      if (!fields.every((field) => stated?.[field] === account?.[field]))
        this.fail('the log states other balances')
    }
    const total = this.rail.total()
    for (const [id, paid] of this.reference.payments) {
      const moved = total.get(id) ?? 0
      if (paid.state === 'settled' && moved !== paid.settled)
        this.fail('settled is not what the rail moved')
      if (paid.state === 'released' && moved > 0) this.fail('money moved for a released payment')
    }
    for (const [id] of total)
      if (!this.reference.payments.has(id)) this.fail('the rail moved money of no payment')
    this.counts.payments = this.reference.payments.size
  }
}

const gatewayDeps = (): Omit<
  GatewayDeps,
  'ledger' | 'rail' | 'engine' | 'merchants' | 'clock'
> => ({
  facts: {
    organisation: ORGANISATION,
    gatewayId: 'gw',
    gatewayUrl: URL,
    principals: [{ id: 'ada', keys: [PRINCIPAL_JWK] }],
    payees: SHOPS.map((id) => ({ id, name: id, accounts: { simulated: `acc-${id}` } })),
    railName: 'simulated',
  },
  holderKeys: KEYS,
  policy: createPolicy({ rules: [{ kind: 'hourly_count', id: 'h', most: 40, effect: 'hold' }] }),
  signing: SIGNING,
})
