/** Children that a model asks for: made, kept in files, found again by name, and never told. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Client, createClient } from '../../runtime/client/client.ts'
import { ClientError } from '../../runtime/client/errors.ts'
import { readToken } from '../../runtime/client/mint.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { parseJson } from '../../runtime/core/json.ts'
import { privateJwkSchema, privateKeyOf, rawPublicKey } from '../../runtime/core/keys.ts'
import { childrenIn } from '../../runtime/mcp/children.ts'
import { createQueue } from '../../runtime/mcp/lanes.ts'
import { manifestOf } from '../../runtime/mcp/manifest.ts'
import { delegate } from '../../runtime/mcp/tools/planner.ts'
import { pipeOf, startWorld, structured, type World } from './world.ts'

let world: World
let folder: string
let registerNode: Client['registerNode'] | undefined

beforeAll(async () => {
  world = await startWorld()
}, 60_000)
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'children-'))
  registerNode = undefined
})
afterEach(() => rmSync(folder, { recursive: true }))
afterAll(() => world.close())

async function ask(args: object) {
  const { token, holder, run } = world.planner
  const clock = systemClock()
  const client = createClient({ gateway: world.gateway.url, token, holder, clock })
  const own = { registerNode: registerNode ?? client.registerNode }
  const children = childrenIn({ client: own, run, token, holder, folder: join(folder, 'out') })
  const { onBug, ...pipe } = pipeOf(world, world.planner)
  const context = { ...pipe, children, inOrder: createQueue(), manifest: manifestOf([delegate]) }
  return delegate.call(args, context, onBug)
}

const files = () => readdirSync(join(folder, 'out')).sort()
const contents = (name: string) => readFileSync(join(folder, 'out', name), 'utf8').trim()

describe('delegate', () => {
  it('makes a child whose secrets are files of ours alone, and tells their names', async () => {
    const made = await ask({ name: 'chairs', kind: 'planner', ceiling: 5_000, nodes: 3 })
    expect(made.isError).toBeFalsy()
    expect(structured(made)).toMatchObject({
      kind: 'planner',
      ceiling: 5_000,
      currency: 'INR',
      payees: ['shop'],
      tokenFile: 'chairs.token',
      keyFile: 'chairs.jwk',
    })
    expect(files()).toEqual(['chairs.jwk', 'chairs.token'])
    for (const name of files()) {
      expect(statSync(join(folder, 'out', name)).mode & 0o777).toBe(0o600)
    }
    expect(statSync(join(folder, 'out')).mode & 0o777).toBe(0o700)
    const said = JSON.stringify(made)
    const { d } = privateJwkSchema.parse(parseJson(contents('chairs.jwk')))
    for (const secret of [contents('chairs.token'), d, folder]) expect(said).not.toContain(secret)
  })

  it('a child works with what is in its files', async () => {
    await ask({ name: 'look', kind: 'looker' })
    const holder = privateJwkSchema.parse(parseJson(contents('look.jwk')))
    const token = contents('look.token')
    const gateway = world.gateway.url
    const client = createClient({ gateway, token, holder, clock: systemClock() })
    expect((await client.search({ text: 'lamp', limit: 1 })).items).toHaveLength(1)
  })

  it('a leaf is exactly its quote: payee and amount are no arguments', async () => {
    const quote = world.gateway.quote()
    const made = await ask({ name: 'leaf', kind: 'leaf', quote })
    expect(structured(made)).toMatchObject({ kind: 'leaf', ceiling: 2_500, payees: ['shop'] })
    const holder = privateJwkSchema.parse(parseJson(contents('leaf.jwk')))
    const client = createClient({
      gateway: world.gateway.url,
      token: contents('leaf.token'),
      holder,
      clock: systemClock(),
    })
    expect((await client.pay(quote)).state).toBe('settled')
  })

  it('the same name with the same terms is the same child, and takes its part once', async () => {
    const client = createClient({
      gateway: world.gateway.url,
      token: world.planner.token,
      holder: world.planner.holder,
      clock: systemClock(),
    })
    const first = await ask({ name: 'twice', kind: 'planner', ceiling: 1_000 })
    const { available } = await client.ownNode()
    expect(structured(await ask({ name: 'twice', kind: 'planner', ceiling: 1_000 }))).toEqual(
      structured(first),
    )
    expect((await client.ownNode()).available).toBe(available)
    const other = await ask({ name: 'twice', kind: 'planner', ceiling: 1_001 })
    expect(structured(other).error).toMatchObject({ code: 'name_taken' })
  })

  it('after a lost answer the key is still there, and the same call finds the child', async () => {
    const { token, holder, run } = world.planner
    const client = createClient({ gateway: world.gateway.url, token, holder, clock: systemClock() })
    registerNode = async (_run, child, nodes) => {
      await client.registerNode(run, child, nodes)
      throw new ClientError('lost', { status: 0, code: 'timeout', advice: 'retry' })
    }
    const lost = await ask({ name: 'lost', kind: 'planner', ceiling: 1_000 })
    expect(structured(lost).error).toMatchObject({ code: 'unavailable', advice: 'retry' })
    expect(files()).toEqual(['lost.jwk', 'lost.token'])
    registerNode = undefined
    const found = await ask({ name: 'lost', kind: 'planner', ceiling: 1_000 })
    expect(structured(found)).toMatchObject({ ceiling: 1_000, tokenFile: 'lost.token' })
  })

  it('what a crash leaves between the files is in nobody’s way', async () => {
    const child = (name: string) => readToken(contents(`${name}.token`)).at(-1)?.holder ?? ''
    const key = (name: string) =>
      rawPublicKey(privateKeyOf(privateJwkSchema.parse(parseJson(contents(`${name}.jwk`)))))
    await ask({ name: 'crashed', kind: 'looker' })
    // Before the key had its name: the child was not told of, and may have been recorded all the same.
    const draft = `crashed.${child('crashed')}.draft`
    renameSync(join(folder, 'out', 'crashed.jwk'), join(folder, 'out', draft))
    const before = child('crashed')
    expect((await ask({ name: 'crashed', kind: 'looker' })).isError).toBeFalsy()
    expect([child('crashed'), key('crashed')]).toEqual([before, before])
    expect(files()).toEqual(['crashed.jwk', 'crashed.token'])
    // Before there was a token.
    renameSync(join(folder, 'out', 'crashed.jwk'), join(folder, 'out', draft))
    rmSync(join(folder, 'out', 'crashed.token'))
    expect((await ask({ name: 'crashed', kind: 'looker' })).isError).toBeFalsy()
    expect(key('crashed')).toBe(child('crashed'))
  })

  it('a key of somebody else’s in the folder is never touched, whatever name the model chooses', async () => {
    mkdirSync(join(folder, 'out'))
    // As `--key out/holder.jwk --out out` would have it.
    writeFileSync(join(folder, 'out', 'holder.jwk'), 'the parent’s own')
    const taken = await ask({ name: 'holder', kind: 'looker' })
    expect(structured(taken).error).toMatchObject({ code: 'name_taken' })
    expect(files()).toEqual(['holder.jwk'])
    expect(contents('holder.jwk')).toBe('the parent’s own')
    const refused = await ask({ name: 'other', kind: 'planner', ceiling: 10_000_000 })
    expect(structured(refused).error).toMatchObject({ code: 'insufficient' })
    expect(files()).toEqual(['holder.jwk'])
  })

  it.each<[string, object, object]>([
    ['more than there is', { kind: 'planner', ceiling: 10_000_000 }, { code: 'insufficient' }],
    ['more than it had', { kind: 'planner', ceiling: 10_000_001 }, { code: 'widened' }],
    ['another payee', { kind: 'looker', payees: ['attacker'] }, { code: 'payee' }],
    ['a later end', { kind: 'looker', expiresAtSeconds: 253_402_300_799 }, { code: 'widened' }],
    [
      'a looker that may spend',
      { kind: 'looker', ceiling: 5 },
      { code: 'malformed', field: 'ceiling' },
    ],
    ['a leaf without a quote', { kind: 'leaf' }, { code: 'malformed', field: 'quote' }],
    [
      'a leaf with an amount',
      { kind: 'leaf', ceiling: 5 },
      { code: 'malformed', field: 'ceiling' },
    ],
    [
      'a quote that is none',
      { kind: 'leaf', quote: 'a.b.c' },
      { code: 'malformed', field: 'quote' },
    ],
    ['a leaf with nodes', { kind: 'looker', nodes: 1 }, { code: 'malformed', field: 'nodes' }],
  ])('%s is refused, and nothing of it is kept', async (_what, wish, error) => {
    const refused = await ask({ name: 'refused', ...wish })
    expect(refused.isError).toBe(true)
    expect(structured(refused).error).toMatchObject(error)
    expect(files()).toEqual([])
  })

  it.each(['../up', '/etc/x', 'a/b', '.hidden', 'A', '', 'x'.repeat(41), 'a\u0000b'])(
    'a name that is no plain file name (%j) is refused',
    async (name) => {
      const refused = await ask({ name, kind: 'looker' })
      expect(structured(refused).error).toMatchObject({ code: 'malformed', field: 'name' })
      expect(readdirSync(folder)).toEqual(['out'])
      expect(files()).toEqual([])
    },
  )
})
