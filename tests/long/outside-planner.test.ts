/** A planner that shares nothing with the gateway but a token and a key, as a process of its own. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { newPrivateJwk } from '../../runtime/cli/data-dir.ts'
import { startWorld, type World } from '../../runtime/cli/world.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { runIdSchema } from '../../runtime/core/ids.ts'
import { jwksSchema, privateKeyOf, rawPublicKey } from '../../runtime/core/keys.ts'
import { runDetailSchema } from '../../runtime/core/wire.ts'
import { type OperatorCalls, operatorOf } from '../support/operator.ts'

const PLANNER = join(import.meta.dirname, '../../agents/examples/outside-planner.ts')
const SHOPS = ['paper-lane', 'volt-house']
const CEILING = 5_000_000

const madeSchema = z.object({ run: z.object({ id: runIdSchema }), token: z.string() })
const reportSchema = z.strictObject({
  run: runIdSchema,
  nodes: z.array(z.object({ id: z.string(), kind: z.string(), ceiling: z.number() })),
  payments: z.array(z.looseObject({ verdict: z.string(), amount: z.number(), payee: z.string() })),
  outcome: z.string(),
})

let world: World
let operator: OperatorCalls

beforeAll(async () => {
  world = await startWorld({
    clock: systemClock(),
    config: {
      policy: { rules: [{ kind: 'per_payment_cap', id: 'dear', currency: 'INR', above: 60_000 }] },
    },
  })
  operator = operatorOf(world)
})
afterAll(async () => {
  await world?.close()
})

/** Signs a mandate that names a new holder, posts it, and leaves key and token in files for the planner. */
async function given(claims: { approvalAbove?: number } = {}) {
  const key = newPrivateJwk()
  const holder = rawPublicKey(privateKeyOf(key))
  const mandate = world.sign({
    task: 'Buy one thing',
    ceiling: CEILING,
    holder,
    payees: SHOPS,
    ...claims,
  })
  const { run, token } = madeSchema.parse(await operator.post('/runs', { mandate }))
  const files = {
    holder: join(world.dir, `${run.id}.jwk`),
    token: join(world.dir, `${run.id}.token`),
  }
  writeFileSync(files.holder, JSON.stringify(key), { mode: 0o600 })
  writeFileSync(files.token, token, { mode: 0o600 })
  return { run: run.id, files, secrets: [token, key.d] }
}

interface Ended {
  readonly code: number
  readonly out: string
  readonly errors: string
}

/** Starts the planner and waits for its end. */
function plan(
  files: { holder: string; token: string },
  ...more: readonly string[]
): Promise<Ended> {
  const args = ['--gateway', world.gateway.url, '--holder', files.holder, '--token', files.token]
  const node = ['--disable-warning=ExperimentalWarning', PLANNER, ...args, ...more]
  return new Promise((resolve) => {
    const child = execFile(process.execPath, node, (_error, out, errors) =>
      resolve({ code: child.exitCode ?? -1, out, errors }),
    )
  })
}

const paidIn = async (run: string) => {
  const { nodes } = runDetailSchema.parse(await operator.get(`/runs/${run}`))
  const root = nodes.find(({ parent }) => parent === undefined)
  const payments = nodes.flatMap(({ payment }) => (payment === undefined ? [] : [payment]))
  return { nodes, root, payments }
}

describe('a planner in a process of its own', () => {
  it('pays once by the rail’s own book, sends the rest home, and the log verifies', async () => {
    const { run, files, secrets } = await given()
    const before = await world.rail.book()
    const ended = await plan(files, '--want', 'stapler')
    expect({ code: ended.code, errors: ended.errors }).toEqual({ code: 0, errors: '' })
    const report = reportSchema.parse(JSON.parse(ended.out))
    expect(report).toMatchObject({ run, outcome: 'paid', payments: [{ verdict: 'allow' }] })
    expect(report.nodes.map(({ kind }) => kind)).toEqual(['planner', 'looker', 'leaf'])
    for (const secret of secrets) expect(ended.out).not.toContain(secret)

    const [payment] = report.payments
    const { calls, entries = [] } = await world.rail.book()
    const own = entries.slice(before.payments)
    expect([own.length, calls - before.calls]).toEqual([1, 1])
    expect(own[0]).toMatchObject({
      amount: payment?.amount,
      account: `account-of-${payment?.payee}`,
    })

    const { nodes, root } = await paidIn(run)
    const spent = payment?.amount ?? 0
    expect(root).toMatchObject({ standing: 'live', available: CEILING - spent, allotted: spent })
    for (const node of nodes.filter((each) => each !== root)) {
      expect(node).toMatchObject({ standing: 'closed', available: 0, reserved: 0 })
    }
    const jwks = jwksSchema.parse(await operator.get('/.well-known/jwks.json'))
    const log = (await operator.text(`/audit?run=${run}`)).trim().split('\n')
    expect(verifyExport(log, { run, jwks })).toMatchObject({ ok: true })
    expect(world.complaints()).toBe('')
  })

  it('works on below the same root when it is started again', async () => {
    const { run, files } = await given()
    for (let started = 1; started <= 2; started += 1) {
      expect((await plan(files, '--want', 'stapler')).code).toBe(0)
      expect((await paidIn(run)).payments).toHaveLength(started)
    }
  })

  it('waits for the person who must approve, and pays what that person saw', async () => {
    const { run, files } = await given({ approvalAbove: 1 })
    let hasEnded = false
    const planning = plan(files, '--want', 'stapler').finally(() => {
      hasEnded = true
    })
    await operator.follow(run, () => hasEnded)
    const ended = await planning
    expect(ended.code).toBe(0)
    expect((await paidIn(run)).payments).toMatchObject([{ state: 'settled' }])
  })

  it('stops at a person’s silence, a rule, and an empty shelf, with all the money back at the root', async () => {
    const tries = [
      [
        await given({ approvalAbove: 1 }),
        ['--want', 'stapler', '--patience', '0'],
        'wait_for_person',
      ],
      [await given(), ['--want', 'headset'], 'stop'],
      [await given(), ['--want', 'zeppelin'], 'nothing_found'],
    ] as const
    for (const [{ run, files }, more, outcome] of tries) {
      const ended = await plan(files, ...more)
      expect(ended).toMatchObject({ code: 1, errors: '' })
      expect(reportSchema.parse(JSON.parse(ended.out)).outcome).toBe(outcome)
      expect((await paidIn(run)).root).toMatchObject({ available: CEILING, allotted: 0 })
    }
  })

  it('says how it is used, and takes a wrong call for one', async () => {
    const { files } = await given()
    const help = await plan(files, '--help')
    expect(help).toMatchObject({ code: 0, errors: '' })
    expect(help.out).toContain('--patience')
    for (const wrong of [['--fast'], ['stapler'], ['--patience', 'long']]) {
      const ended = await plan(files, ...wrong)
      expect([ended.code, ended.out]).toEqual([2, ''])
      expect(ended.errors).toMatch(/^outside-planner: .+\n\nUsage: /)
    }
  })

  it('ends with a sentence where its key is not the one that the mandate names', async () => {
    const [ours, theirs] = [await given(), await given()]
    const ended = await plan({ ...ours.files, holder: theirs.files.holder })
    expect([ended.code, ended.out]).toEqual([2, ''])
    expect(ended.errors).toBe(
      'outside-planner: expected the key that the token names as its holder\n',
    )
  })
})
