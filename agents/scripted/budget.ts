/**
 * Shares money among lines under headings. A line with limits gets its limit; what is left goes to the lines
 * without, by the weight of their category and their quantity. If the limits do not fit, all are scaled alike and
 * the units that rounding leaves go to the earliest. Nothing is invented: shares are whole and never exceed the sum.
 */
import { type Minor, minor } from '../../runtime/core/money.ts'
import { samePath } from './render.ts'
import { categoryOf } from './stems.ts'
import type { Cap, TaskLine } from './task.ts'

/** The most that a line may cost by its own words; undefined without limits. */
export function limitOf(
  line: Pick<TaskLine, 'quantity' | 'maxUnit' | 'maxTotal'>,
): number | undefined {
  const byUnit = line.maxUnit === undefined ? undefined : line.maxUnit * line.quantity
  const most = Math.min(
    byUnit ?? Number.POSITIVE_INFINITY,
    line.maxTotal ?? Number.POSITIVE_INFINITY,
  )
  return Number.isFinite(most) ? Math.min(most, Number.MAX_SAFE_INTEGER) : undefined
}

export const weightOf = (line: TaskLine): number => categoryOf(line.text).weight * line.quantity

interface Group {
  readonly most: number
  /** Indexes into the lines that stand directly here. */
  readonly own: number[]
  readonly groups: Group[]
}

/** Money for each line, in their order; `available` in minor units. */
export function shares(
  lines: readonly TaskLine[],
  caps: readonly Cap[],
  available: number,
): readonly Minor[] {
  const money = lines.map(() => 0)
  give(groupAt(lines, caps, []), lines, Math.floor(available), money)
  return money.map((amount) => minor(amount))
}

function groupAt(lines: readonly TaskLine[], caps: readonly Cap[], path: readonly string[]): Group {
  const most = caps.find((cap) => samePath(cap.path, path))?.most ?? Number.MAX_SAFE_INTEGER
  const group: Group = { most, own: [], groups: [] }
  const names = new Set<string>()
  lines.forEach((line, i) => {
    if (!samePath(line.path.slice(0, path.length), path)) return
    const name = line.path[path.length]
    if (name === undefined) group.own.push(i)
    else names.add(name)
  })
  for (const name of names) group.groups.push(groupAt(lines, caps, [...path, name]))
  return group
}

/** What one line or group asks for: `fixed` by limits, and a `weight` in what is left, up to `most`. */
interface Ask {
  readonly fixed: number
  readonly weight: number
  readonly most: number
  readonly take: (amount: number) => void
}

function give(group: Group, lines: readonly TaskLine[], amount: number, money: number[]): void {
  const asks = asksOf(group, lines, money)
  const given = divide(asks, Math.min(amount, group.most))
  asks.forEach((ask, i) => {
    ask.take(given[i] ?? 0)
  })
}

function asksOf(group: Group, lines: readonly TaskLine[], money: number[]): readonly Ask[] {
  const own = group.own.map((i): Ask => {
    const line = lines[i]
    const limit = line && limitOf(line)
    const weight = line && limit === undefined ? weightOf(line) : 0
    const take = (amount: number) => {
      money[i] = amount
    }
    return { fixed: limit ?? 0, weight, most: limit ?? Number.MAX_SAFE_INTEGER, take }
  })
  const groups = group.groups.map((inner): Ask => {
    const below = asksOf(inner, lines, [])
    const fixed = Math.min(inner.most, safeSum(below.map((ask) => ask.fixed)))
    const weight = safeSum(below.map((ask) => ask.weight))
    const most = weight > 0 ? inner.most : fixed
    return { fixed, weight, most, take: (amount) => give(inner, lines, amount, money) }
  })
  return [...own, ...groups]
}

const safeSum = (amounts: readonly number[]): number =>
  amounts.reduce((sum, amount) => Math.min(Number.MAX_SAFE_INTEGER, sum + amount), 0)

function divide(asks: readonly Ask[], amount: number): readonly number[] {
  const fixed = safeSum(asks.map((ask) => ask.fixed))
  const open = asks.filter((ask) => ask.weight > 0).length
  if (open === 0 && fixed <= amount) return asks.map((ask) => ask.fixed)
  if (fixed + open > amount) return proportional(wantsOf(asks, amount), amount)
  return fill(asks, amount - fixed)
}

/** When limits leave nothing over, lines without a limit ask for their share by weight. */
function wantsOf(asks: readonly Ask[], amount: number): readonly number[] {
  const weight = safeSum(asks.map((ask) => Math.max(1, ask.weight)))
  return asks.map(({ fixed, weight: own, most }) => {
    const byWeight = own === 0 ? 0 : Math.max(1, scale(amount, own, weight))
    return Math.min(most, Math.max(fixed, byWeight))
  })
}

/** `amount` in proportion to `wants`, each at most what it wants; the units left over go to the earliest. */
function proportional(wants: readonly number[], amount: number): readonly number[] {
  const total = wants.reduce((sum, want) => sum + BigInt(want), 0n)
  if (total <= BigInt(amount)) return wants
  const given = wants.map((want) => Number((BigInt(want) * BigInt(amount)) / total))
  let left = amount - given.reduce((sum, share) => sum + share, 0)
  return given.map((share, i) => {
    if (left === 0 || share >= (wants[i] ?? 0)) return share
    left -= 1
    return share + 1
  })
}

/** Fixed amounts, and `rest` by weight; what a cap refuses goes to the others. */
function fill(asks: readonly Ask[], rest: number): readonly number[] {
  const given = asks.map((ask) => ask.fixed)
  let left = rest
  for (;;) {
    const open = asks.map((ask, i) => ask.weight > 0 && (given[i] ?? 0) < ask.most)
    const weight = safeSum(asks.filter((_, i) => open[i]).map((ask) => ask.weight))
    if (weight === 0 || left === 0) return given
    const before = left
    asks.forEach((ask, i) => {
      if (!open[i]) return
      const room = ask.most - (given[i] ?? 0)
      const share = Math.min(room, left, scale(before, ask.weight, weight))
      given[i] = (given[i] ?? 0) + share
      left -= share
    })
    if (left === before) return spread(asks, given, left)
  }
}

/** The last few units, one each, the earliest first. */
function spread(asks: readonly Ask[], given: number[], units: number): readonly number[] {
  let left = units
  asks.forEach((ask, i) => {
    if (left === 0 || ask.weight === 0 || (given[i] ?? 0) >= ask.most) return
    given[i] = (given[i] ?? 0) + 1
    left -= 1
  })
  return given
}

const scale = (amount: number, part: number, whole: number): number =>
  Number((BigInt(amount) * BigInt(part)) / BigInt(whole))
