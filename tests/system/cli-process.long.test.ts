import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../runtime/cli/world.ts'
import { newKey, publicJwk } from '../http/gateway.ts'

const START = join(import.meta.dirname, '../../runtime/start.mjs')

let dir: string
let taken: Server
let takenPort = 0
const children: ChildProcess[] = []

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'process-'))
  writeFileSync(join(dir, 'rail.key'), 'a-key-of-twenty-letters', { mode: 0o600 })
  taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const address = taken.address()
  if (address !== null && typeof address === 'object') takenPort = address.port
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => {
  taken.close()
  rmSync(dir, { recursive: true })
})

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface Started {
  readonly child: ChildProcess
  /** The first line on stdout. */
  readonly ready: Promise<string>
  readonly ended: Promise<Ended>
}

interface StartOptions {
  readonly node?: readonly string[]
  /** A pipe that the test writes to; otherwise there is nothing. */
  readonly stdin?: 'pipe'
}

function start(args: readonly string[], options: StartOptions = {}): Started {
  const child = spawn(process.execPath, [...(options.node ?? []), START, ...args], {
    stdio: [options.stdin ?? 'ignore', 'pipe', 'pipe'],
    // As a file: a plain variable is served too, and warned of.
    env: { ...process.env, HEADGATE_RAIL_KEY_FILE: join(dir, 'rail.key') },
  })
  children.push(child)
  let out = ''
  let err = ''
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  const ready = new Promise<string>((resolve) => {
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      out += text
      if (out.includes('\n')) resolve(out.split('\n', 1)[0] ?? '')
    })
  })
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, out, err }))
  })
  return { child, ready, ended }
}

let made = 0

async function place(change: object = {}) {
  made += 1
  const data = join(dir, `data-${made}`)
  const config = join(dir, `config-${made}.json`)
  const port = await freePort()
  const key = publicJwk(newKey(), 'k')
  const file = {
    organisation: 'acme',
    gateway: { id: 'headgate.acme', url: `http://127.0.0.1:${port}` },
    principals: [{ id: 'alice', keys: [key] }],
    payees: [{ id: 'shop', name: 'Shop', accounts: { simulated: 'acc' } }],
    merchants: [],
    rail: { name: 'simulated', url: 'http://127.0.0.1:9' },
    listen: { port },
    ...change,
  }
  writeFileSync(config, JSON.stringify(file))
  return { data, config, args: ['serve', '--data', data, '--config', config, '--json'] }
}

/** One sentence for a person, on stderr alone. */
const sentences = ({ out, err }: Ended) => [out, err.trim().split('\n').length]

describe('serving ends with one sentence and a code of its own', () => {
  it('where the port is taken', async () => {
    const { args } = await place({ listen: { port: takenPort } })
    const ended = await start(args).ended
    expect([ended.code, ...sentences(ended)]).toEqual([7, '', 1])
    expect(ended.err).toMatch(/port is taken/)
  })

  it('where the data folder lies below a file', async () => {
    const { config } = await place()
    const ended = await start(['serve', '--data', join(config, 'x'), '--config', config]).ended
    expect([ended.code, ...sentences(ended)]).toEqual([4, '', 1])
  })

  it('where the store is of a newer version', async () => {
    const { data, args } = await place()
    mkdirSync(data, { mode: 0o700 })
    const db = new DatabaseSync(join(data, 'headgate.db'))
    db.exec('PRAGMA application_id = 0x48444754; PRAGMA user_version = 999; CREATE TABLE t (x)')
    db.close()
    const ended = await start(args).ended
    expect([ended.code, ...sentences(ended)]).toEqual([5, '', 1])
    expect(ended.err).toMatch(/newer headgate/)
  })

  it('where the store is something else', async () => {
    const { data, args } = await place()
    mkdirSync(data, { mode: 0o700 })
    writeFileSync(
      join(data, 'headgate.db'),
      'not a database, but long enough to look at'.repeat(99),
    )
    const ended = await start(args).ended
    expect([ended.code, ...sentences(ended)]).toEqual([4, '', 1])
  })

  it('where the configuration is wrong, with every error', async () => {
    const { args } = await place({ organisation: '', listen: { port: -1 } })
    const ended = await start(args).ended
    expect([ended.code, ...sentences(ended)]).toEqual([3, '', 2])
    expect(ended.err).toMatch(/`organisation`.*\n.*`listen.port`/)
  })

  it('where the data folder is another organisation’s', async () => {
    const [ours, theirs] = [await place(), await place({ organisation: 'other' })]
    mkdirSync(ours.data, { mode: 0o700 })
    const identity = { organisation: 'other', gateway: 'headgate.acme' }
    writeFileSync(join(ours.data, 'gateway.json'), JSON.stringify(identity), { mode: 0o600 })
    const ended = await start(ours.args).ended
    expect([ended.code, ...sentences(ended)]).toEqual([4, '', 1])
    expect(ended.err).toMatch(/another organisation/)
    const again = start([...theirs.args, '--data', ours.data])
    expect(JSON.parse(await again.ready)).toHaveProperty('url')
  })

  it('where there is no configuration', async () => {
    const ended = await start(['serve', '--data', join(dir, 'empty')]).ended
    expect([ended.code, ...sentences(ended)]).toEqual([3, '', 1])
  })

  it('under a Node that is too old, before any of our code is read', async () => {
    const older = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})`
    const ended = await start(['serve'], { node: ['--import', older] }).ended
    expect([ended.code, ...sentences(ended)]).toEqual([14, '', 1])
    expect(ended.err).toMatch(/Node 24/)
  })
})

describe('a command that reads stdin', () => {
  it('waits for a pipe whose other side is slow to write', async () => {
    const { child, ended } = start(['audit', 'verify', '-'], { stdin: 'pipe' })
    // Long enough that the command has asked for it, and in two pieces.
    for (const piece of ['no e', 'vent\n']) {
      await sleep(1_500)
      child.stdin?.write(piece)
    }
    child.stdin?.end()
    const { code, out, err } = await ended
    expect([code, err]).toEqual([1, 'headgate: the log is broken\n'])
    expect(out).toMatch(/broken at line 1 /)
  })
})

describe('a gateway that serves', () => {
  it('says where in one line, keeps others off its data, and ends politely', async () => {
    const { args } = await place()
    const first = start(args)
    const ready = JSON.parse(await first.ready) as { url: string; loginCode: string; pid: number }
    expect(ready.loginCode).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/)
    expect(ready.pid).toBe(first.child.pid)
    expect((await fetch(`${ready.url}/health/live`)).status).toBe(200)
    // The rail is not there, and that is said.
    const health = await fetch(`${ready.url}/health/ready`)
    expect([health.status, await health.json()]).toEqual([
      503,
      { state: 'not_ready', failing: ['rail'] },
    ])

    const second = await start([...args, '--port', String(await freePort())]).ended
    expect([second.code, ...sentences(second)]).toEqual([6, '', 1])

    first.child.kill('SIGTERM')
    const ended = await first.ended
    expect([ended.code, ...sentences(ended).slice(1)]).toEqual([0, 1])
    expect(JSON.parse(ended.err)).toMatchObject({ level: 'warn', code: 'rail_unconfigured' })
  })

  it('takes its time to end however often it is told at once, and leaves a checkpoint', async () => {
    const { args, data } = await place()
    const served = start(args)
    await served.ready
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM', 'SIGINT'] as const)
      served.child.kill(signal)
    expect((await served.ended).code).toBe(0)
    const kept = readFileSync(join(data, 'checkpoints.ndjson'), 'utf8')
    expect(kept).toMatch(/^\{"checkpoint":"[\w.-]+"\}\n$/)
  })

  it('leaves its data free when it is killed', async () => {
    const { args } = await place()
    const first = start(args)
    await first.ready
    first.child.kill('SIGKILL')
    await first.ended
    const again = start(args)
    expect(JSON.parse(await again.ready)).toHaveProperty('url')
  })
})
