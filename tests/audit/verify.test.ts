import { spawnSync } from 'node:child_process'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signSeal } from '../../runtime/audit/seal.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { signJws } from '../../runtime/core/jws.ts'
import { ed25519FromSeed } from '../../runtime/core/keys.ts'
import { NOW } from '../support/ledger.ts'
import { temporaryFolder } from '../support/sqlite.ts'
import { type Body, bodyOf, forge, jwksOf, signer, type Written, writtenLog } from './log.ts'

const FILE = fileURLToPath(new URL('../../runtime/audit/verify.ts', import.meta.url))

let log: Written
beforeAll(async () => {
  log = await writtenLog()
})

/** What an auditor of the run alone says and has. */
const alone = () => ({ ...log.options, run: log.run.id })

/** What begins the end of a stream: cut there, what is left still fits together. */
const ENDS = new Set(['closing', 'settled', 'credited', 'closed'])

const is = (type: string, stream?: string) => (body: Body) =>
  body.type === type && (stream === undefined || body.stream === stream)

const put = (change: object) => (body: Body) => void Object.assign(body, change)

describe('an honest log', () => {
  it('verifies with its seal and receipt, and its balances come out', () => {
    const verdict = verifyExport(log.lines, log.options)
    expect(verdict).toMatchObject({ ok: true, events: log.lines.length, streams: 10 })
    expect(verdict.runs).toHaveLength(2)
    expect(verdict.runs[0]).toEqual({
      run: log.run.id,
      ceiling: 100_000,
      available: 99_100,
      reserved: 0,
      spent: 900,
    })
  })

  it('verifies for one run alone', () => {
    expect(verifyExport(log.ofRun, alone())).toMatchObject({ ok: true, streams: 6 })
  })

  it('of one run is not taken for a whole one, whose gateway’s stream was left out', () => {
    expect(verifyExport(log.ofRun, log.options).broken).toEqual({
      stream: log.root.id,
      seq: 1,
      why: 'the stream of the gateway, which created this run, is missing',
    })
    expect(verifyExport(log.ofRun, { run: 'run_other' }).broken).toEqual({
      stream: 'run_other',
      seq: 0,
      why: 'there is no such run in the log',
    })
  })

  it('holds every type of event that the ledger writes', () => {
    const types = new Set(log.lines.map((line) => bodyOf(line).type))
    expect(types.size).toBeGreaterThanOrEqual(20)
  })

  it('is empty without complaint', () => {
    expect(verifyExport([])).toEqual({ ok: true, events: 0, streams: 0, runs: [] })
  })
})

/** What was decided and by whom, in a log whose hashes are all as they should be. */
describe('a log in which somebody changed', () => {
  it.each([
    ['the currency of a run', 'run_created', { currency: 'JPY' }, /not the root/],
    ['the end of a run', 'run_created', { expires: NOW }, /not the root/],
    ['what an approval was for', 'approved', { digest: 'd'.repeat(43) }, /was not held/],
    ['which hold was approved', 'held', { hold: 'hold_other' }, /was not held/],
    ['the payment that was held', 'held', { payment: 'pay_other' }, /approval that nobody gave/],
    ['until when an answer counted', 'held', { expires: NOW }, /approved after its time/],
    ['a check', 'submitted', { checks: ['failed'] }, /was to be refused/],
  ] as const)('%s names that event or the one that rests on it', (_what, type, change, why) => {
    const forged = forge(log.lines, (body) => void Object.assign(body.data, change), is(type))
    expect(verifyExport(forged).broken?.why).toMatch(why)
  })

  it('a refusal of a person into nothing finds the payment that was made all the same', () => {
    const forged = forge(log.lines, put({ type: 'hold_refused' }), is('approved'))
    expect(verifyExport(forged).broken?.why).toBe('uses an approval that nobody gave')
  })

  it('the time of a submit is held against the end of its node', () => {
    const late = (body: Body) => put({ at: Number(body.at) + 24 * 3600 })(body)
    const forged = forge(log.lines, late, is('submitted'))
    expect(verifyExport(forged).broken?.why).toBe('submitted what was to be refused')
  })
})

describe('a key set', () => {
  it.each([
    ['no list', {}],
    ['a list of nothing', { keys: [null] }],
    ['half a key', { keys: [{ kty: 'OKP', crv: 'Ed25519', kid: signer.kid }] }],
    ['a key of no point', { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'AA', kid: signer.kid }] }],
  ])('with %s in it verifies nothing, and is no fault', (_what, jwks) => {
    const verdict = verifyExport(log.lines, { ...log.options, jwks: jwks as never })
    expect(verdict.broken?.why).toMatch(/no key of this signature|expected an Ed25519 key/)
  })
})

describe('a log that somebody touched', () => {
  const edited = (from: RegExp, to: string): string[] => {
    const index = log.lines.findIndex((line) => from.test(line))
    return log.lines.with(index, (log.lines[index] ?? '').replace(from, to))
  }

  it('names an edited byte', () => {
    const verdict = verifyExport(edited(/\\"amount\\":900/, '\\"amount\\":901'))
    expect(verdict).toMatchObject({
      ok: false,
      broken: { stream: log.leaf.id, why: 'the text does not have the hash that is given for it' },
    })
  })

  it('names an edited byte whose hash was made anew', () => {
    const index = log.lines.findIndex((line) => is('reserved')(bodyOf(line)))
    const [forged] = forge([log.lines[index] ?? ''], put({ at: NOW - 1 }), is('reserved'))
    const { broken } = verifyExport(log.lines.with(index, forged ?? ''))
    const { stream, seq } = bodyOf(log.lines[index + 1] ?? '')
    expect(broken).toEqual({ stream, seq, why: 'not chained to the event before it' })
  })

  it('names an event that was dropped', () => {
    for (const type of ['split', 'submitted', 'returned', 'refused', 'frozen']) {
      const index = log.lines.findIndex((line) => is(type)(bodyOf(line)))
      const { stream, seq } = bodyOf(log.lines[index] ?? '')
      expect(verifyExport(log.lines.toSpliced(index, 1)).broken).toEqual({
        stream,
        seq: seq + 1,
        why: `expected event ${seq} here`,
      })
    }
  })

  it('names events that changed places', () => {
    const index = log.lines.findIndex((line) => is('reserved')(bodyOf(line)))
    const [a = '', b = ''] = log.lines.slice(index, index + 2)
    const { broken } = verifyExport(log.lines.toSpliced(index, 2, b, a))
    expect(broken).toMatchObject({ stream: log.leaf.id, seq: bodyOf(b).seq })
  })

  it('names an event that stands there twice', () => {
    const doubled = log.lines.toSpliced(3, 0, log.lines[3] ?? '')
    expect(verifyExport(doubled).ok).toBe(false)
  })

  it('names a child’s tail that was cut, by the parent’s record of its end', () => {
    const index = log.lines.findLastIndex((line) => bodyOf(line).stream === log.leaf.id)
    expect(verifyExport(log.lines.toSpliced(index, 1)).broken).toMatchObject({
      stream: log.planner.id,
      why: 'the child did not end with this hash',
    })
  })

  it('names a whole stream that is missing', () => {
    const kept = log.lines.filter((line) => bodyOf(line).stream !== log.leaf.id)
    expect(verifyExport(kept).broken).toMatchObject({
      stream: log.planner.id,
      why: 'the stream of this child is missing',
    })
    const rootless = log.lines.filter((line) => bodyOf(line).stream !== log.root.id)
    expect(verifyExport(rootless).broken?.why).toBe('no split by its parent made this node')
    const nothing = log.lines.filter(
      (line) => bodyOf(line).run !== log.run.id || is('run_created')(bodyOf(line)),
    )
    expect(verifyExport(nothing).broken?.why).toBe('the stream of this root is missing')
  })

  it('names a tail that was cut everywhere, by a seal that was kept', () => {
    const ofRoot = log.ofRun.filter((line) => bodyOf(line).stream === log.root.id)
    const last = ofRoot.findIndex((line) => is('ended')(bodyOf(line)))
    const cut = log.ofRun.filter((line) => {
      const { stream, seq } = bodyOf(line)
      return stream !== log.root.id || seq <= last
    })
    expect(verifyExport(cut, { run: log.run.id })).toMatchObject({ ok: true })
    expect(verifyExport(cut, alone()).broken).toEqual({
      stream: log.root.id,
      seq: last + 1,
      why: 'the log ends before this seal',
    })
  })

  it('names a tail that was cut, by a receipt that was kept', () => {
    const ends = new Map<string, number>()
    for (const line of log.ofRun) {
      const { stream, seq, type } = bodyOf(line)
      if (ENDS.has(type)) ends.set(stream, ends.get(stream) ?? seq)
    }
    const seq = ends.get(log.leaf.id)
    const cut = log.ofRun.filter((line) => {
      const body = bodyOf(line)
      return body.seq < (ends.get(body.stream) ?? 0)
    })
    expect(verifyExport(cut, { run: log.run.id })).toMatchObject({ ok: true })
    const { seals, ...options } = alone()
    expect(verifyExport(cut, options).broken).toEqual({
      stream: log.leaf.id,
      seq,
      why: 'the log ends before this receipt',
    })
  })

  it('names an edited balance even when everything was hashed anew', () => {
    const richer = (body: Body) => {
      body.balances.available = (body.balances.available ?? 0) + 100
      body.balances.ceiling = (body.balances.ceiling ?? 0) + 100
    }
    const { broken } = verifyExport(forge(log.lines, richer, is('reserved')))
    expect(broken).toMatchObject({ stream: log.leaf.id })
    expect(broken?.why).toMatch(/^states ceiling 1100 where the events give 1000$/)
  })

  it('names money that is not conserved', () => {
    const more = (body: Body) => void Object.assign(body.balances, { available: 1 })
    expect(verifyExport(forge(log.lines, more, is('ended', log.leaf.id))).ok).toBe(false)
  })

  it('names a log that was forged throughout by a seal that was kept, and by nothing else', () => {
    expect(forge(log.lines, () => {}, is('refused'))).toEqual(log.lines)
    const forged = forge(log.lines, put({ at: NOW - 1 }), is('refused'))
    expect(verifyExport(forged)).toMatchObject({ ok: true })
    expect(verifyExport(forged, log.options).broken).toMatchObject({
      stream: log.root.id,
      why: 'the seal was given for another hash',
    })
  })

  const setTo = (key: string, value: unknown) => (body: Body) => {
    body.data[key] = value
  }

  it.each([
    ['a ceiling that was raised', 'opened', setTo('ceiling', 100_001)],
    ['a split of more', 'split', setTo('amount', 10_001)],
    ['more nodes than were allotted', 'split', setTo('nodes', 2_000)],
    ['a settlement of more', 'settled', setTo('amount', 1_001)],
    ['a release of less', 'released', setTo('amount', 1)],
    ['a return of less', 'returned', setTo('amount', 1)],
    ['a credit of less', 'credited', setTo('amount', 1)],
    ['a payee that is not the leaf’s', 'reserved', setTo('payee', 'stranger')],
    ['a quote that is not the leaf’s', 'reserved', setTo('quote', 'x'.repeat(43))],
    ['an approval that nobody gave', 'reserved', setTo('hold', 'hold_forged')],
    ['a payment that was never reserved', 'submitted', setTo('payment', 'pay_other')],
    ['a standing that was not live', 'reserved', setTo('standings', [1, 1, 2, 1])],
    ['a standing that never was', 'submitted', setTo('standings', [1, 1, 9, 1])],
    ['a path that is too short', 'submitted', setTo('standings', [1, 1])],
    ['a freeze whose version was left out', 'resumed', setTo('version', 5)],
    ['another mandate', 'run_created', setTo('mandate', 'm'.repeat(43))],
    ['another root', 'run_created', setTo('root', 'nd_other')],
    ['another sealed hash', 'sealed', setTo('seq', 2)],
    ['an unknown type', 'refused', put({ type: 'forgiven' })],
    ['another organisation', 'refused', put({ org: 'rival' })],
    ['another run', 'refused', put({ run: 'run_other' })],
    ['another version of the format', 'refused', put({ v: 2 })],
    ['a child that is wider than its parent', 'opened', setTo('expires', NOW)],
  ] as const)('names %s even when everything was hashed anew', (_name, type, change) => {
    const forged = forge(log.lines, change, is(type))
    const { ok, broken } = verifyExport(forged)
    expect(ok).toBe(false)
    expect(broken?.why).not.toMatch(/have the hash|not chained to the event/)
  })

  it('finds any one byte that was changed in any line', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 94 }), (row, column, shift) => {
        const index = row % log.lines.length
        const line = log.lines[index] ?? ''
        const at = column % line.length
        const byte = String.fromCharCode(32 + ((line.charCodeAt(at) - 32 + shift) % 95))
        const changed = `${line.slice(0, at)}${byte}${line.slice(at + 1)}`
        expect(verifyExport(log.lines.with(index, changed)).ok).toBe(false)
      }),
      { numRuns: 200 },
    )
  })

  it('finds any one line that was dropped, unless it is the open end of a stream', () => {
    const last = new Map(log.lines.map((line) => [bodyOf(line).stream, line]))
    for (const [index, line] of log.lines.entries()) {
      const isEnd = last.get(bodyOf(line).stream) === line
      const verdict = verifyExport(log.lines.toSpliced(index, 1), log.options)
      if (!isEnd) expect(verdict.ok).toBe(false)
    }
  })

  it('never throws for what a log holds', () => {
    const strange = [
      'not json',
      '[]',
      'null',
      '{"hash":1,"body":2}',
      '{"hash":"x","body":"[1]"}',
      JSON.stringify({ hash: 'x', body: '['.repeat(200_000) }),
      '['.repeat(200_000),
    ]
    for (const line of strange) expect(verifyExport([line]).ok).toBe(false)
    fc.assert(
      fc.property(fc.string(), (line) => {
        expect(verifyExport([line]).ok).toBe(line === '')
      }),
    )
  })
})

describe('seals and receipts', () => {
  const other = ed25519FromSeed(Buffer.alloc(32, 8))

  it('refuses a seal by another key, or by none that is known', () => {
    const account = { ...log.root, head: { seq: 1, hash: '' } }
    expect(account.id).toBe(log.root.id)
    const jwks = jwksOf(other, signer.kid)
    expect(verifyExport(log.lines, { ...log.options, jwks }).broken?.why).toBe(
      'the signature does not hold',
    )
    expect(verifyExport(log.lines, { seals: [log.seal] }).broken?.why).toBe(
      'the key set has no key of this signature',
    )
  })

  const claimsOf = (jws: string): { [key: string]: unknown } =>
    JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString())

  it.each([
    ['spent', 901],
    ['ceiling', 1],
    ['currency', 'USD'],
    ['mandate', 'm'.repeat(43)],
    ['run', 'run_other'],
  ])('refuses a seal that says another %s than the log', (claim, value) => {
    const claims = { ...claimsOf(log.seal), [claim]: value }
    const seal = signJws({ typ: 'seal+jwt', key: signer.key, kid: signer.kid, claims })
    expect(verifyExport(log.ofRun, { ...alone(), seals: [seal] }).ok).toBe(false)
  })

  it.each([
    ['amount', 899],
    ['payee', 'stranger'],
    ['quote', 'q'.repeat(43)],
    ['railReference', 'other'],
    ['payment', 'pay_other'],
    ['jti', 'rcpt_other'],
    ['run', 'run_other'],
  ])('refuses a receipt that says another %s than the log', (claim, value) => {
    const claims = { ...claimsOf(log.receipt), [claim]: value }
    const receipt = signJws({ typ: 'receipt+jwt', key: signer.key, kid: signer.kid, claims })
    expect(verifyExport(log.ofRun, { ...alone(), receipts: [receipt] }).ok).toBe(false)
  })

  it('refuses a receipt in the place of a seal', () => {
    expect(verifyExport(log.lines, { ...log.options, seals: [log.receipt] }).ok).toBe(false)
  })

  it('refuses a seal over something that is not the end of a root', () => {
    const opened = JSON.parse(
      log.lines.find((line) => is('opened', log.root.id)(bodyOf(line))) ?? '',
    )
    const claims = claimsOf(log.seal)
    const head = { stream: log.root.id, seq: 1, hash: opened.hash }
    const seal = signJws({
      typ: 'seal+jwt',
      key: signer.key,
      kid: signer.kid,
      claims: { ...claims, head },
    })
    expect(verifyExport(log.ofRun, { ...alone(), seals: [seal] }).broken?.why).toBe(
      'the seal is not over the end of a root',
    )
  })

  it('refuses a seal that is not the one that was recorded', async () => {
    const head = (claimsOf(log.seal) as { head: { seq: number; hash: string } }).head
    const account = { node: log.root.id, spent: 0, allotted: 900, head }
    const later = signSeal(log.run, account as never, signer, (NOW + 1) as never)
    expect(verifyExport(log.lines, { ...log.options, seals: [later] }).broken?.why).toBe(
      'another seal was recorded',
    )
  })
})

describe('alone, as an auditor runs it', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  beforeAll(async () => {
    folder = await temporaryFolder()
    const files = {
      'export.ndjson': `${log.lines.join('\n')}\n`,
      'seal.jws': `${log.seal}\n`,
      'receipt.jws': log.receipt,
      'jwks.json': JSON.stringify(log.options.jwks),
      'cut.ndjson': log.lines.slice(0, -1).join('\n'),
      'verify.ts': readFileSync(FILE, 'utf8'),
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text)
  })
  afterAll(() => folder.remove())

  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'verify.ts', ...args], {
      cwd: folder.path,
      encoding: 'utf8',
    })

  it('imports nothing but Node', () => {
    const imports = [...readFileSync(FILE, 'utf8').matchAll(/^import .*? from '(.*?)'$/gm)]
    expect(imports.length).toBeGreaterThan(0)
    for (const [, from] of imports) expect(from).toMatch(/^node:/)
  })

  it('exits with 2 and one line where something cannot be read', () => {
    const unreadable = [
      ['none.ndjson'],
      ['.'],
      ['export.ndjson', '--seal', 'none.jws'],
      ['export.ndjson', '--jwks', 'export.ndjson', '--seal', 'seal.jws'],
      ['--nonsense'],
    ]
    for (const args of unreadable) {
      const { status, stderr } = run(...args)
      expect([args, status, stderr.trim().split('\n').length]).toEqual([args, 2, 1])
    }
  })

  it('ends at a line that does not, and names it', () => {
    writeFileSync(join(folder.path, 'endless.ndjson'), '')
    truncateSync(join(folder.path, 'endless.ndjson'), 2 ** 31)
    const { status, stdout } = run('endless.ndjson')
    expect([status, stdout]).toMatchObject([1, /broken at line 1/])
  })

  it('exits with 0 and the totals of each run when all holds', () => {
    const { status, stdout } = run(
      ...['export.ndjson', '--seal', 'seal.jws', '--receipt', 'receipt.jws', '--jwks', 'jwks.json'],
    )
    expect(status).toBe(0)
    expect(stdout).toContain(`${log.run.id}: ceiling 100000, spent 900, reserved 0, left 99100`)
    expect(stdout).toContain('all hold')
  })

  it('takes a receipt as the gateway answers it', () => {
    const receipt = readFileSync(join(folder.path, 'receipt.jws'), 'utf8')
    writeFileSync(join(folder.path, 'receipt.json'), JSON.stringify({ id: 'rcpt_1', receipt }))
    const { status, stdout } = run(
      ...['export.ndjson', '--receipt', 'receipt.json', '--jwks', 'jwks.json'],
    )
    expect(stdout).toContain('all hold; verified with seals: 0, receipts: 1, checkpoints: 0')
    expect(status).toBe(0)
  })

  it('says so where nothing shows that the end was not cut off', () => {
    expect(run('export.ndjson').stdout).toContain('all hold; no seal, receipt or checkpoint')
  })

  it.each([
    ['a file that is not there', ['nothere.ndjson'], 'nothere.ndjson cannot be read'],
    ['a seal without keys', ['export.ndjson', '--seal', 'seal.jws'], 'expected --jwks'],
    [
      'keys that are none',
      ['export.ndjson', '--seal', 'seal.jws', '--jwks', 'seal.jws'],
      'expected a JSON Web Key Set',
    ],
    ['an option that it does not know', ['export.ndjson', '--sael', 'seal.jws'], '--sael'],
  ])('exits with 2 and one line, and judges nothing, for %s', (_what, args, why) => {
    const { status, stdout, stderr } = run(...args)
    expect(stderr).toContain(why)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(stdout).toBe('')
    expect(status).toBe(2)
  })

  it.each([['empty.ndjson'], []])('exits with 1 where there is nothing to verify', (...files) => {
    writeFileSync(join(folder.path, 'empty.ndjson'), '\n')
    const { status, stdout } = run(...files)
    expect(status).toBe(1)
    expect(stdout).toContain('nothing was verified')
    expect(stdout).not.toContain('all hold')
  })

  it('exits with 1 and names the first broken link', () => {
    const lines = log.lines.toSpliced(4, 1)
    writeFileSync(join(folder.path, 'broken.ndjson'), lines.join('\n'))
    const { status, stdout } = run('broken.ndjson')
    const { stream, seq } = bodyOf(log.lines[5] ?? '')
    expect(status).toBe(1)
    expect(stdout).toContain(`broken at ${stream} event ${seq}`)
  })
})
