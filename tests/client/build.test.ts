/** The client as a package: plain JavaScript that runs without this repository, with types that say what it does. */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ROOT } from '../support/source.ts'
import { type GatewayStub, startStub } from './gateway-stub.ts'

const BUILD = join(ROOT, 'deploy/client/build.ts')
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

let dir: string
let made: string
let stub: GatewayStub

const packed = z.array(z.object({ filename: z.string() }))

/** A folder elsewhere that has the package installed as npm packs it, and its dependencies beside it. */
beforeAll(async () => {
  stub = await startStub()
  stub.reply = {
    status: 403,
    type: 'application/problem+json',
    body: { type: 'urn:x', title: 'the gateway is frozen', status: 403, code: 'frozen' },
  }
  dir = mkdtempSync(join(tmpdir(), 'headgate-client-'))
  made = join(dir, 'made')
  const modules = join(dir, 'node_modules')
  mkdirSync(join(modules, '@types'), { recursive: true })
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', BUILD, '--out', made])
  const said = execFileSync('npm', ['pack', '--json', '--offline', '--pack-destination', dir, made])
  const [pack] = packed.parse(JSON.parse(said.toString()))
  execFileSync('tar', ['-xzf', pack?.filename ?? '', '-C', modules], { cwd: dir })
  renameSync(join(modules, 'package'), join(modules, 'headgate-client'))
  for (const name of ['jose', 'zod', '@types/node', 'undici-types']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  }
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  writeFileSync(join(dir, 'agent.js'), AGENT)
}, 120_000)
afterAll(async () => {
  await stub?.close()
  rmSync(dir, { recursive: true, force: true })
})

/** Five lines of somebody else's, in plain JavaScript. */
const AGENT = `
import { generateKeyPairSync } from 'node:crypto'
import { ClientError, createClient, systemClock } from 'headgate-client'
const [gateway] = process.argv.slice(2), holder = generateKeyPairSync('ed25519').privateKey
const client = createClient({ gateway, token: 'a-token', holder, clock: systemClock() })
await client.ownNode().catch((error) => console.log(error instanceof ClientError, error.code, error.advice))
`

/** What it prints. */
function runs(node: string, file: string): Promise<string> {
  // The gateway that it asks is in this process, which may not stand still meanwhile.
  return new Promise((resolve, reject) => {
    execFile(node, [file, stub.url], { cwd: dir }, (error, out, errors) =>
      error === null ? resolve(out + errors) : reject(new Error(`${error.message}${errors}`)),
    )
  })
}

/** The machine's own Node, where there is one that is not ours and not too old. */
const OTHER = '/usr/bin/node'
const other = existsSync(OTHER) ? spawnSync(OTHER, ['--version']).stdout.toString().trim() : ''
const [, major = '0', minor = '0'] = /^v(\d+)\.(\d+)/.exec(other) ?? []
const isFit = Number(major) > 20 || (major === '20' && Number(minor) >= 12)
if (!isFit) process.stderr.write(`skipped: no other Node of at least 20.12 at ${OTHER}\n`)

describe('the built client', () => {
  it('runs in Node as it is, without a word of TypeScript', async () => {
    expect(await runs(process.execPath, 'agent.js')).toBe('true frozen wait_for_person\n')
  })

  it.runIf(isFit)(`runs in the machine’s own Node ${other}, which knows no types`, async () => {
    expect(await runs(OTHER, 'agent.js')).toBe('true frozen wait_for_person\n')
  })

  it('can be bundled into one file that runs alone', async () => {
    await build({
      ...{ root: dir, configFile: false, logLevel: 'silent' },
      ssr: { noExternal: true },
      build: { ssr: join(dir, 'agent.js'), outDir: join(dir, 'alone'), target: 'node20' },
    })
    const text = readFileSync(join(dir, 'alone/agent.js'), 'utf8')
    const imported = [...text.matchAll(/from ?["']([^"']+)["']/g)].map(([, name]) => name)
    expect(imported.filter((name) => !name?.startsWith('node:'))).toEqual([])
    expect(await runs(process.execPath, 'alone/agent.js')).toBe('true frozen wait_for_person\n')
  })

  it('names its entry, its types and exactly the two packages that it needs', () => {
    const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))
    const manifest = read(join(dir, 'node_modules/headgate-client/package.json'))
    const { dependencies, version } = read(join(ROOT, 'package.json'))
    expect(manifest).toMatchObject({
      ...{ type: 'module', version, types: './index.d.ts' },
      exports: { '.': { types: './index.d.ts', default: './index.js' } },
    })
    expect(manifest.dependencies).toEqual({ jose: dependencies.jose, zod: dependencies.zod })
    const lib = globSync(join(dir, 'node_modules/headgate-client/lib/**/*.js'))
    const foreign = lib
      .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/ from '([^'.][^']*)'/g)])
      .map(([, name = '']) => name.replace(/^node:.*/, 'node'))
    expect([...new Set(foreign)].sort()).toEqual(['jose', 'node', 'zod'])
  })

  it('has types that a strict consumer is held to, none of them any', () => {
    writeFileSync(
      join(dir, 'consumer.ts'),
      // A line that must not compile says so; spelled in two, so that it silences nothing here.
      `import { type Client, ClientError, type OwnNode, openNode } from 'headgate-client'
const node = openNode({ gateway: 'http://127.0.0.1:1', token: '', key: '' })
const own: OwnNode = await node.client.ownNode()
export const left: number = own.amount?.most ?? own.available
export const watch = (client: Client): AsyncGenerator<OwnNode> => client.watch()
export const next = (error: ClientError): 'retry' | undefined => error.advice === 'retry' ? error.advice : undefined
// @ts-${'expect-error'} an amount is a number
export const wrong: string = own.available
// @ts-${'expect-error'} a leaf pays a quote
await node.pay(5)
// @ts-${'expect-error'} there is no such call
await node.client.transfer('everything')
`,
    )
    const types = { strict: true, noEmit: true, target: 'es2022', types: ['node'] }
    const modules = { module: 'nodenext', moduleResolution: 'nodenext', skipLibCheck: false }
    const config = { compilerOptions: { ...types, ...modules }, files: ['consumer.ts'] }
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(config))
    const { status, stdout } = spawnSync(process.execPath, [TSC, '-p', dir])
    const ours = stdout
      .toString()
      .split('\n')
      .filter((line) => !line.includes('node_modules/zod'))
    expect([ours.join('\n').trim(), status]).toEqual(['', 0])
  })
})
