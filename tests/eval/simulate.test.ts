/** The simulation itself: it finds nothing in the product, everything that is planted, and the same thing each time. */
import { describe, expect, it } from 'vitest'
import { PLANTED } from '../../eval/simulate/planted.ts'
import { runSeed } from '../../eval/simulate/seed.ts'
import { simulate } from '../../eval/simulate/simulate.ts'

const seeds = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

describe('the money path, simulated', () => {
  it('holds every claim in each of twelve histories full of faults', async () => {
    for (const seed of seeds(1, 12)) {
      const { violation } = await runSeed(seed)
      expect({ seed, violation }).toEqual({ seed, violation: undefined })
    }
  })

  it('lives the same history twice from one seed, and another from another', async () => {
    const [first, again, other] = [await runSeed(7), await runSeed(7), await runSeed(8)]
    expect(again.digest).toBe(first.digest)
    expect(again.trace).toEqual(first.trace)
    expect(other.digest).not.toBe(first.digest)
  })
})

/** Where a fault is not seen within the first seeds, the first of those that show it soonest. */
const FROM: { readonly [name: string]: number } = {
  'standing is not judged again when money moves': 28,
}

describe('a planted fault is found', () => {
  it.each(Object.entries(PLANTED))('%s', async (name, planted) => {
    const found: string[] = []
    for (const seed of seeds(FROM[name] ?? 1, 8)) {
      const { violation } = await runSeed(seed, planted)
      if (violation !== undefined) found.push(violation)
      if (found.length > 0) break
    }
    expect(found).toHaveLength(1)
  })
})

async function run(...args: readonly string[]) {
  const said = { out: '', err: '' }
  const code = await simulate(args, {
    out: (text) => {
      said.out += text
    },
    err: (text) => {
      said.err += text
    },
  })
  return { code, ...said }
}

describe('npm run simulate', () => {
  it('prints one JSON document, and ends with 0 where nothing goes wrong', async () => {
    const { code, out, err } = await run('--seeds', '2', '--json')
    expect([code, err]).toEqual([0, ''])
    expect(JSON.parse(out)).toMatchObject({ seeds: 2, violations: 0, first: [] })
  })

  it('ends with 1 where a seed goes wrong, and says how to see it again', async () => {
    const name = 'a sum above what was asked is clipped'
    const { code, out } = await run('--seeds', '8', '--planted', name)
    expect(code).toBe(1)
    expect(out).toMatch(
      new RegExp(`^again: npm run simulate -- --seed \\d+ --trace --planted "${name}"$`, 'm'),
    )
  })

  it('says how it is used, with what can be planted', async () => {
    const { code, out, err } = await run('--help')
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('--trace')
    for (const name of Object.keys(PLANTED)) expect(out).toContain(`\n  ${name}\n`)
  })

  it.each([
    ['an option that is not there', ['--fast']],
    ['a word too many', ['12']],
    ['no number', ['--seeds', 'x']],
    ['no seeds at all', ['--seeds', '0']],
    ['a seed that is below 1', ['--seed=-1']],
    ['a fault that nobody wrote', ['--planted', 'toString']],
  ])('takes %s for a mistake of the caller, and simulates nothing', async (_what, args) => {
    const { code, out, err } = await run(...args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/^simulate: .+\n\nUsage: /)
  })
})
