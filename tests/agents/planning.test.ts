import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAgents } from '../../agents/agents.ts'
import { limitOf } from '../../agents/scripted/budget.ts'
import { createScriptedModel } from '../../agents/scripted/model.ts'
import { planTask } from '../../agents/scripted/plan.ts'
import { readTask } from '../../agents/scripted/task.ts'
import type { Need, Plan, PlanPart, PlanRequest } from '../../runtime/core/agents.ts'
import { CURRENCIES, minor } from '../../runtime/core/money.ts'
import { itemArbitrary, itemText } from './styles.ts'

const request = (over: Partial<PlanRequest> & { task: string }): PlanRequest => ({
  currency: 'INR',
  available: minor(10_000_000),
  depthLeft: 4,
  nodesLeft: 500,
  fanOut: 32,
  payees: [],
  ...over,
})

const partsOf = (plan: Plan): readonly PlanPart[] => {
  if (plan.kind !== 'parts') throw new Error(plan.reason)
  return plan.parts
}

const labels = (plan: Plan) => partsOf(plan).map((part) => `${part.kind} ${part.label}`)

interface Leaf {
  readonly need: Need
  readonly ceiling: number
}

/** Plans every branch as a planner below would, down to the purchases. */
function allPurchases(plan: Plan, given: PlanRequest): readonly Leaf[] {
  return partsOf(plan).flatMap((part): readonly Leaf[] => {
    if (part.kind === 'purchase') return [{ need: part.need, ceiling: part.ceiling }]
    const below = {
      ...given,
      task: part.task,
      available: part.ceiling,
      depthLeft: given.depthLeft - 1,
      nodesLeft: part.nodes ?? given.nodesLeft,
    }
    return allPurchases(planTask(below), below)
  })
}

const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0)

const OFFICE = `# Furniture
## Desks
- 4 standing desks, at most 25,000 each
- 2 oak desks
## Seating
- 4 ergonomic chairs
# Kitchen
- kettle
- coffee machine`

describe('the shape of a plan', () => {
  it('gives a branch to each category where three levels are left', () => {
    expect(labels(planTask(request({ task: OFFICE })))).toEqual([
      'branch Furniture',
      'branch Kitchen',
    ])
  })

  it('goes on below: sub-headings, then lines, then purchases', () => {
    const [furniture] = partsOf(planTask(request({ task: OFFICE })))
    if (furniture?.kind !== 'branch') throw new Error('expected a branch')
    const below = request({ task: furniture.task, depthLeft: 3, available: furniture.ceiling })
    expect(labels(planTask(below))).toEqual(['branch Desks', 'branch Seating'])
    const [desks] = partsOf(planTask(below))
    if (desks?.kind !== 'branch') throw new Error('expected a branch')
    const lines = planTask(request({ task: desks.task, depthLeft: 2, available: desks.ceiling }))
    expect(labels(lines)).toEqual(['branch 4 × standing desks', 'branch 2 × oak desks'])
    const [line] = partsOf(lines)
    if (line?.kind !== 'branch') throw new Error('expected a branch')
    const last = planTask(request({ task: line.task, depthLeft: 1, available: line.ceiling }))
    expect(labels(last)).toEqual(['purchase 4 × standing desks'])
  })

  it('groups by what things are where the task has no headings, unknown ones under Other', () => {
    const task = '2 desks; 3 chairs; a kettle; 5 quarbs'
    expect(labels(planTask(request({ task })))).toEqual([
      'branch Furniture',
      'branch Kitchen',
      'branch Other',
    ])
  })

  it('gives a branch to each line of a single category, and buys a single line itself', () => {
    expect(labels(planTask(request({ task: '2 desks; 3 chairs' })))).toEqual([
      'branch 2 × desks',
      'branch 3 × chairs',
    ])
    expect(labels(planTask(request({ task: '2 desks' })))).toEqual(['purchase 2 × desks'])
  })

  it('buys everything itself where no level of planners is left', () => {
    const plan = planTask(request({ task: OFFICE, depthLeft: 1 }))
    expect(partsOf(plan).every((part) => part.kind === 'purchase')).toBe(true)
    expect(partsOf(plan)).toHaveLength(5)
  })

  it('gets flatter when nodes are short', () => {
    const plan = planTask(request({ task: OFFICE, nodesLeft: 12 }))
    expect(partsOf(plan).map((part) => part.kind)).toEqual(Array(5).fill('purchase'))
  })

  it('puts neighbours together when children are short', () => {
    const task = Array.from({ length: 12 }, (_, i) => `- ${i + 1} desks`).join('\n')
    const plan = planTask(request({ task, fanOut: 5 }))
    expect(partsOf(plan).length).toBeLessThanOrEqual(3)
    expect(
      allPurchases(plan, request({ task, fanOut: 5 })).map(({ need }) => need.quantity),
    ).toEqual(Array.from({ length: 12 }, (_, i) => i + 1))
  })
})

describe('the money of a plan', () => {
  const items = fc.array(itemArbitrary, { minLength: 1, maxLength: 8 })
  const headings = fc.array(
    fc.constantFrom('', '# A', '# B', '## C', '# D (at most 500 in total)'),
    {
      minLength: 8,
      maxLength: 8,
    },
  )

  it('never exceeds what is available, a line’s limits or a heading’s, at any level', () => {
    const numbers = fc.record({
      available: fc.oneof(fc.nat(20), fc.nat(50_000_000)),
      depthLeft: fc.integer({ min: 1, max: 6 }),
      nodesLeft: fc.integer({ min: 0, max: 200 }),
      fanOut: fc.integer({ min: 1, max: 40 }),
    })
    fc.assert(
      fc.property(
        items,
        headings,
        fc.constantFrom(...CURRENCIES),
        numbers,
        (made, heads, currency, n) => {
          const rows = made.flatMap((item, i) => [heads[i] ?? '', `- ${itemText(item, currency)}`])
          const given = request({
            task: rows.join('\n'),
            currency,
            ...n,
            available: minor(n.available),
          })
          const plan = planTask(given)
          expect(sum(partsOf(plan).map((part) => part.ceiling))).toBeLessThanOrEqual(n.available)
          const leaves = allPurchases(plan, given)
          expect(sum(leaves.map(({ ceiling }) => ceiling))).toBeLessThanOrEqual(n.available)
          for (const { need, ceiling } of leaves) {
            expect(Number.isSafeInteger(ceiling)).toBe(true)
            expect(ceiling).toBeLessThanOrEqual(limitOf(need) ?? Number.MAX_SAFE_INTEGER)
          }
          const reading = readTask(given.task, currency)
          if (reading.kind !== 'lines') throw new Error(reading.reason)
          expect(leaves).toHaveLength(reading.lines.length)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('gives lines their limits and shares the rest by weight and quantity', () => {
    const plan = planTask(
      request({
        task: '2 desks at most 100 each; 1 chair; 2 chairs',
        depthLeft: 1,
        available: minor(50_000),
      }),
    )
    expect(partsOf(plan).map((part) => part.ceiling)).toEqual([20_000, 10_000, 20_000])
  })

  it('scales limits that do not fit alike, the earliest taking what rounding leaves', () => {
    const task = '1 desk at most 100; 1 chair at most 100; 1 sofa at most 100'
    const plan = planTask(request({ task, depthLeft: 1, available: minor(10_000) }))
    expect(partsOf(plan).map((part) => part.ceiling)).toEqual([3334, 3333, 3333])
  })

  it('holds a limit for the whole task', () => {
    const task = 'Budget: 50\n- 1 desk\n- 1 chair'
    const plan = planTask(request({ task, depthLeft: 1 }))
    expect(sum(partsOf(plan).map((part) => part.ceiling))).toBe(5000)
  })
})

describe('the second round', () => {
  const need = (text: string): Need => ({ text, quantity: 1, prefer: [] })
  const short = (text: string, cheapest?: number) => ({
    label: text,
    need: need(text),
    reason: 'over_budget' as const,
    ...(cheapest === undefined ? {} : { cheapest: minor(cheapest) }),
  })
  const task = '1 desk; 1 chair; 1 kettle; 1 sofa'

  it('plans only what more money helps, the smallest first, within what is left', () => {
    const plan = planTask(
      request({
        task,
        available: minor(1000),
        outcomes: [
          short('desk', 900),
          short('chair', 300),
          short('sofa'),
          { ...short('kettle', 10), reason: 'refused' },
        ],
      }),
    )
    expect(partsOf(plan)).toEqual([
      { kind: 'purchase', label: 'chair', need: need('chair'), ceiling: 330 },
    ])
  })

  it('plans nothing for an offer that the line’s own limit forbids', () => {
    const limited = { ...short('desk', 900), need: { ...need('desk'), maxUnit: minor(800) } }
    const plan = planTask(request({ task, available: minor(5000), outcomes: [limited] }))
    expect(partsOf(plan)).toEqual([])
  })

  it('keeps the whole task’s limit, counting what the first round used', () => {
    const capped = `Budget: 10\n${task}`
    const again = (used: number) =>
      planTask(
        request({
          task: capped,
          available: minor(5000),
          used: minor(used),
          outcomes: [short('desk', 400)],
        }),
      )
    expect(partsOf(again(500))).toHaveLength(1)
    expect(partsOf(again(700))).toHaveLength(0)
  })
})

describe('planning through the port', () => {
  const agents = createAgents(createScriptedModel())
  const { signal } = new AbortController()

  it('answers the same request always the same way, at no cost', async () => {
    const first = await agents.plan(request({ task: OFFICE }), signal)
    expect(await agents.plan(request({ task: OFFICE }), signal)).toEqual(first)
    expect(first.usage).toEqual({ calls: 1, inputTokens: 0, outputTokens: 0, costMicros: 0 })
    expect(first.model).toBe('scripted-1')
  })

  it('says what to change in a task that cannot be read', async () => {
    const { plan } = await agents.plan(request({ task: 'some chairs' }), signal)
    expect(plan).toEqual({
      kind: 'unreadable',
      reason: '"some chairs" does not say how many: write a number.',
    })
  })

  it('reads any text without failing', () => {
    const soup = fc.array(
      fc.constantFrom(
        'desk', 'chairs', 'and', 'or', 'no', 'not', 'up to', 'max', 'each', '12', '1,5', 'x', ',', ';', ':', '(', ')',
        '"', '#', '-', '\n', '\n- ', '\n  - ', '₹', 'USD', 'of them', 'two', 'a', 'preferably', 'from', 'per', '/', 'k',
        'in total', 'the rest', 'some', 'total', '%', '|', '\n---\n', 'if possible', 'between', 'dozen', 'kg',
      ), // biome-ignore format: a list of words
      { maxLength: 40 },
    )
    const texts = fc.oneof(
      soup.map((words) => words.join(' ')),
      fc.string({ unit: 'binary', maxLength: 200 }),
    )
    fc.assert(
      fc.property(texts, (task) => {
        const plan = planTask(request({ task }))
        if (plan.kind === 'parts') {
          expect(sum(plan.parts.map((part) => part.ceiling))).toBeLessThanOrEqual(10_000_000)
        } else expect(plan.reason).not.toBe('')
      }),
      { numRuns: 1500 },
    )
  })

  it('ends soon for a task of the greatest length', () => {
    for (const unit of [
      'and ',
      'a, ',
      '12 x ',
      'up to ',
      '( ',
      '"',
      'from and ',
      '1,',
      '\n- x ',
      'no ',
    ]) {
      const task = unit.repeat(Math.ceil(8000 / unit.length)).slice(0, 8000)
      expect(['parts', 'unreadable']).toContain(planTask(request({ task })).kind)
    }
  })
})
