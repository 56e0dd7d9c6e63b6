/**
 * The service as `deploy/service.yaml` describes it: every name in it is one that the product reads, and a gateway starts
 * from exactly those files and variables, read-only, as a user who may write nowhere, over Firestore's stand-in.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../runtime/cli/world.ts'
import { readEnvironment } from '../../runtime/config.ts'
import { newKey, publicJwk } from '../http/gateway.ts'
import { type FirestoreDouble, startFirestoreDouble } from '../support/firestore/double.ts'

const ROOT = join(import.meta.dirname, '../..')
const START = join(ROOT, 'runtime/start.mjs')
const service = readFileSync(join(ROOT, 'deploy/service.yaml'), 'utf8')

/** Values of a key, in the order of the file; a value may be quoted. */
const valuesOf = (key: string): string[] =>
  [...service.matchAll(new RegExp(`^[ -]*${key}: "?([^"\\n]+?)"?$`, 'gm'))].map(([, v = '']) => v)

/** `name`, `value` pairs of the container. */
const environment = [...service.matchAll(/- name: (HEADGATE_\w+)\n +value: (\S+)$/gm)].map(
  ([, name = '', value = '']) => [name, value] as const,
)
/** Each mounted file, by its whole path. */
const files = [...service.matchAll(/- name: (\w+)\n +mountPath: (\S+)$/gm)].map(
  ([, name = '', mountPath = '']) => {
    const volume = service.slice(service.indexOf(`- name: ${name}\n          secret:`))
    return `${mountPath}/${/path: (\S+)/.exec(volume)?.[1]}`
  },
)

describe('deploy/service.yaml', () => {
  it('is indented by twos, with no tab and each top field once', () => {
    for (const line of service.split('\n')) expect(line).toMatch(/^( {2})*[^\s]|^$/)
    const top = [...service.matchAll(/^(\w+):/gm)].map(([, name]) => name)
    expect(top).toEqual(['apiVersion', 'kind', 'metadata', 'spec'])
  })

  it('names only variables and files that the product reads and that it mounts', () => {
    expect(environment.length).toBe(3)
    const dir = mkdtempSync(join(tmpdir(), 'names-'))
    for (const [name, value] of environment) {
      const file = join(dir, name)
      writeFileSync(file, 'x')
      expect(files).toContain(value)
      const read = readEnvironment({ [name]: file })
      const plain = readEnvironment({})
      expect([name, JSON.stringify(read)]).not.toEqual([name, JSON.stringify(plain)])
    }
    rmSync(dir, { recursive: true })
    expect(files).toHaveLength(3)
  })

  it('keeps a processor, an instance and probes that only the process itself can fail', () => {
    expect(valuesOf('run.googleapis.com/cpu-throttling')).toEqual(['false'])
    expect(Number(valuesOf('autoscaling.knative.dev/minScale')[0])).toBeGreaterThan(0)
    expect(Number(valuesOf('autoscaling.knative.dev/maxScale')[0])).toBeGreaterThan(1)
    expect(valuesOf('path').filter((path) => path.startsWith('/'))).toEqual([
      '/health/live',
      '/health/live',
    ])
    expect(valuesOf('serviceAccountName')).toHaveLength(1)
    expect(valuesOf('containerPort')).toEqual(['8080'])
  })
})

const NOBODY = 65_534
const asNobody = process.geteuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function run(args: readonly string[], env: Record<string, string>, more: object = {}) {
  const child = spawn(process.execPath, [START, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '', METADATA_SERVER_DETECTION: 'none', ...env },
    ...more,
  })
  let [out, err] = ['', '']
  const ready = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      if (out.includes('\n')) resolve()
    })
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, out, err }))
  })
  return { child, ready, ended }
}

/** What a prober sees, by whatever name it calls. */
function probe(port: number, path: string, host: string): Promise<readonly [number, string]> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, headers: { host } }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      answer.on('end', () => resolve([answer.statusCode ?? 0, body]))
    })
    sent.on('error', reject).end()
  })
}

describe('a gateway without a disk', () => {
  let double: FirestoreDouble
  let mounts: string
  let port: number
  const children: ChildProcess[] = []

  /** The variables of the file, with its mounted files below a folder of ours, and what Cloud Run adds. */
  const variables = () => ({
    ...Object.fromEntries(environment.map(([name, value]) => [name, join(mounts, value)])),
    K_SERVICE: 'headgate',
    PORT: String(port),
    HEADGATE_DATA: '/data',
  })

  const mount = (path: string, text: string) => {
    const file = join(mounts, path)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, text)
    chmodSync(file, 0o444)
  }

  const configOf = (change: object = {}) => ({
    organisation: 'acme',
    gateway: { id: 'headgate.acme', url: 'https://pay.acme.example' },
    principals: [{ id: 'alice', keys: [publicJwk(newKey(), 'k')] }],
    payees: [{ id: 'shop', name: 'Shop', accounts: { simulated: 'acc' } }],
    merchants: [],
    rail: { name: 'simulated', url: 'http://127.0.0.1:9' },
    listen: { host: '0.0.0.0', mode: 'public' },
    store: { kind: 'firestore', projectId: 'acme-money', emulatorHost: double.host },
    ...change,
  })

  const sealFolders = (dir: string, mode: number) => {
    for (const name of ['.', ...readdirSync(dir, { recursive: true }).map(String)]) {
      const path = join(dir, name)
      if (statSync(path).isDirectory()) chmodSync(path, mode)
    }
  }

  beforeAll(async () => {
    double = await startFirestoreDouble()
    mounts = mkdtempSync(join(tmpdir(), 'mounts-'))
    port = await freePort()
    const [data, out] = [join(mounts, 'once'), join(mounts, 'bundle.json')]
    const made = run(['keys', 'bundle', '--data', data, '--out', out], {})
    expect((await made.ended).code).toBe(0)
    mount('/secrets/keys/secrets.json', readFileSync(out, 'utf8'))
    mount('/secrets/rail/rail-key', 'a-key-of-twenty-letters\n')
    mount('/config/headgate.json', JSON.stringify(configOf()))
    rmSync(data, { recursive: true })
    sealFolders(mounts, 0o555)
  }, 60_000)
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })
  afterAll(async () => {
    sealFolders(mounts, 0o755)
    rmSync(mounts, { recursive: true })
    await double.close()
  })

  const serve = (change: Record<string, string> = {}) => {
    const started = run(['serve'], { ...variables(), ...change }, { cwd: ROOT, ...asNobody })
    children.push(started.child)
    return started
  }

  it('serves at PORT from read-only secrets, is probed by any name, keeps checkpoints in its log, and ends when told', async () => {
    const { child, ready, ended } = serve()
    await Promise.race([ready, ended.then(({ err }) => Promise.reject(new Error(err)))])
    for (const host of ['10.0.0.3:8080', 'pay.acme.example', 'localhost']) {
      expect(await probe(port, '/health/live', host)).toEqual([200, '{"state":"live"}'])
      // The rail is nowhere in this test; everything else can be used.
      expect(await probe(port, '/health/ready', host)).toEqual([
        503,
        '{"state":"not_ready","failing":["rail"]}',
      ])
    }
    expect((await probe(port, '/runs', '10.0.0.3:8080'))[0]).not.toBe(401)
    expect((await probe(port, '/runs', 'pay.acme.example'))[0]).toBe(401)
    child.kill('SIGTERM')
    const { code, out, err } = await ended
    expect(code).toBe(0)
    expect(out).toBe('headgate is ready at https://pay.acme.example\n')
    const lines = err
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { code: string; message: string })
    expect(lines.find((line) => line.code === 'checkpoint')?.message).toMatch(
      /^[\w-]+\.[\w-]+\.[\w-]+$/,
    )
    const secrets = readFileSync(join(mounts, 'secrets/keys/secrets.json'), 'utf8')
    const { operatorToken } = JSON.parse(secrets) as { operatorToken: string }
    expect(out + err).not.toContain(operatorToken)
  }, 60_000)

  it.each([
    [
      'a store on its own disk',
      { store: { kind: 'sqlite' } },
      /`store.kind` is wrong: expected firestore on Cloud Run.*"oneInstance": true/,
    ],
    [
      'one instance with a disk, but no data folder',
      { store: { kind: 'sqlite', oneInstance: true } },
      /`store.kind` is wrong: expected firestore where HEADGATE_SECRETS stands in for a data folder/,
    ],
    [
      'an address that is not https',
      { gateway: { id: 'headgate.acme', url: 'http://pay.acme.example' } },
      /`gateway.url` is wrong: expected https where `listen.mode` is public/,
    ],
  ])('refuses %s in one sentence', async (_what, change, sentence) => {
    const config = join(mkdtempSync(join(tmpdir(), 'config-')), 'headgate.json')
    writeFileSync(config, JSON.stringify(configOf(change)))
    chmodSync(join(config, '..'), 0o755)
    const { code, out, err } = await serve({ HEADGATE_CONFIG: config }).ended
    expect([code, out, err.trim().split('\n').length]).toEqual([3, '', 1])
    expect(err).toMatch(sentence)
    rmSync(join(config, '..'), { recursive: true })
  })

  it('refuses keys that no bundle holds, without a word of them', async () => {
    const { code, err } = await serve({
      HEADGATE_SECRETS_FILE: join(mounts, 'secrets/rail/rail-key'),
    }).ended
    expect([code, err]).toEqual([
      4,
      'headgate: HEADGATE_SECRETS is wrong: expected what `headgate keys bundle` wrote\n',
    ])
  })
})
