/** The example agent as whoever reads the README starts it: a process that shares nothing with a gateway but two files. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { newPrivateJwk } from '../../runtime/cli/data-dir.ts'
import { startWorld, type World } from '../../runtime/cli/world.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { runIdSchema } from '../../runtime/core/ids.ts'
import { privateKeyOf, rawPublicKey } from '../../runtime/core/keys.ts'
import { ownNodeSchema, runDetailSchema } from '../../runtime/core/wire.ts'
import { type OperatorCalls, operatorOf } from '../support/operator.ts'
import { importsOf, read } from '../support/source.ts'

const EXAMPLE = 'agents/example.ts'
const CEILING = 1_000_000

const madeSchema = z.object({ run: z.object({ id: runIdSchema }), token: z.string() })
const askedSchema = ownNodeSchema.pick({ state: true, currency: true, amount: true }).loose()
const endedSchema = z.strictObject({
  outcome: z.string(),
  reason: z.looseObject({ advice: z.string() }).optional(),
  receipt: z.string().optional(),
  left: z.number(),
  payments: ownNodeSchema.shape.payments,
})

let world: World
let operator: OperatorCalls
beforeAll(async () => {
  world = await startWorld({ clock: systemClock(), config: { policy: { rules: [] } } })
  operator = operatorOf(world)
})
afterAll(async () => {
  await world?.close()
})

/** A run whose root somebody else holds: its token and key in files. */
async function given(claims: { approvalAbove?: number } = {}) {
  const key = newPrivateJwk()
  const holder = rawPublicKey(privateKeyOf(key))
  const mandate = world.sign({ task: 'Buy one thing', ceiling: CEILING, holder, ...claims })
  const { run, token } = madeSchema.parse(await operator.post('/runs', { mandate }))
  const files = { key: join(world.dir, `${run.id}.jwk`), token: join(world.dir, `${run.id}.token`) }
  writeFileSync(files.key, JSON.stringify(key), { mode: 0o600 })
  writeFileSync(files.token, token, { mode: 0o600 })
  return { run: run.id, files, secrets: [token, key.d] }
}

function start(files: { key: string; token: string }, want: string) {
  const given = ['--gateway', world.gateway.url, '--token', files.token, '--key', files.key]
  const node = ['--disable-warning=ExperimentalWarning', EXAMPLE, ...given, '--want', want]
  return new Promise<{ code: number; lines: unknown[]; out: string; errors: string }>((resolve) => {
    const child = execFile(process.execPath, node, (_error, out, errors) => {
      const lines = out
        .split('\n')
        .filter(Boolean)
        .map((line): unknown => JSON.parse(line))
      resolve({ code: child.exitCode ?? -1, lines, out, errors })
    })
  })
}

const rootOf = async (run: string) => {
  const detail = runDetailSchema.parse(await operator.get(`/runs/${run}`))
  return { state: detail.run.state, root: detail.nodes[0] }
}

describe('the example agent', () => {
  it('is short, and uses the client alone', () => {
    expect(read(EXAMPLE).trimEnd().split('\n').length).toBeLessThan(60)
    const foreign = importsOf(EXAMPLE).filter((name) => !name.startsWith('node:'))
    expect(foreign.filter((name) => !name.startsWith('runtime/client/'))).toEqual([])
    expect(foreign.length).toBeGreaterThan(0)
  })

  it('pays once by the rail’s own book, says what is left, and gives it back', async () => {
    const { run, files, secrets } = await given()
    const before = await world.rail.book()
    const { code, lines, out, errors } = await start(files, 'stapler')
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    for (const secret of secrets) expect(out).not.toContain(secret)
    const asked = askedSchema.parse(lines[0])
    expect(asked).toMatchObject({ state: 'live', amount: { least: 1, most: CEILING } })
    const ended = endedSchema.parse(lines[1])
    const [payment] = ended.payments
    expect(ended).toMatchObject({
      outcome: 'allow',
      left: CEILING - (payment?.amount ?? 0),
      payments: [{ verdict: 'allow', state: 'settled' }],
    })
    expect(ended.receipt?.split('.')).toHaveLength(3)

    const { calls, entries = [] } = await world.rail.book()
    const own = entries.slice(before.payments)
    expect([own.length, calls - before.calls]).toEqual([1, 1])
    expect(own[0]).toMatchObject({
      amount: payment?.amount,
      account: `account-of-${payment?.payee}`,
    })
    expect(await rootOf(run)).toMatchObject({
      state: 'completed',
      root: { standing: 'closed', available: ended.left, allotted: payment?.amount, reserved: 0 },
    })
  })

  it('waits for the person who must approve', async () => {
    const { run, files } = await given({ approvalAbove: 1 })
    let hasEnded = false
    const buying = start(files, 'stapler').finally(() => {
      hasEnded = true
    })
    await operator.follow(run, () => hasEnded)
    const { code, lines } = await buying
    expect([code, endedSchema.parse(lines[1]).outcome]).toEqual([0, 'allow'])
  })

  it('gives everything back where there is nothing to buy', async () => {
    const { run, files } = await given()
    const { code, lines } = await start(files, 'zeppelin')
    const { outcome, left, payments } = endedSchema.parse(lines[1])
    expect({ code, outcome, left, payments }).toEqual({
      ...{ code: 1, outcome: 'nothing found', left: CEILING, payments: [] },
    })
    expect((await rootOf(run)).root).toMatchObject({ standing: 'closed', spent: 0 })
  })

  it('says in a line what is wrong, and what to do, where it cannot begin', async () => {
    const [ours, theirs] = [await given(), await given()]
    const mixed = await start({ ...ours.files, key: theirs.files.key }, 'stapler')
    const error = 'expected the key that the token names as its holder'
    expect(mixed).toMatchObject({ code: 2, lines: [{ error }] })
    await start(theirs.files, 'zeppelin')
    const closed = await start(theirs.files, 'stapler')
    expect(closed).toMatchObject({ code: 2, lines: [{ state: 'closed' }, { advice: 'stop' }] })
  })
})
