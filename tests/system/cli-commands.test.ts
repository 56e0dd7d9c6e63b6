import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../runtime/cli/world.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import type { HoldView, RunDetail, RunView } from '../../runtime/core/wire.ts'
import { run } from '../cli/io.ts'

let world: World
let dir: string
let at: string[]
let keys: string

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'commands-'))
  world = await startWorld({ clock: systemClock() })
  at = ['--data', world.gateway.dataDir]
  keys = join(dir, 'principal.jwk')
  writeFileSync(keys, JSON.stringify(world.principal.key), { mode: 0o600 })
}, 120_000)
afterAll(async () => {
  await world?.close()
  rmSync(dir, { recursive: true })
}, 60_000)

let signed = 0

/** Signs by the command line and gives the file. */
async function sign(task: string, ...more: string[]): Promise<string> {
  const { config, principal } = world
  const { code, out, err } = await run([
    ...['mandate', 'sign', '--key', keys, '--iss', principal.id, '--aud', config.gateway.id],
    ...['--currency', 'INR', '--ceiling', '5000000', '--payee', 'volt-house', '--task', task],
    ...more,
  ])
  expect([code, err.includes('at worst INR 50,000.00 in all')]).toEqual([0, true])
  signed += 1
  const file = join(dir, `mandate-${signed}.jws`)
  writeFileSync(file, out)
  return file
}

const begin = async (file: string) =>
  (await run(['run', '--mandate', file, '--json', ...at])).json<{ run: { id: string } }>().run.id

const waiting = async (id: string): Promise<HoldView> => {
  for (;;) {
    const { holds } = (await run(['holds', '--json', ...at])).json<{ holds: HoldView[] }>()
    const hold = holds.find((each) => each.run === id)
    if (hold !== undefined) return hold
  }
}

describe('a mandate from key to seal', () => {
  it('is signed, run, watched, held, approved, audited and receipted by commands alone', async () => {
    const file = await sign('2 wireless keyboards', '--approval-above', '1')
    const id = await begin(file)
    expect(await begin(file)).toBe(id)

    const hold = await waiting(id)
    const shownAndRefusedToDecide = await run(['approve', hold.id, ...at])
    expect(shownAndRefusedToDecide.code).toBe(2)
    const no = await run(['approve', hold.id, ...at], { answer: 'no' })
    expect([no.code, no.err.includes(hold.digest)]).toEqual([1, true])
    const other = await run(['approve', hold.id, '--digest', 'x'.repeat(43), ...at])
    expect(other.code).toBe(11)
    const yes = await run(['approve', hold.id, ...at], { answer: 'yes' })
    expect([yes.code, yes.out.includes('approved')]).toEqual([0, true])

    const watched = await run(['watch', id, ...at])
    expect(watched.code).toBe(0)
    expect(watched.out).toContain(`waits for a person: approval_required (${hold.id})`)
    expect(watched.out).toMatch(/✓ paid INR [\d,.]+ for/)
    expect(watched.out).toMatch(/leaf .* ✓ settled/)
    const { nodes } = (await run(['watch', id, '--json', ...at])).json<RunDetail>()
    const leaf = nodes.find(({ payment }) => payment?.state === 'settled')

    const verified = await run(['audit', 'verify', ...at])
    expect([verified.code, verified.out.includes('every link holds')]).toEqual([0, true])
    const ofRun = await run(['audit', 'verify', '--run', id, '--json', ...at])
    expect(ofRun.json()).toMatchObject({ ok: true, runs: [{ run: id }] })

    const token = world.gateway.operatorToken.reveal()
    const answer = await fetch(`${world.gateway.url}/receipts/${leaf?.payment?.id}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { receipt } = (await answer.json()) as { receipt: string }
    const receiptFile = join(dir, 'receipt.jws')
    writeFileSync(receiptFile, receipt)
    const valid = await run([
      'receipt',
      'verify',
      receiptFile,
      '--url',
      world.gateway.url,
      '--json',
    ])
    expect(valid.json()).toMatchObject({ valid: true, receipt: { run: id } })
    writeFileSync(receiptFile, `${receipt.slice(0, -8)}AAAAAAAA`)
    const forged = await run(['receipt', 'verify', receiptFile, ...at])
    expect([forged.code, forged.out]).toEqual([20, ''])
  }, 90_000)

  it('that is refused by a person ends without a payment', async () => {
    const id = await begin(await sign('1 wireless keyboard', '--approval-above', '1'))
    const hold = await waiting(id)
    const refused = await run(['refuse', hold.id, '--digest', hold.digest, '--json', ...at])
    expect(refused.json<HoldView>().state).toBe('refused')
    const end = await run(['watch', id, ...at])
    expect(end.code).toBe(1)
    expect(end.err).toMatch(/the run failed/)
  }, 90_000)
})

describe('an export', () => {
  it('verifies from a file, and one changed letter is named and gives 1', async () => {
    const file = join(dir, 'log.ndjson')
    const exported = await run(['audit', 'export', '--out', file, '--json', ...at])
    expect(exported.json()).toMatchObject({ out: file })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect((await run(['audit', 'export', '--out', file, ...at])).code).toBe(2)
    expect((await run(['audit', 'verify', file])).code).toBe(0)
    const links = await run(['audit', 'verify', file, '--links'])
    expect([links.code, links.out]).toEqual([
      0,
      expect.stringMatching(/what the events say was not/),
    ])
    const absent = await run(['audit', 'verify', file, '--run', 'run_x', ...at])
    expect(absent.code).toBe(1)
    expect(absent.out).toContain('there is no such run in the log')

    const lines = readFileSync(file, 'utf8').split('\n')
    const nth = lines.findIndex((line) => line.includes('\\"settled\\"'))
    lines[nth] = (lines[nth] ?? '').replace(/\\"amount\\":(\d)/, '\\"amount\\":9$1')
    writeFileSync(file, lines.join('\n'))
    const broken = await run(['audit', 'verify', file, '--json'])
    expect([broken.code, broken.json()]).toMatchObject([
      1,
      { ok: false, broken: { why: 'the text does not have the hash that is given for it' } },
    ])
    expect((await run(['audit', 'verify', file])).out).toMatch(/broken at nd_\S+ event \d+/)
  }, 60_000)

  it('proves nothing when it is empty, and that gives 1', async () => {
    const file = join(dir, 'empty.ndjson')
    writeFileSync(file, '')
    const { code, err, out } = await run(['audit', 'verify', file])
    expect([code, err]).toMatchObject([1, /nothing was verified/])
    expect(out).not.toContain('holds')
    const folder = await run(['audit', 'verify', dir])
    expect([folder.code, folder.err]).toMatchObject([2, /cannot be read/])
  })

  it('goes to stdout without --out', async () => {
    const { out } = await run(['audit', 'export', ...at])
    const hashes = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { hash: string })
    expect(hashes.every(({ hash }) => hash.length === 43)).toBe(true)
  })
})

describe('stops', () => {
  it('freeze, resume and revoke a run, a node and the gateway', async () => {
    const id = await begin(await sign('1 wireless keyboard', '--approval-above', '1'))
    await waiting(id)
    const frozen = await run(['freeze', id, '--json', ...at])
    expect(frozen.json()).toMatchObject({ state: 'frozen', onTheirWay: [] })
    const runs = (await run(['runs', '--json', ...at])).json<{ runs: RunView[] }>().runs
    expect(runs.find((each) => each.id === id)?.frozen).toBe(true)
    expect((await run(['resume', id, ...at])).out).toMatch(/● live/)
    expect((await run(['freeze', ...at])).out).toMatch(/^gateway\s+❄ frozen/)
    expect((await run(['resume', ...at])).code).toBe(0)
    const cancelled = await run(['cancel', id, '--json', ...at])
    expect(cancelled.json<{ run: RunView }>().run.state).toMatch(/cancel/)
    const end = await run(['watch', id, ...at])
    expect([end.code, end.err]).toEqual([1, 'headgate: the run was cancelled\n'])
    // What is closed stays closed, whatever else is asked of it.
    expect((await run(['revoke', id, '--json', ...at])).json().state).toBe('closed')
  }, 90_000)
})

describe('what goes wrong', () => {
  it.each([
    ['a run that does not exist', ['watch', 'run_none'], 10],
    ['something that is no id', ['watch', 'nd_x'], 2],
    ['a hold that does not exist', ['refuse', 'hold_none', '--digest', 'x'], 10],
    ['a file that is not there', ['run', '--mandate', '/nowhere'], 2],
  ])('%s has a code of its own', async (_what, args, code) => {
    const ran = await run([...args, ...at])
    expect([ran.code, ran.out, ran.err.trim().split('\n').length]).toEqual([code, '', 1])
  })

  it('a mandate that is not accepted names the claim', async () => {
    const file = await sign('x', '--payee', 'nobody')
    const ran = await run(['run', '--mandate', file, ...at])
    expect([ran.code, ran.err.includes('(payees)')]).toEqual([11, true])
  })

  it('a gateway that is not there is unreachable', async () => {
    const ran = await run(['runs', ...at, '--url', 'http://127.0.0.1:9'])
    expect(ran.code).toBe(8)
  })

  it('a folder without a gateway is said to be one', async () => {
    expect((await run(['runs', '--data', dir])).code).toBe(4)
  })
})

describe('signing in', () => {
  it('takes a code that the command line asked for', async () => {
    const { code } = (await run(['login-code', '--json', ...at])).json<{ code: string }>()
    const answer = await fetch(`${world.gateway.url}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    })
    expect(answer.status).toBe(204)
  })
})

describe('keys', () => {
  it.each([
    [['--kind', 'principal'], 'Ed25519'],
    [['--kind', 'principal', '--alg', 'ES256'], 'P-256'],
    [['--kind', 'holder'], 'Ed25519'],
  ])(
    'are made with %j: the private half in a file of one’s own, the public one on stdout',
    async (args, crv) => {
      const file = join(dir, `key-${args.join('')}`)
      const made = await run(['keys', 'new', ...args, '--out', file, '--json'])
      const written = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>
      expect(made.json()).toMatchObject({ crv, x: written.x })
      expect(made.out).not.toContain(String(written.d))
      expect(statSync(file).mode & 0o777).toBe(0o600)
      expect((await run(['keys', 'new', ...args, '--out', file])).code).toBe(2)
    },
  )

  it('of a root have an id', async () => {
    const file = join(dir, 'root.json')
    await run(['keys', 'new', '--kind', 'root', '--id', '7', '--out', file])
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ id: 7, key: { crv: 'Ed25519' } })
    const wrong = ['keys', 'new', '--kind', 'root', '--alg', 'ES256', '--out', join(dir, 'no')]
    expect((await run(wrong)).code).toBe(2)
  })

  it('that others may read sign nothing', async () => {
    const open = join(dir, 'open.jwk')
    writeFileSync(open, readFileSync(keys), { mode: 0o644 })
    const ran = await run(['mandate', 'sign', '--key', open, '--task', 'x'])
    expect([ran.code, ran.err.includes('0600')]).toEqual([2, true])
  })

  it('sign no mandate that could not be accepted, and the claim is named', async () => {
    const ran = await run(['mandate', 'sign', '--key', keys, '--task', 'x', '--ceiling', '1.5'])
    expect([ran.code, ran.err.includes('ceiling')]).toEqual([2, true])
  })
})
