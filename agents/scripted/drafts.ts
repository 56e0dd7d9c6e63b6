/** Lines while they are read: what later words still change. */
import type { Minor } from '../../runtime/core/money.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Limit } from './segments.ts'

/** One thing to buy, as read so far. */
export interface Draft {
  text: string
  quantity: number
  /** A number was given, so that another one would contradict it. */
  isCounted: boolean
  /** Something besides its name says that it is wanted. */
  isEvident: boolean
  maxUnit?: Minor
  maxTotal?: Minor
  readonly prefer: string[]
  readonly path: readonly string[]
}

/** Of two limits on the same thing the smaller holds. */
export function applyLimit(draft: Draft, { scope, amount }: Limit): void {
  draft.isEvident = true
  if (scope === 'unit' || scope === 'open') draft.maxUnit = least(draft.maxUnit, amount)
  else draft.maxTotal = least(draft.maxTotal, amount)
}

export const least = (a: Minor | undefined, b: Minor): Minor => (a === undefined || b < a ? b : a)

export function addWish(draft: Draft, wish: string): void {
  const text = wish.trim().slice(0, 200)
  if (text !== '' && !draft.prefer.includes(text) && draft.prefer.length < 20) {
    draft.prefer.push(text)
  }
}

/** `two of them standing`: parts some of a line off as a line of its own, with its limits and wishes. */
export function partOff(draft: Draft, n: number, words: string): Draft {
  const part: Draft = {
    text: `${words} ${draft.text}`.trim(),
    quantity: n,
    isCounted: true,
    isEvident: true,
    prefer: [...draft.prefer],
    path: draft.path,
    ...(draft.maxUnit === undefined ? {} : { maxUnit: draft.maxUnit }),
  }
  if (draft.maxTotal !== undefined) {
    const share = minor(Math.floor((draft.maxTotal / draft.quantity) * n))
    if (share > 0) part.maxTotal = share
    draft.maxTotal = minor(draft.maxTotal - share)
  }
  draft.quantity -= n
  return part
}
