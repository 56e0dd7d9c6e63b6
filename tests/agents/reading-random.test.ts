import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { renderTask } from '../../agents/scripted/render.ts'
import { readTask, type TaskLine } from '../../agents/scripted/task.ts'
import { CURRENCIES, type Currency } from '../../runtime/core/money.ts'
import { itemArbitrary, itemText, LISTS, lineOf, PROSE } from './styles.ts'

const items = fc.array(itemArbitrary, { minLength: 1, maxLength: 6 })
const currencies = fc.constantFrom(...CURRENCIES)

const linesOf = (task: string, currency: Currency): readonly TaskLine[] | string => {
  const reading = readTask(task, currency)
  return reading.kind === 'lines' ? reading.lines : reading.reason
}

describe('lists written in many ways', () => {
  it.each(LISTS)('read back to the same lines: %s', (_name, list) => {
    fc.assert(
      fc.property(items, currencies, (made, currency) => {
        const task = list(made.map((item) => itemText(item, currency)))
        expect(linesOf(task, currency), task).toEqual(made.map((item) => lineOf(item, [])))
      }),
      { numRuns: 150 },
    )
  })

  it.each(PROSE)('read back to the same lines in prose: %s', (_name, prose) => {
    fc.assert(
      fc.property(items, currencies, (made, currency) => {
        const task = prose(made.map((item) => itemText(item, currency, true)))
        expect(linesOf(task, currency), task).toEqual(made.map((item) => lineOf(item, [])))
      }),
      { numRuns: 150 },
    )
  })

  it('keep the headings that they stand under, in hashes, colons and indentation', () => {
    const groups = fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('Furniture', 'Kitchen', 'IT', 'Meeting room', 'The move'),
        inner: fc.option(fc.constantFrom('Large', 'Small things'), { nil: undefined }),
        members: fc.array(itemArbitrary, { minLength: 1, maxLength: 3 }),
      }),
      { minLength: 1, maxLength: 4, selector: ({ name }) => name },
    )
    fc.assert(
      fc.property(groups, currencies, fc.boolean(), (made, currency, isHash) => {
        const task = made
          .flatMap(({ name, inner, members }) => [
            isHash ? `# ${name}` : `${name}:`,
            ...(inner === undefined ? [] : [isHash ? `## ${inner}` : `  ${inner}:`]),
            ...members.map((item) => `    - ${itemText(item, currency)}`),
          ])
          .join('\n')
        const expected = made.flatMap(({ name, inner, members }) =>
          members.map((item) => lineOf(item, inner === undefined ? [name] : [name, inner])),
        )
        expect(linesOf(task, currency), task).toEqual(expected)
      }),
      { numRuns: 200 },
    )
  })
})

describe('what one planner hands to the next', () => {
  const texts = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    .map((text) =>
      text
        .normalize('NFKC')
        .replace(/["\n\r\u2028\u2029*_]|[^\S ]/gu, ' ')
        .trim(),
    )
    .filter((text) => /[\p{L}\p{N}]/u.test(text))
  const hard = fc.oneof(
    texts,
    fc.constantFrom(
      'salt and pepper shakers', 'desk, large', 'no chairs', 'up to 12 desks', 'chairs; lamps', 'max 500 each',
      'from Friday Furniture', '12', 'Thanks,', 'kettle (red)', 'Total:', 'http://example.com', '- desk', '# Desk',
    ), // biome-ignore format: a list of words
  )
  const lines = fc.array(
    fc.record({
      item: itemArbitrary,
      text: hard,
      wish: hard,
      path: fc.constantFrom([], ['A'], ['A', 'B'], ['C']),
    }),
    { minLength: 1, maxLength: 6 },
  )

  it('reads back to exactly the same lines, whatever their words say', () => {
    fc.assert(
      fc.property(lines, currencies, (made, currency) => {
        const wanted = made.map(({ item, text, wish, path }) => {
          return { ...lineOf(item, path), text: plain(text), prefer: [plain(wish)] }
        })
        const first = readTask(renderTask(inTreeOrder(wanted), [], currency), currency)
        expect(first).toEqual({ kind: 'lines', lines: inTreeOrder(wanted), caps: [] })
      }),
      { numRuns: 300 },
    )
  })
})

/** As the reader spells it: it knows one kind of dash and quote. */
const plain = (text: string): string => {
  const reading = readTask(`- 1 x "${text}"`, 'INR')
  if (reading.kind !== 'lines') throw new Error(reading.reason)
  return reading.lines[0]?.text ?? ''
}

function inTreeOrder(lines: readonly TaskLine[], depth = 0): readonly TaskLine[] {
  const own = lines.filter((line) => line.path.length === depth)
  const names = [...new Set(lines.flatMap((line) => line.path.slice(depth, depth + 1)))]
  return [
    ...own,
    ...names.flatMap((name) =>
      inTreeOrder(
        lines.filter((line) => line.path[depth] === name),
        depth + 1,
      ),
    ),
  ]
}
