/** Links alone: what somebody who verified a log once asks of a copy of it. And how lines are read. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { linesIn, verifyExport } from '../../runtime/audit/verify.ts'
import { eventHash } from '../../runtime/core/events.ts'
import { canonicalJson } from '../../runtime/core/json.ts'
import { ed25519FromSeed } from '../../runtime/core/keys.ts'
import { NOW } from '../support/ledger.ts'
import { temporaryFolder } from '../support/sqlite.ts'
import { type Body, bodyOf, forge, jwksOf, signer, type Written, writtenLog } from './log.ts'

let log: Written
let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  log = await writtenLog()
  folder = await temporaryFolder()
})
afterAll(() => folder.remove())

const is = (type: string) => (body: Body) => body.type === type

const links = (lines: Iterable<string>, options: object = {}) =>
  verifyExport(lines, { links: true, ...options })

/** One event with another text, under that text's own hash. */
function rewritten(type: string, text: (body: Body) => string): string[] {
  const at = log.lines.findLastIndex((line) => is(type)(bodyOf(line)))
  const body = text(bodyOf(log.lines[at] ?? ''))
  return log.lines.with(at, JSON.stringify({ hash: eventHash(body), body }))
}

describe('links alone', () => {
  it('hold for an honest log with its seal and receipt, and say nothing of balances', () => {
    expect(links(log.lines, log.options)).toEqual({
      ok: true,
      events: log.lines.length,
      streams: 10,
      runs: [],
    })
    expect(links(log.ofRun, { ...log.options, run: log.run.id })).toMatchObject({ ok: true })
  })

  it('name an edited byte, an event that was dropped, and one that changed places', () => {
    const edited = log.lines.map((line) => line.replace(/\\"amount\\":900/, '\\"amount\\":901'))
    expect(links(edited).broken?.why).toBe('the text does not have the hash that is given for it')
    const at = log.lines.findIndex((line) => is('reserved')(bodyOf(line)))
    const { stream, seq } = bodyOf(log.lines[at] ?? '')
    const dropped = { stream, seq: seq + 1, why: `expected event ${seq} here` }
    expect(links(log.lines.toSpliced(at, 1)).broken).toEqual(dropped)
    const [a = '', b = ''] = log.lines.slice(at, at + 2)
    expect(links(log.lines.toSpliced(at, 2, b, a)).broken).toMatchObject({ stream })
  })

  it('name one event that was hashed anew by the one after it', () => {
    const changed = rewritten('reserved', (body) => canonicalJson({ ...body, at: NOW - 1 }))
    expect(links(changed).broken?.why).toBe('not chained to the event before it')
  })

  it('name a child that is missing, cut short or chained to another split', () => {
    const without = log.lines.filter((line) => bodyOf(line).stream !== log.leaf.id)
    expect(links(without).broken?.why).toBe('the stream of this child is missing')
    const last = log.lines.findLastIndex((line) => bodyOf(line).stream === log.leaf.id)
    expect(links(log.lines.toSpliced(last, 1)).broken?.why).toBe(
      'the child did not end with this hash',
    )
    const orphan = log.lines.filter((line) => bodyOf(line).stream !== log.planner.id)
    expect(links(orphan).broken).toBeDefined()
  })

  it('name a tail that was cut, or a log that was forged throughout, by a seal that was kept', () => {
    const forged = forge(
      log.lines,
      (body) => void Object.assign(body, { at: NOW - 1 }),
      is('refused'),
    )
    expect(links(forged)).toMatchObject({ ok: true })
    expect(links(forged, { ...log.options, receipts: [] }).broken?.why).toBe(
      'the seal was given for another hash',
    )
    const jwks = jwksOf(ed25519FromSeed(Buffer.alloc(32, 8)), signer.kid)
    expect(links(log.lines, { ...log.options, jwks }).broken?.why).toBe(
      'the signature does not hold',
    )
  })

  it('hold where only the meaning is wrong, which the whole verification names', () => {
    const richer = (body: Body) => {
      body.balances.available = (body.balances.available ?? 0) + 100
      body.balances.ceiling = (body.balances.ceiling ?? 0) + 100
    }
    const forged = forge(log.lines, richer, is('reserved'))
    expect(links(forged)).toMatchObject({ ok: true })
    expect(verifyExport(forged)).toMatchObject({ ok: false })
  })
})

describe('a text', () => {
  // The last event of all: nothing is chained to it.
  const withData = (data: string) =>
    rewritten('operator', (body) => {
      const [before, after] = canonicalJson({ ...body, data: 0 }).split('"data":0')
      return `${before}"data":${data}${after}`
    })

  it.each([
    ['keys in their order', '{"a":1,"b":{"c":[{"d":1,"e":2}]}}'],
    ['keys that look like numbers, in the order of their texts', '{"1":1,"10":1,"2":1}'],
    ['characters that are written as themselves', '{"a":"é€\u{1f600}\\u0001"}'],
  ])('is canonical with %s', (_what, data) => {
    expect(verifyExport(withData(data)).broken).toBeUndefined()
  })

  it.each([
    ['keys out of order', '{"b":1,"a":1}'],
    ['keys out of order deep below', '{"a":[[{"c":1,"b":1}]]}'],
    ['keys that look like numbers, in the order of the numbers', '{"1":1,"2":1,"10":1}'],
    ['a key twice', '{"a":1,"a":1}'],
    ['space between', '{"a": 1}'],
    ['a number written otherwise', '{"a":1.0}'],
    ['a character escaped without need', '{"a":"\\u0041"}'],
  ])('is not canonical with %s', (_what, data) => {
    expect(verifyExport(withData(data)).broken?.why).toBe('the text is not canonical')
  })
})

describe('lines of a file', () => {
  const inFile = (text: string): string[] => {
    const file = join(folder.path, 'lines')
    writeFileSync(file, text)
    return [...linesIn(file)]
  }

  it('are those of its text, however long each is and wherever it is cut', () => {
    const long = `${'é'.repeat(700_000)}x`
    for (const text of ['', '\n', 'a', 'a\n', '\na\n\nb', `${long}\n${long}\nend\n`, `x${long}`]) {
      expect(inFile(text)).toEqual(text.split('\n'))
    }
  })
})

describe('alone, as an auditor runs it', () => {
  const file = fileURLToPath(new URL('../../runtime/audit/verify.ts', import.meta.url))
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', file, ...args], {
      cwd: folder.path,
      encoding: 'utf8',
    })

  it('says of links that only they hold', () => {
    writeFileSync(join(folder.path, 'export.ndjson'), `${log.lines.join('\n')}\n`)
    const { status, stdout } = run('export.ndjson', '--links')
    expect(stdout).toBe(
      `${log.lines.length} events, 10 streams: all links hold; what they say was not looked at; ` +
        'no seal, receipt or checkpoint was given, and only they show that the end was not cut off\n',
    )
    expect(status).toBe(0)
  })

  it('says how it is called', () => {
    const { status, stdout } = run('--help')
    for (const option of ['--run', '--seal', '--receipt', '--checkpoint', '--jwks', '--links']) {
      expect(stdout).toContain(`  ${option} `)
    }
    expect(status).toBe(0)
  })
})
