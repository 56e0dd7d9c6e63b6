import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import {
  assertStoreLasts,
  ConfigError,
  parseConfig,
  readConfig,
  readEnvironment,
} from '../../runtime/config.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { Secret } from '../../runtime/secrets/secret.ts'
import { newKey, publicJwk } from '../http/gateway.ts'

const dir = mkdtempSync(join(tmpdir(), 'config-'))
afterAll(() => rmSync(dir, { recursive: true }))

const key = publicJwk(newKey(), 'k')

const good = () => ({
  organisation: 'acme',
  gateway: { id: 'headgate.acme', url: 'http://127.0.0.1:8080' },
  principals: [{ id: 'alice', keys: [key] }],
  payees: [{ id: 'shop', name: 'Shop', accounts: { simulated: 'acc' } }],
  merchants: [{ id: 'shop', url: 'http://127.0.0.1:9000/m/shop', jwks: { keys: [key] } }],
  rail: { name: 'simulated', url: 'http://127.0.0.1:9001' },
})

const firestore = { kind: 'firestore', projectId: 'acme-money' }

function problems(change: object): readonly string[] {
  try {
    parseConfig(JSON.stringify({ ...good(), ...change }))
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('the configuration', () => {
  it('has safe defaults', () => {
    const config = parseConfig(JSON.stringify(good()))
    expect(config.listen).toEqual({ host: '127.0.0.1', port: 8080, mode: 'local', hosts: [] })
    expect(config.monitor).toEqual({ kind: 'none' })
    expect(config.policy.rules.map(({ kind }) => kind)).toEqual([
      'recurring',
      'duplicate',
      'untrusted_origin',
    ])
  })

  it.each([
    ['organisation', { organisation: 'a b' }],
    ['gateway.url', { gateway: { id: 'g', url: 'ftp://x' } }],
    ['gateway.url', { gateway: { id: 'g', url: 'http://x/path' } }],
    ['gateway.id', { gateway: { url: 'http://x' } }],
    ['principals[0].keys', { principals: [{ id: 'alice', keys: [] }] }],
    ['principals', { principals: [good().principals[0], good().principals[0]] }],
    ['payees[0].accounts', { payees: [{ id: 'shop', name: 'Shop', accounts: { other: 'x' } }] }],
    ['payees[0].name', { payees: [{ id: 'shop', name: '', accounts: { simulated: 'x' } }] }],
    ['merchants[0].url', { merchants: [{ ...good().merchants[0], url: 'javascript:x' }] }],
    ['merchants[0].jwks.keys', { merchants: [{ ...good().merchants[0], jwks: { keys: [] } }] }],
    ['rail.name', { rail: { name: 'cash', url: 'http://x' } }],
    ['listen.port', { listen: { port: 65_536 } }],
    ['audit.checkpoints', { audit: { checkpoints: 'checkpoints.ndjson' } }],
    ['audit.checkpoints', { audit: { checkpoints: '' } }],
    ['listen.port', { listen: { port: '8080' } }],
    ['listen.host', { listen: { host: '0.0.0.0' } }],
    ['gateway.url', { listen: { host: '0.0.0.0', mode: 'public' } }],
    [
      'policy.rules[0].above',
      { policy: { rules: [{ kind: 'approval_above', id: 'x', currency: 'INR' }] } },
    ],
    ['monitor', { monitor: { kind: 'oracle' } }],
    ['engine.kind', { engine: { kind: 'human' } }],
    ['store.kind', { store: { kind: 'memory' } }],
    ['store.projectId', { store: { kind: 'firestore' } }],
    ['store.projectId', { store: { kind: 'firestore', projectId: 'A' } }],
    ['store.databaseId', { store: { ...firestore, databaseId: 'a/b' } }],
    ['store.emulatorHost', { store: { ...firestore, emulatorHost: 'example.com:8080' } }],
    ['store.emulatorHost', { store: { ...firestore, emulatorHost: '127.0.0.1.example.com:80' } }],
    ['oneInstance', { store: { ...firestore, oneInstance: true } }],
    ['operators[0].id', { operators: [{ id: 'token', tokenDigest: sha256('a') }] }],
    ['operators[0].tokenDigest', { operators: [{ id: 'asha', tokenDigest: 'a token' }] }],
    [
      'operators',
      { operators: ['asha', 'bela'].map((id) => ({ id, tokenDigest: sha256('one') })) },
    ],
    [
      'operators',
      { operators: ['one', 'two'].map((of) => ({ id: 'asha', tokenDigest: sha256(of) })) },
    ],
    ['nonsense', { nonsense: true }],
    ['kye', { gateway: { ...good().gateway, kye: 1 } }],
  ])('names the field %s', (field, change) => {
    const found = problems(change)
    expect(found.length).toBeGreaterThan(0)
    expect(found.some((sentence) => sentence.includes(`\`${field}`))).toBe(true)
  })

  it('takes no monitor that is a model of the agents, unless somebody says so', () => {
    const gemini = { kind: 'gemini', model: 'g-1', roles: { chooser: 'g-2' } }
    const watched = (monitor: object) => problems({ engine: gemini, monitor })
    for (const model of ['g-1', 'g-2', 'g-2-001']) {
      const [problem, ...more] = watched({ kind: 'gemini', model })
      expect(more).toEqual([])
      expect(problem).toContain('`monitor.model`')
      expect(problem).toContain('sameAsAgents')
      expect(watched({ kind: 'gemini', model, sameAsAgents: true })).toEqual([])
      expect(watched({ kind: 'groq', model })).toEqual([])
    }
    expect(watched({ kind: 'gemini', model: 'g-3' })).toEqual([])
    expect(problems({ monitor: { kind: 'gemini', model: 'g-1' } })).toEqual([])
  })

  it.each([
    ['engine', 'scripted, gemini, groq'],
    ['monitor', 'none, scripted, gemini, groq'],
  ])('says which kinds of %s there are', (field, kinds) => {
    const wrong = `\`${field}.kind\` is wrong: expected one of ${kinds}`
    expect(problems({ [field]: { kind: 'openai' } })).toEqual([wrong])
  })

  it('tells all errors at once', () => {
    expect(problems({ organisation: '', listen: { port: -1 }, nonsense: 1 })).toHaveLength(3)
  })

  it('never shows a value', () => {
    const text = problems({
      organisation: 'se cret',
      rail: { name: 's3cret', url: 's3cret' },
    }).join()
    expect(text).not.toMatch(/se cret|s3cret/)
  })

  it.each([
    ['{"organisation":"a","organisation":"b"}'],
    ['{'],
    ['{"organisation":"a",}'],
    ['[]'],
    [''],
  ])('refuses what is no strict JSON object: %s', (text) => {
    expect(() => parseConfig(text)).toThrow(ConfigError)
  })

  it('that is not there is one sentence', () => {
    expect(() => readConfig(join(dir, 'none.json'))).toThrow(/cannot be read/)
  })
})

describe('the store', () => {
  const config = (store?: object) => parseConfig(JSON.stringify({ ...good(), store }))
  const cloudRun = readEnvironment({ K_SERVICE: 'gate' })

  it('is a file of this machine unless it is said otherwise', () => {
    expect(config().store).toEqual({ kind: 'sqlite', oneInstance: false })
    const emulator = { ...firestore, databaseId: 'money', emulatorHost: '127.0.0.1:8085' }
    expect(config(emulator).store).toEqual(emulator)
  })

  it('may not be a file on Cloud Run, where two instances would be two ledgers', () => {
    expect(() => assertStoreLasts(config(), cloudRun)).toThrow(/`store.kind`/)
    expect(() => assertStoreLasts(config(), readEnvironment({}))).not.toThrow()
    expect(() => assertStoreLasts(config(firestore), cloudRun)).not.toThrow()
    const one = config({ kind: 'sqlite', oneInstance: true })
    expect(() => assertStoreLasts(one, cloudRun)).not.toThrow()
  })
})

describe('secrets', () => {
  const file = join(dir, 'key')
  writeFileSync(file, 's3cret\n')

  it('come by name or from a file, without its line end', () => {
    const inline = readEnvironment({ HEADGATE_RAIL_KEY: 'abc' })
    const fromFile = readEnvironment({ HEADGATE_RAIL_KEY_FILE: file })
    expect(inline.credentials.HEADGATE_RAIL_KEY?.value.reveal()).toBe('abc')
    expect(fromFile.credentials.HEADGATE_RAIL_KEY?.value.reveal()).toBe('s3cret')
  })

  it.each([
    [{ HEADGATE_RAIL_KEY: 'a', HEADGATE_RAIL_KEY_FILE: file }],
    [{ HEADGATE_RAIL_KEY: '' }],
    [{ HEADGATE_RAIL_KEY_FILE: join(dir, 'none') }],
  ])('are refused where they cannot be meant: %j', (variables) => {
    expect(() => readEnvironment(variables)).toThrow(/HEADGATE_RAIL_KEY/)
  })

  it('print as [secret] however they are printed', () => {
    const secret = new Secret('s3cret')
    const printed = [
      String(secret),
      `${secret}`,
      JSON.stringify({ secret }),
      inspect({ secret }),
      inspect(secret, { showHidden: true }),
      Object.values(secret).join(),
    ].join()
    expect(printed).not.toContain('s3cret')
    expect(secret.reveal()).toBe('s3cret')
  })
})
