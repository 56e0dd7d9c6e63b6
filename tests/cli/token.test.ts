import type { KeyObject } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { dataFile } from '../../runtime/cli/data-dir.ts'
import { span } from '../../runtime/cli/inspect-text.ts'
import { mintChild } from '../../runtime/client/mint.ts'
import type { BlockClaims } from '../../runtime/core/block.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { allottedNodeIdOf, sha256 } from '../../runtime/core/ids.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import { minor } from '../../runtime/core/money.ts'
import { isoTime, later, nowSeconds, seconds } from '../../runtime/core/time.ts'
import {
  type Held,
  lasting,
  newKey,
  PRINCIPAL,
  publicJwk,
  signed,
  split,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from '../http/gateway.ts'
import {
  append,
  leafClaims,
  plannerClaims,
  ROOT_ID,
  ROOT_KEY,
  root,
  rootClaims,
} from '../tokens/fixtures.ts'
import { run } from './io.ts'

const now = () => nowSeconds(systemClock())

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'token-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

interface Document {
  would: string
  blocks: unknown[]
  now?: { nodes: { available: number }[] }
}

/** What the command says of a token, which is never the token; `refused` is the code of its last line. */
async function inspected(token: string, ...options: readonly string[]) {
  const file = join(dir, 'a.token')
  writeFileSync(file, `${token}\n`)
  const args = ['token', 'inspect', file, '--data', join(dir, 'data'), ...options]
  const told = await run(args)
  expect(told.out + told.err).not.toContain(token)
  return { ...told, refused: /would be refused now: (\w+), because/.exec(told.out)?.[1] }
}

const REPEATED = 'would be told the outcome of its payment again (settled)'
const UNOPPOSED = 'nothing that was looked up speaks against it'
const UNKNOWN = 'whether it would be accepted now was not looked up'

/** A data folder with the root key of the fixtures and nothing else. */
function writeRootKey(): void {
  const { x, d } = ROOT_KEY.export({ format: 'jwk' })
  mkdirSync(join(dir, 'data'))
  const key = { kty: 'OKP', crv: 'Ed25519', x, d }
  const file = dataFile(join(dir, 'data'), 'rootKey')
  writeFileSync(file, JSON.stringify({ id: ROOT_ID, key }), { mode: 0o600 })
}

const inAnHour = { expiresAtSeconds: later(now(), 3_600) }
const planner = (n: number, changes: Partial<BlockClaims> = {}) =>
  plannerClaims(n, { ...inAnHour, ...changes })

/** Depth 3: two planners below the root's, each with less, and a leaf. */
function honest(leaf: Partial<BlockClaims> = {}): string {
  const one = append(root(rootClaims(inAnHour)).token, planner(1, { ceiling: minor(600) }))
  const two = append(one.token, planner(2, { ceiling: minor(400), payees: ['acme', 'globex'] }))
  return append(two.token, leafClaims(3, { ...inAnHour, ...leaf })).token
}

describe('token inspect without a gateway', () => {
  beforeEach(writeRootKey)

  it('explains an honest chain block by block and says what it could not look up', async () => {
    const { code, out } = await inspected(honest())
    expect(code).toBe(0)
    expect(out).toContain('no gateway is serving')
    expect(out).toContain(UNKNOWN)
    expect(out).toContain('depth 3, sealed')
    expect(out).toContain('root key 7, in force\n')
    expect(out).toContain('planner nd_1, whose holder signed this block')
    expect(out).toContain('INR 2.00 less, 1 payee fewer')
    expect(out).toContain('may pay acme once, INR 2.50 or less')
    expect(out).not.toContain(UNOPPOSED)
  })

  it('says of an expired one which block ended and when', async () => {
    const { code, out, refused } = await inspected(honest({ expiresAtSeconds: later(now(), -300) }))
    expect(code).toBe(11)
    expect(refused).toBe('expired')
    expect(out).toMatch(/expired 5 min( \d s)? ago/)
  })

  it('says of a chain that widens which claim does', async () => {
    const wide = append(root(rootClaims(inAnHour)).token, planner(1, { ceiling: minor(2_000) }))
    const { code, out, refused } = await inspected(wide.token)
    expect([code, refused]).toEqual([11, 'widened'])
    expect(out).toContain('its ceiling is more than the block above allows')
    expect(out).toContain('at most: nothing')
  })

  it.each([
    ['token_invalid', () => 'hello'],
    ['token_invalid', () => `${honest().slice(0, 400)}${honest().slice(400).replace('A', 'B')}`],
    ['signer', () => append(root(rootClaims(inAnHour)).token, planner(1), { signer: 9 }).token],
    ['grammar', () => append(root(rootClaims(inAnHour)).token, planner(1), { sealed: true }).token],
    ['too_large', () => 'A'.repeat(50_000)],
  ])('shows no claim of one that is refused as %s', async (expected, make) => {
    const { code, out, refused } = await inspected(make())
    expect([code, refused]).toEqual([11, expected])
    expect(out).toContain('it does not verify')
    expect(out).not.toMatch(/nd_|acme|INR/)
  })

  it('names the root key that is not in force, and those that are', async () => {
    const other = join(dir, 'data', 'root-key.json')
    const { d, x } = newKey().export({ format: 'jwk' })
    const key = { kty: 'OKP', crv: 'Ed25519', x, d }
    const retired = { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(ROOT_KEY) }
    const retiring = [{ id: ROOT_ID, key: retired, retiresAtSeconds: now() - 10 }]
    writeFileSync(other, JSON.stringify({ id: 0, key, retiring }))
    const { out, refused } = await inspected(honest())
    expect(refused).toBe('root_unknown')
    expect(out).toContain('it names 7, which is retired; in force here: 0')
  })

  it('says until when the key of an older token is in force', async () => {
    const file = join(dir, 'keys.json')
    const jwkOf = (of: KeyObject) => ({ kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(of) })
    const retiresAt = now() + 3_600
    const keys = [
      { id: 9, jwk: jwkOf(newKey()) },
      { id: ROOT_ID, jwk: jwkOf(ROOT_KEY), retiresAt },
    ]
    writeFileSync(file, JSON.stringify({ current: 9, keys }))
    const { code, out } = await inspected(honest(), '--root-keys', file)
    expect(code).toBe(0)
    expect(out).toContain(`root key 7, in force until ${isoTime(seconds(retiresAt))}`)
  })

  it('takes root keys from the document that is named and from no other', async () => {
    const file = join(dir, 'keys.json')
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(newKey()) }
    writeFileSync(file, JSON.stringify({ current: 1, keys: [{ id: 1, jwk }] }))
    const { code, out, refused } = await inspected(honest(), '--root-keys', file)
    expect([code, refused]).toEqual([11, 'root_unknown'])
    expect(out).toContain('it names 7, which is not one of these')
  })

  it.each([
    ['a document that is none', '{"keys":[]}', 'expected what a gateway publishes'],
    ['no JSON', 'hello', 'expected what a gateway publishes'],
    ['a stranger’s address without TLS', 'http://pay.example.com/keys.json', 'https'],
  ])('refuses %s as root keys', async (_what, given, told) => {
    const file = join(dir, 'keys.json')
    writeFileSync(file, given)
    writeFileSync(join(dir, 'a.token'), honest())
    const named = given.startsWith('http') ? given : file
    const args = ['token', 'inspect', join(dir, 'a.token'), '--root-keys', named]
    const { code, out, err } = await run(args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(told)
  })

  it('repeats no argument that is a token instead of a file, and says why in its help', async () => {
    const token = honest()
    const { code, out, err } = await run(['token', 'inspect', token, '--data', join(dir, 'data')])
    expect([code, out]).toEqual([2, ''])
    expect(err).not.toContain(token.slice(0, 20))
    expect((await run(['token', 'inspect', '--help'])).out).toContain('never an argument')
  })
})

describe('token inspect with a gateway', () => {
  let gateway: TestGateway
  let top: Held
  let middle: Held
  beforeAll(async () => {
    gateway = await startGateway()
  })
  afterAll(() => gateway.close())
  beforeEach(async () => {
    mkdirSync(join(dir, 'data'))
    const file = dataFile(join(dir, 'data'), 'operatorToken')
    writeFileSync(file, gateway.token, { mode: 0o600 })
    top = await startOutsideRun(gateway)
    middle = await split(gateway, top, 0, {})
  })

  const ask = (token: string, ...options: readonly string[]) =>
    inspected(token, '--url', gateway.url, ...options)
  const stop = (verb: string, { run: of, node }: Held) =>
    gateway.asOperator(`/runs/${of}/nodes/${node}/${verb}`, {})

  it('takes the root keys from where the gateway publishes them', async () => {
    const where = `${gateway.url}/.well-known/root-keys.json`
    const { code, out } = await inspected(middle.token, '--root-keys', where)
    expect(code).toBe(0)
    expect(out).toContain('root key 1, in force\n')
    expect(out).toContain(UNKNOWN)
  })

  it('says what is left and that nothing speaks against the recorded chain', async () => {
    const { code, out } = await ask(middle.token)
    expect(code).toBe(0)
    expect(out).toContain('available INR 900.00')
    expect(out).toContain('the chain is the one that was recorded')
    expect(out).toContain('available INR 100.00')
    expect(out).toContain('given on INR 100.00')
    expect(out).toContain(UNOPPOSED)
  })

  it.each([
    ['revoke', 'revoked'],
    ['freeze', 'frozen'],
  ])(
    'says after %s of an ancestor that it would be refused, and by whose',
    async (verb, expected) => {
      await stop(verb, top)
      const { code, out, refused } = await ask(middle.token)
      expect([code, refused]).toEqual([11, expected])
      expect(out).toContain(`; it ${verb === 'revoke' ? 'was' : 'is'} ${top.node}`)
    },
  )

  it('prints the same as one document', async () => {
    const { code, json } = await ask(middle.token, '--json')
    const document = json<Document>()
    expect(code).toBe(0)
    expect(document).toMatchObject({ verifies: true, would: 'unopposed' })
    expect(document.now?.nodes.map(({ available }) => available)).toEqual([90_000, 10_000])
    expect(document.blocks).toHaveLength(2)
  })

  it('says that the gateway is frozen, and that a run is over', async () => {
    await gateway.asOperator('/freeze', {})
    const frozen = await ask(middle.token)
    await gateway.asOperator('/resume', {})
    expect(frozen.out).toContain('it is the gateway')
    await gateway.asOperator(`/runs/${top.run}/cancel`, {})
    expect((await ask(middle.token)).refused).toBe('run_closed')
  })

  it('tells a chain that was signed again from the recorded one, and one that nobody registered', async () => {
    const claims = (nth: number): BlockClaims => ({
      node: allottedNodeIdOf(top.node, nth),
      kind: 'planner',
      currency: 'INR',
      ceiling: minor(10_000),
      holder: rawPublicKey(newKey()),
      expiresAtSeconds: later(now(), 600),
      payees: ['shop'],
    })
    const again = await ask(mintChild(top.token, top.holder, claims(0)).token)
    expect(again.out).toContain('another chain')
    const unknown = await ask(mintChild(top.token, top.holder, claims(1)).token)
    expect(unknown.out).toContain('not registered')
    expect([again.code, unknown.code]).toEqual([11, 11])
  })

  it('says of a paid leaf that its answer would be told again', async () => {
    const quote = gateway.quote()
    const leaf = await splitLeaf(gateway, middle, 0, quote)
    expect((await ask(leaf.token)).out).toContain(UNOPPOSED)
    expect((await signed(gateway, leaf, 'POST', '/payments', { quote })).status).toBe(200)
    const { code, out } = await ask(leaf.token)
    expect(code).toBe(0)
    expect(out).toContain(REPEATED)
  })

  it('still explains to somebody who is not the operator, and says what was not looked up', async () => {
    const file = dataFile(join(dir, 'data'), 'operatorToken')
    writeFileSync(file, sha256('somebody else'), { mode: 0o600 })
    const { code, out } = await ask(middle.token)
    expect(code).toBe(0)
    expect(out).toContain('whether it was stopped')
    expect(out).toContain(UNKNOWN)
  })

  it('promises nothing that only the gateway knows: it may trust the principal no more', async () => {
    const overrides = { ledger: lasting() }
    const first = await startGateway({ overrides })
    const held = await startOutsideRun(first)
    await first.close()
    const principals = [{ id: PRINCIPAL, keys: [publicJwk(newKey(), 'alice-1')] }]
    const second = await startGateway({ again: first, overrides, config: { principals } })
    try {
      const path = `/runs/${held.run}/nodes/${held.node}/close`
      const answer = await signed(second, held, 'POST', path, {})
      expect(await answer.json()).toMatchObject({ status: 403, code: 'mandate_invalid' })
      const file = dataFile(join(dir, 'data'), 'operatorToken')
      writeFileSync(file, second.token, { mode: 0o600 })
      const { out, refused } = await inspected(held.token, '--url', second.url)
      expect(refused).toBeUndefined()
      expect(out).toContain(UNOPPOSED)
      expect(out).not.toContain('accepted')
    } finally {
      await second.close()
    }
  })

  it('names each check once, as looked up here or as left to the gateway', async () => {
    const leaf = await splitLeaf(gateway, middle, 0, gateway.quote())
    const { json } = await ask(leaf.token, '--json')
    const { lookedUp, notLookedUp } = json<{ lookedUp: string[]; notLookedUp: string[] }>()
    expect(lookedUp).toEqual([
      'signatures, signers and grammar of every block, under a root key in force (check 2)',
      'whether a node has expired, by the clock of this machine (check 3)',
      'whether a block claims more than the one above it (check 4)',
      'whether its chain is the recorded one (check 2)',
      'whether its nodes, the run or the gateway were stopped (check 3)',
      'what is left of it (check 8)',
    ])
    expect(notLookedUp).toEqual([
      'the proof by its holder (check 2)',
      'whether the mandate still verifies, and the clock of the gateway (check 3)',
      'the depth that the mandate allows (check 4)',
      'what its own checks say of a request (check 5)',
      'its quote, the rules, the mandate’s limits and the monitor (checks 6 to 9)',
    ])
    const planner = await ask(middle.token)
    expect(planner.out).toContain('left to the gateway:\n  the proof by its holder (check 2)')
    expect(planner.out).not.toContain('checks 6 to 9')
  })

  it('gives the digest of a chain to the operator and not to a planner', async () => {
    const detail = await (await gateway.asOperator(`/runs/${top.run}`)).text()
    expect(detail).toContain('"chain":')
    const own = await signed(gateway, top, 'GET', `/runs/${top.run}`)
    expect(own.status).toBe(200)
    expect(await own.text()).not.toContain('"chain":')
  })
})

describe('a span of time', () => {
  it('is told in its two largest units', () => {
    expect([0, 59, 61, 3_600, 90_061].map(span)).toEqual([
      '0 s',
      '59 s',
      '1 min 1 s',
      '1 h',
      '1 d 1 h',
    ])
  })
})
