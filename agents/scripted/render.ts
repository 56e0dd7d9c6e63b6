/** A task written so that it reads back to exactly the same lines: what one planner hands to the next. */
import type { Currency } from '../../runtime/core/money.ts'
import { writeAmount } from './amounts.ts'
import type { Cap, TaskLine } from './task.ts'

/** What stands in quotes is read as it is, so it may hold neither quotes nor line ends. */
const quoted = (text: string): string => `"${text.replace(/["\n]/g, ' ')}"`

function renderLine(line: TaskLine, currency: Currency): string {
  const details = [
    ...(line.maxUnit === undefined ? [] : [`at most ${writeAmount(line.maxUnit, currency)} each`]),
    ...(line.maxTotal === undefined
      ? []
      : [`at most ${writeAmount(line.maxTotal, currency)} in total`]),
    ...line.prefer.map((wish) => `prefer ${quoted(wish)}`),
  ]
  const end = details.length === 0 ? '' : ` (${details.join('; ')})`
  return `- ${line.quantity} x ${quoted(line.text)}${end}`
}

/** Lines under their headings, and the caps of those headings. */
export function renderTask(
  lines: readonly TaskLine[],
  caps: readonly Cap[],
  currency: Currency,
): string {
  const rows: string[] = []
  let shown: readonly string[] = []
  for (const line of lines) {
    const kept = sharedLength(shown, line.path)
    line.path.slice(kept).forEach((name, i) => {
      const path = line.path.slice(0, kept + i + 1)
      const cap = caps.find((one) => samePath(one.path, path))
      const most = cap === undefined ? '' : ` (at most ${writeAmount(cap.most, currency)} in total)`
      rows.push(`${'#'.repeat(Math.min(6, path.length))} ${name}${most}`)
    })
    shown = line.path
    rows.push(renderLine(line, currency))
  }
  return rows.join('\n')
}

export const samePath = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && sharedLength(a, b) === a.length

export function sharedLength(a: readonly string[], b: readonly string[]): number {
  let shared = 0
  while (shared < a.length && shared < b.length && a[shared] === b[shared]) shared += 1
  return shared
}
