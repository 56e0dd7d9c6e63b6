import { describe, expect, it } from 'vitest'
import { pictureOf } from '../../runtime/cli/picture.ts'
import { type RunDetail, runDetailSchema } from '../../runtime/core/wire.ts'

const CHECKS = [
  'shape',
  'authenticity',
  'standing',
  'depth',
  'capability',
  'quote',
  'policy',
  'funds',
  'monitor',
] as const

const money = { ceiling: 0, available: 0, reserved: 0, spent: 0, allotted: 0 }
const node = (id: string, fields: object) => ({
  id: `nd_${id}`,
  standing: 'closed',
  payees: ['shop'],
  expiresAtSeconds: 2,
  seq: 1,
  ...money,
  ...fields,
})

const detail = (label: string): RunDetail =>
  runDetailSchema.parse({
    position: 9,
    run: {
      id: 'run_a',
      state: 'completed',
      principal: 'p',
      task: 't',
      currency: 'INR',
      ceiling: 100_000,
      root: 'nd_root',
      payees: ['shop'],
      createdAtSeconds: 1,
      expiresAtSeconds: 2,
      totals: { available: 60_000, reserved: 0, spent: 40_000 },
      heldCount: 0,
      frozen: false,
    },
    nodes: [
      node('root', { kind: 'planner', depth: 0, label: 'root', tokenCeiling: 100_000 }),
      node('look', { kind: 'looker', depth: 1, label, tokenCeiling: 0, parent: 'nd_root' }),
      node('line', { kind: 'planner', depth: 1, label, tokenCeiling: 80_000, parent: 'nd_root' }),
      node('leaf', {
        kind: 'leaf',
        depth: 2,
        label,
        tokenCeiling: 40_000,
        spent: 40_000,
        parent: 'nd_line',
        payment: { id: 'pay_a', payee: 'shop', amount: 40_000, state: 'settled' },
        lastChecks: CHECKS.map((name, i) => ({ n: i + 1, name, status: 'passed', ms: 0 })),
      }),
    ],
  })

describe('the picture of a run', () => {
  it('shows what each planner was given and what was spent below it', () => {
    const svg = pictureOf(detail('chairs'))
    expect(svg).toContain('>400.00 of 1,000.00<')
    expect(svg).toContain('>400.00 of 800.00<')
    expect(svg).toContain('INR 400.00 spent, INR 600.00 home again')
  })

  it('draws nine cells for a purchase, each with its check’s name', () => {
    const cells = pictureOf(detail('chairs')).match(/<title>\d \w+: passed<\/title>/g)
    expect(cells).toHaveLength(9)
  })

  it('lets no label leave its text', () => {
    const svg = pictureOf(detail('<script>"&\u202e'))
    expect(svg).not.toContain('<script')
    expect(svg).not.toContain('\u202e')
    expect(svg).toContain('&#60;script&#62;')
  })
})
