import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../runtime/cli/world.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { run } from '../cli/io.ts'
import { type OperatorCalls, operatorOf } from '../support/operator.ts'

const START = join(import.meta.dirname, '../../runtime/start.mjs')

let world: World
let operator: OperatorCalls
let dir: string
const children: ChildProcess[] = []

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'rollback-'))
  world = await startWorld({ clock: systemClock() })
  operator = operatorOf(world)
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await world?.close()
  rmSync(dir, { recursive: true })
})

async function payOnce(): Promise<number> {
  const task = '1 wireless keyboard'
  const mandate = world.sign({ task, ceiling: 5_000_000, payees: ['volt-house'] })
  const { run: made } = (await operator.post('/runs', { mandate })) as { run: { id: string } }
  const { run: ended } = await operator.follow(made.id, (detail) => detail.run.state !== 'running')
  expect(ended.state).toBe('completed')
  return ended.totals.spent
}

const store = () => join(world.gateway.dataDir, 'headgate.db')
const checkpoints = () => join(world.gateway.dataDir, 'checkpoints.ndjson')

const count = () => readFileSync(checkpoints(), 'utf8').split('\n').length - 1

/** `headgate serve` over the world's own data folder, until it says something on stdout or ends. */
function serve(...more: string[]) {
  const { dataDir } = world.gateway
  const child = spawn(process.execPath, [START, 'serve', '--data', dataDir, '--json', ...more], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...world.rail.env },
  })
  children.push(child)
  let err = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  const ended = new Promise<{ code: number | null; err: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, err }))
  })
  const ready = new Promise<boolean>((resolve) => {
    child.stdout.once('data', () => resolve(true))
    ended.then(() => resolve(false))
  })
  return { child, ready, ended }
}

/** What it says when it does not serve. */
async function refusal() {
  const { ready, ended } = serve()
  expect(await ready).toBe(false)
  return ended
}

describe('a store that was put back from a backup', () => {
  it('is not served until an operator accepts that, and the log says who knew', async () => {
    const { dataDir } = world.gateway
    const backup = join(dir, 'backup.db')
    const log = join(dir, 'log.ndjson')
    const keys = join(dir, 'keys.json')
    expect(await payOnce()).toBeGreaterThan(0)
    const made = await run(['backup', '--data', dataDir, '--to', backup, '--json'])
    expect([made.code, made.json()]).toMatchObject([0, { to: backup }])
    expect((await run(['backup', '--data', dataDir, '--to', backup])).code).toBe(4)
    await run(['audit', 'export', '--out', log, '--data', dataDir])
    writeFileSync(keys, await operator.text('/.well-known/jwks.json'))
    await payOnce()
    await world.gateway.stop()
    expect(count()).toBe(1)
    const verify = (...more: string[]) =>
      run(['audit', 'verify', '--data', dataDir, '--json', ...more])
    expect((await verify()).json()).toMatchObject({ ok: true })

    // An auditor with an older export and the checkpoint sees it too.
    expect((await verify(log)).code).toBe(0)
    const older = await verify(log, '--checkpoint', checkpoints(), '--jwks', keys)
    expect([older.code, older.json()]).toMatchObject([1, { broken: { stream: 'gateway' } }])

    copyFileSync(backup, store())
    expect((await verify()).json()).toMatchObject({ ok: false, broken: { stream: 'gateway' } })
    const refused = await refusal()
    expect(refused.code).toBe(12)
    expect(refused.err).toMatch(
      /^headgate: checkpoint 1 saw event \d+ of stream gateway, and the store ends before it; .*--accept-rollback \[ledger_corrupt\]\n$/,
    )

    const accepted = serve('--accept-rollback')
    expect(await accepted.ready).toBe(true)
    expect(await operator.text('/audit')).toContain('accept_rollback')
    await payOnce()
    accepted.child.kill('SIGTERM')
    expect(await accepted.ended).toEqual({ code: 0, err: '' })
    expect(count()).toBe(3)

    await world.gateway.restart()
    await payOnce()
    const history = await run([
      ...['audit', 'verify', '--data', dataDir, '--checkpoint', checkpoints(), '--json'],
      ...['--jwks', keys],
    ])
    expect(history.json()).toMatchObject({
      ok: false,
      broken: { why: expect.stringMatching(/an operator accepted an older store/) },
    })
  })

  it('is not served either where the file of checkpoints has gone', async () => {
    await world.gateway.stop()
    rmSync(checkpoints())
    const refused = await refusal()
    expect([refused.code, refused.err]).toEqual([
      12,
      expect.stringMatching(/the log has a checkpoint \d+ and the file of checkpoints has none/),
    ])
    const accepted = serve('--accept-rollback')
    expect(await accepted.ready).toBe(true)
    accepted.child.kill('SIGTERM')
    await accepted.ended
  })
})
