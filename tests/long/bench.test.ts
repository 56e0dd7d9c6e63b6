import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { bench } from '../../eval/bench/bench.ts'
import { atLeast, atMost, type Figure, type Suite } from '../../eval/bench/figure.ts'
import { inFolder, openStore } from '../../eval/bench/ledger/folder.ts'
import { copiesOf, writeRun } from '../../eval/bench/ledger/log.ts'
import { openPast } from '../../eval/bench/ledger/past.ts'
import { openRun, pay, paymentOf, splitLeaves } from '../../eval/bench/ledger/payments.ts'
import { tagOf, writePrototype } from '../../eval/bench/ledger/prototype.ts'
import { LEDGER } from '../../eval/bench/ledger/suite.ts'
import { SUITES } from '../../eval/bench/suites.ts'
import { compare, median, quantile, slope } from '../../eval/bench/timing.ts'
import { keyOf, leafAt, plannerAt, proofAt } from '../../eval/bench/tokens/chains.ts'
import { hostileShots } from '../../eval/bench/tokens/hostile.ts'
import { mintFigures, poolFigures, verifyFigures } from '../../eval/bench/tokens/suite.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { checkProof } from '../../runtime/tokens/proof.ts'

const suite = (name: string, ...figures: readonly Figure[]): Suite => ({
  name,
  about: `of ${name}`,
  measure: async ({ tell }) => {
    tell('measuring')
    return figures
  },
})

const ratio = (value: number): Figure => ({ name: 'ours to theirs', value, unit: 'times' })
const WITHIN = suite('light', atMost(2, ratio(2)), ratio(50), atLeast(0.8, ratio(0.8)))
const OVER = suite('heavy', atMost(2, ratio(2.01)))

async function run(args: readonly string[], suites: readonly Suite[] = [WITHIN, OVER]) {
  const said = { out: '', err: '' }
  const code = await bench(args, suites, {
    out: (text) => {
      said.out += text
    },
    err: (text) => {
      said.err += text
    },
  })
  return { code, ...said }
}

describe('the bench', () => {
  it('ends with 1 when any figure is over its bound, and says which', async () => {
    const { code, out } = await run([])
    expect(code).toBe(1)
    expect(out.split('\n').filter((line) => line.endsWith('over'))).toHaveLength(1)
    expect(out.split('\n').filter((line) => line.endsWith('ok'))).toHaveLength(2)
  })

  it('ends with 0 when every figure with a bound stands at it', async () => {
    expect((await run(['--only', 'light'])).code).toBe(0)
  })

  it('takes no number, and one below what it must at least be, for over', async () => {
    const nothing = suite('none', atMost(2, ratio(Number.NaN)))
    const slow = suite('slow', atLeast(0.85, ratio(0.849)))
    expect((await run([], [nothing])).code).toBe(1)
    expect((await run([], [slow])).code).toBe(1)
  })

  it('lets no bound decide when it is only tried', async () => {
    expect((await run(['--quick'])).code).toBe(0)
  })

  it('prints one JSON document of the machine and every figure, and progress elsewhere', async () => {
    const { code, out, err } = await run(['--json'])
    expect(code).toBe(1)
    expect(err).toContain('heavy: measuring')
    const document: unknown = JSON.parse(out)
    expect(document).toEqual({
      machine: {
        cores: expect.any(Number),
        node: process.version,
        loadAtStart: expect.any(Number),
      },
      suites: [
        {
          name: 'light',
          figures: [
            { ...ratio(2), bound: 2, sense: 'at most', within: true },
            ratio(50),
            { ...ratio(0.8), bound: 0.8, sense: 'at least', within: true },
          ],
        },
        {
          name: 'heavy',
          figures: [{ ...ratio(2.01), bound: 2, sense: 'at most', within: false }],
        },
      ],
    })
  })

  it.each([
    ['a suite that is not there', ['--only', 'light,none']],
    ['an option that is not there', ['--fast']],
    ['a word too many', ['light']],
  ])('takes %s for a mistake of the caller, and measures nothing', async (_what, args) => {
    const { code, out, err } = await run(args)
    expect(code).toBe(2)
    expect(out).toBe('')
    expect(err).toContain('Usage:')
    expect(err).not.toContain(': measuring')
  })

  it('ends with 1 and the reason when a measurement fails', async () => {
    const failing: Suite = {
      ...WITHIN,
      measure: () => Promise.reject(new Error('nothing to measure')),
    }
    const { code, out, err } = await run([], [failing])
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain('nothing to measure')
  })

  it('lists every suite without measuring any', async () => {
    const { code, out, err } = await run(['--list'], SUITES)
    expect([code, err]).toEqual([0, ''])
    for (const name of ['tokens', 'ledger']) expect(out).toContain(name)
  })
})

describe('timing', () => {
  it('finds medians, nearest ranks and slopes, and no number where there is nothing', () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([4, 1, 3, 2])).toBe(2.5)
    const hundred = Array.from({ length: 100 }, (_, i) => 100 - i)
    expect([quantile(hundred, 0.5), quantile(hundred, 0.99), quantile([7], 0.99)]).toEqual([
      50, 99, 7,
    ])
    expect(
      slope([
        [0, 5],
        [10, 25],
        [20, 45],
      ]),
    ).toBe(2)
    expect([median([]), quantile([], 0.5), slope([[1, 1]])]).toEqual([NaN, NaN, NaN])
  })

  it('warms both sides before it times either, and takes turns', async () => {
    const calls: string[] = []
    const side = (name: string) => ({
      run: () => void calls.push(name),
      between: () => void calls.push('-'),
    })
    const times = await compare([side('a'), side('b')], { warm: 1, batches: 2, size: 2 })
    expect(times).toHaveLength(2)
    expect(calls.join('')).toBe('a-b-a-a-b-b-a-a-b-b-')
  })
})

describe('the suite of the ledger', () => {
  it('measures every figure, each once and as a number, against the bounds that it states', async () => {
    const told: string[] = []
    const ask = { quick: true, tell: (text: string) => void told.push(text) }
    const figures = await LEDGER.measure(ask)
    expect(new Set(figures.map(({ name }) => name)).size).toBe(figures.length)
    expect(figures.filter(({ value }) => !Number.isFinite(value))).toEqual([])
    const bounds = figures.flatMap(({ sense, bound }) => (sense ? [`${sense} ${bound}`] : []))
    expect(bounds).toEqual([
      ...['at least 8', 'at most 3', 'at most 1.2', 'at most 1.2', 'at most 0.05', 'at least 8'],
      ...[`at least ${1 / 6}`, 'at least 0.05', 'at most 1.2'],
    ])
    expect(told.length).toBeGreaterThan(5)
  }, 60_000)

  it('verifies a log that is no copy of itself', async () => {
    const run = await writeRun(3)
    const log = copiesOf(run)
    const lines = Array.from({ length: 5 * run.length }, () => log.next().value.line)
    const verdict = verifyExport(lines)
    expect(verdict.broken).toBeUndefined()
    expect(verdict).toMatchObject({ events: lines.length, streams: 5 * 4 + 1 })
    expect(new Set(verdict.runs.map((of) => of.run)).size).toBe(5)
    expect(new Set(lines).size).toBe(lines.length)
    expect(verifyExport(lines.toSpliced(40, 1)).ok).toBe(false)
  })

  it('pays after a past that lies in every table, by the rules of all of them', async () => {
    await inFolder(async (folder) => {
      const path = join(folder, 'ledger.db')
      const first = await openStore(path)
      const story = await writePrototype(first, { leaves: 3, isClosed: false })
      const told = (await first.feed(story, 0, 1_000)).length
      await first.close()
      const past = openPast(path)
      past.add(1, 4)
      past.add(5, 9)
      past.close()
      const ledger = await openStore(path)
      const runs = await ledger.runs({ limit: 100 })
      const settled = await ledger.payments({ states: ['settled'], limit: 1_000 })
      expect([runs.length, settled.length]).toEqual([10, 30])
      for (const { id } of runs) expect(await ledger.feed(id, 0, 1_000)).toHaveLength(told)
      const { root } = await openRun(ledger, 'present')
      for (const leaf of await splitLeaves(ledger, root, 2)) await pay(ledger, paymentOf(leaf))
      await ledger.close()
      const db = new DatabaseSync(path)
      expect(db.prepare('PRAGMA foreign_key_check').all()).toEqual([])
      expect(db.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
      db.close()
    })
  })

  it('gives each copy a tag of its own', () => {
    const tags = new Set(Array.from({ length: 50_000 }, (_, i) => tagOf(i)))
    expect(tags.size).toBe(50_000)
    expect([...tags].filter((tag) => !/^[A-Za-z0-9]{8}$/.test(tag))).toEqual([])
  })
})

describe('the suite of tokens', () => {
  it('is about the same tokens and proofs in every run', () => {
    expect(leafAt(4)).toBe(leafAt(4))
    const proof = proofAt(4, leafAt(4))
    expect(proofAt(4, leafAt(4))).toEqual(proof)
    expect(checkProof(proof)).toMatchObject({ ok: true, holder: rawPublicKey(keyOf(5)) })
  })

  it('measures its cheap figures, each once and as a number', async () => {
    const told: string[] = []
    const ask = { quick: true, tell: (text: string) => void told.push(text) }
    const figures = [
      ...(await verifyFigures(ask)),
      ...(await poolFigures(ask)),
      ...(await mintFigures(ask)),
    ]
    expect(figures).toHaveLength(9)
    expect(new Set(figures.map(({ name }) => name)).size).toBe(9)
    expect(figures.filter(({ value }) => !Number.isFinite(value))).toEqual([])
    expect(figures.filter(({ bound }) => bound !== undefined).map(({ bound }) => bound)).toEqual([
      2.2, 2.8, 1.5,
    ])
    expect(told.length).toBeGreaterThan(0)
  }, 30_000)

  it('throws twenty kinds of token, most of them small enough to be looked into', async () => {
    const insider = { token: plannerAt(0), holder: keyOf(1) }
    const shots = await hostileShots({ insider, stolen: leafAt(4), nodesPath: '/runs/r/nodes' })
    expect(shots).toHaveLength(20)
    expect(new Set(shots.map(({ kind }) => kind)).size).toBe(20)
    const unread = shots.filter(({ token }) => token.length > LIMITS.tokenChars)
    expect(unread.map(({ kind }) => kind)).toEqual(['10,000 blocks', '5 MB of token'])
  })
})
