/**
 * Credentials are planted, each rail is forced to fail in each way that it has, and then everything that left the gateway
 * or was kept by it is searched for them: the log, every answer and page, the metrics, the export, every file.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshId, sha256 } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import { exchange } from '../../runtime/rails/exchange.ts'
import {
  SHOP,
  signed,
  split,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from '../http/gateway.ts'
import { PLANTED_RAILS, type PlantedRail } from './planted-rails.ts'

/** Ways in which a value is looked for, worked out here and not by what is tested. */
function waysOf(value: string): readonly string[] {
  const bytes = Buffer.from(value)
  const aligned = [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift, 'x'), bytes]).toString('base64')
    const whole = text.slice(shift === 0 ? 0 : 4, 4 * Math.floor((shift + bytes.length) / 3))
    return [whole, whole.replaceAll('+', '-').replaceAll('/', '_')]
  })
  const hex = bytes.toString('hex')
  const percent = hex.replace(/../g, '%$&')
  return [
    value,
    encodeURIComponent(value),
    JSON.stringify(value).slice(1, -1),
    hex,
    percent,
    ...aligned,
  ]
}

interface Output {
  readonly from: string
  readonly text: string
}

/** Where a planted value stands, by the name of its variable; nothing of the value is said. */
function found(planted: ReadonlyMap<string, string>, outputs: readonly Output[]): string[] {
  return outputs.flatMap(({ from, text }) => {
    const folded = text.toLowerCase()
    return [...planted]
      .filter(([, value]) => waysOf(value).some((way) => folded.includes(way.toLowerCase())))
      .map(([name]) => `${name} in ${from}`)
  })
}

const filesBelow = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const READS = [
  '/',
  '/runs',
  '/audit',
  '/alarms',
  '/holds',
  '/metrics',
  '/health/ready',
  '/openapi.json',
  '/.well-known/jwks.json',
  '/.well-known/root-keys.json',
]

/** The gateway’s own, as they are written where they belong. */
function ownOf({ secrets, token }: TestGateway): [string, string][] {
  const privateOf = (key: typeof secrets.root.key) => String(key.export({ format: 'jwk' }).d)
  return [
    ['operator token', token],
    ['runtime secret', Buffer.from(secrets.runtimeSecret).toString('base64')],
    ['root key', privateOf(secrets.root.key)],
    ['signing key', privateOf(secrets.signing.key)],
  ]
}

describe.each(Object.keys(PLANTED_RAILS))('over the rail %s', (name) => {
  const dir = mkdtempSync(join(tmpdir(), 'planted-'))
  const outputs: Output[] = []
  let calls = 0
  /** Of each fault: how often its payment called the rail. */
  const reached = new Map<string, number>()
  let rail: PlantedRail
  let gateway: TestGateway
  let planted: Map<string, string>

  beforeAll(async () => {
    const start = PLANTED_RAILS[name]
    if (start === undefined) throw new Error('expected a rail of the table')
    rail = await start()
    const { config, account, credentials } = rail
    const railName = config.name
    gateway = await startGateway({
      config: {
        rail: config,
        // Nothing is held: each payment has to reach the rail.
        policy: { rules: [] },
        payees: [{ id: SHOP, name: 'The Shop', accounts: { [railName]: account } }],
      },
      real: {
        credentials,
        store: join(dir, 'headgate.db'),
        checkpoints: join(dir, 'checkpoints.ndjson'),
        transport: (asked) => {
          calls += 1
          return exchange({ ...asked, timeoutMs: Math.min(asked.timeoutMs, 1_500) })
        },
      },
      overrides: { timings: { railMs: 1_500 }, delays: { visibilityMs: 0, submitStartMs: 0 } },
    })
    planted = new Map(ownOf(gateway))
    for (const [variable, { secret }] of Object.entries(credentials)) {
      planted.set(variable, secret.reveal())
    }
    for (const fault of rail.faults) await suffer(fault)
  }, 120_000)
  afterAll(async () => {
    await gateway?.close()
    await rail?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  const keep = async (from: string, answer: Response) => {
    const headers = JSON.stringify([...answer.headers])
    outputs.push({ from, text: `${answer.status} ${headers} ${await answer.text()}` })
  }
  const reads = (path: string, accept = 'application/json') =>
    gateway.fetch(path, { headers: { authorization: `Bearer ${gateway.token}`, accept } })

  /** One payment, its reconciliation and a refund of it, with the rail failing in this way. */
  async function suffer(fault: string): Promise<void> {
    const { currency } = rail
    const root = await startOutsideRun(gateway, { currency, jti: freshId() })
    const quote = gateway.quote({ currency })
    const leaf = await split(gateway, root, 1, {
      kind: 'leaf',
      ceiling: minor(2_500),
      currency,
      quote: sha256(quote),
    })
    await rail.force(fault)
    const before = calls
    const paid = await signed(gateway, leaf, 'POST', '/payments', { quote })
    reached.set(fault, calls - before)
    const { paymentId } = (await paid.clone().json()) as { paymentId?: string }
    await keep(`the answer to a payment (${fault})`, paid)
    await keep(`a reconciliation (${fault})`, await gateway.asOperator('/internal/reconcile', {}))
    const refund = { amount: 100, idempotencyKey: freshId() }
    const asked = await gateway.asOperator(`/payments/${paymentId}/refunds`, refund)
    await keep(`a refund (${fault})`, asked)
    for (const path of [`/runs/${root.run}`, `/payments/${paymentId}`, '/health/ready']) {
      await keep(`${path} (${fault})`, await reads(path))
      await keep(`the page of ${path} (${fault})`, await reads(path, 'text/html'))
    }
  }

  it('reaches the rail with what was planted in each of them, so that there was something to leak', () => {
    expect([...reached.keys()]).toEqual(rail.faults)
    expect([...reached].filter(([, times]) => times === 0)).toEqual([])
    expect(outputs.length).toBeGreaterThan(rail.faults.length * 5)
  })

  it('shows none of it in any answer, page, header or metric', async () => {
    for (const path of READS) await keep(path, await reads(path))
    expect(found(planted, outputs)).toEqual([])
  })

  it('shows none of it in a line of the log', () => {
    const lines = gateway.logged.map((text, i) => ({ from: `line ${i} of the log`, text }))
    expect(found(planted, lines)).toEqual([])
  })

  it('keeps none of it in the log of events, the store or any other file', async () => {
    await gateway.close()
    const files = filesBelow(dir).map((from) => ({ from, text: readFileSync(from, 'latin1') }))
    expect(files.map(({ from }) => from)).toContain(join(dir, 'headgate.db'))
    expect(files.some(({ text }) => text.includes('submitted'))).toBe(true)
    expect(found(planted, files)).toEqual([])
  })
})

describe('the search itself', () => {
  it.each([
    ['as it is', (value: string) => value],
    ['in base64', (value: string) => Buffer.from(`user:${value}`).toString('base64')],
    ['in base64url', (value: string) => Buffer.from(`ab${value}`).toString('base64url')],
    ['in hexadecimal', (value: string) => Buffer.from(value).toString('hex').toUpperCase()],
    ['percent-encoded', (value: string) => encodeURIComponent(value)],
    ['as JSON', (value: string) => JSON.stringify({ value })],
  ])('finds what is written %s', (_way, write) => {
    const value = 'planted/"secret"+of=mine'
    const planted = new Map([['NAME', value]])
    expect(found(planted, [{ from: 'here', text: `x${write(value)}y` }])).toEqual(['NAME in here'])
    expect(found(planted, [{ from: 'here', text: 'nothing' }])).toEqual([])
  })
})
