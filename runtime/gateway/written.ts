/**
 * The amounts that a principal wrote: limits of the mandate, and sums of money in the words of its task. Only what stands
 * right beside a currency's sign or name is one. Where a sum can be read in two ways the smaller counts, and one that
 * cannot be read, or is in another currency, counts as nothing: what is larger than every one of them goes to a person.
 */
import type { Mandate } from '../core/mandate.ts'
import { type Currency, EXPONENTS, type Minor, minor, ZERO } from '../core/money.ts'

/** By name or sign, lower case. A currency that no payment of ours has is nobody's. */
const MARKS: Readonly<Record<string, Currency | 'other'>> = {
  ...{ '₹': 'INR', inr: 'INR', rs: 'INR', re: 'INR', rupee: 'INR', rupees: 'INR' },
  ...{ $: 'USD', usd: 'USD', dollar: 'USD', dollars: 'USD' },
  ...{ '¥': 'JPY', jpy: 'JPY', yen: 'JPY', 円: 'JPY' },
  ...{ kwd: 'KWD', kd: 'KWD', dinar: 'KWD', dinars: 'KWD' },
  ...{ '€': 'other', eur: 'other', euro: 'other', euros: 'other', '£': 'other', gbp: 'other' },
}

/** What one minor unit is called. */
const SMALL: Readonly<Record<string, Currency>> = {
  ...{ paise: 'INR', paisa: 'INR', cent: 'USD', cents: 'USD', fils: 'KWD' },
}

/** What stands before a sum, if not as a sign: of the names themselves only what is before them is one. */
const CODES: ReadonlySet<string> = new Set(['inr', 'rs', 're', 'usd', 'jpy', 'kwd', 'kd'])

/** ISO 4217; in capitals and beside a number, because some of them are words as well. */
const ISO: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))

/** Numbers with what may group or split them, signs, words; what stands between them may part them. */
const PIECES = /\d[\d.,]*|\p{N}+|[\p{Sc}円]|[\p{L}\p{M}]+/gu

interface Piece {
  readonly text: string
  /** What stands between the piece before and this one. */
  readonly gap: string
}

function piecesOf(text: string): readonly Piece[] {
  let end = 0
  return [...text.matchAll(PIECES)].map(({ 0: piece, index }) => {
    const gap = text.slice(end, index)
    end = index + piece.length
    return { text: piece, gap }
  })
}

/** As people write them: `1200`, `1,200.50`, `1,20,000`. */
const NUMBER = /^(\d+|\d{1,3}(?:,\d{2,3})*,\d{3})(?:\.(\d+))?$/

/** Minor units with so many places; what is finer is dropped. */
function read(text: string, places: number): Minor {
  const bare = text.replace(/[.,]+$/, '')
  // Of three places a comma may be the decimal one.
  const found = NUMBER.exec(
    places === 3 && /^\d+,\d{3}$/.test(bare) ? bare.replace(',', '.') : bare,
  )
  const [whole = '', fraction = ''] = [found?.[1]?.replaceAll(',', ''), found?.[2]]
  const digits = whole + fraction.slice(0, places).padEnd(places, '0')
  return found === null || digits.length > 15 ? ZERO : minor(Number(digits))
}

const isNumber = (piece: Piece | undefined): piece is Piece => /^\p{N}/u.test(piece?.text ?? '')
const isSign = ({ text }: Piece): boolean => /^[\p{Sc}円]$/u.test(text)

/** Whether this piece stands right beside the one before it, in the same line. */
const isBeside = (piece: Piece | undefined, mark?: string): boolean =>
  /^[^\S\n\r]*-?[^\S\n\r]*$/.test(piece?.gap ?? '\n') ||
  ((mark === 'rs' || mark === 're') && /^\. ?$/.test(piece?.gap ?? ''))

/** Of the mark at this place: whose, and how many places what it counts has. */
function markAt(
  pieces: readonly Piece[],
  at: number,
): { readonly of: Currency | 'other'; readonly places: number } | undefined {
  const piece = pieces[at]
  if (piece === undefined) return undefined
  const mark = piece.text.toLowerCase()
  const small = Object.hasOwn(SMALL, mark) ? SMALL[mark] : undefined
  if (small !== undefined) return { of: small, places: 0 }
  const of = Object.hasOwn(MARKS, mark) ? MARKS[mark] : undefined
  if (of !== undefined && of !== 'other') {
    // As in `HK$`.
    const word = piece.gap === '' && !isNumber(pieces[at - 1]) ? pieces[at - 1]?.text : undefined
    const isForeign = isSign(piece) && /^\p{L}/u.test(word ?? '') && word !== 'US'
    return isForeign ? OTHER : { of, places: EXPONENTS[of] }
  }
  if (of === 'other' || isSign(piece)) return OTHER
  const next = pieces[at + 1]
  const hasNumber =
    (isNumber(pieces[at - 1]) && isBeside(piece)) || (isNumber(next) && isBeside(next))
  return ISO.has(piece.text) && hasNumber ? OTHER : undefined
}

const OTHER = { of: 'other', places: 0 } as const

/** What the mark at this place says: the smaller of the numbers on its sides. */
function sumAt(pieces: readonly Piece[], at: number, currency: Currency): Minor | undefined {
  const [before, piece, after] = [pieces[at - 1], pieces[at], pieces[at + 1]]
  const mark = markAt(pieces, at)
  if (piece === undefined || mark === undefined) return undefined
  if (mark.of !== currency) return ZERO
  const name = piece.text.toLowerCase()
  const sums: Minor[] = []
  // After a comma something new begins.
  if (isNumber(before) && isBeside(piece) && !/[.,]$/.test(before.text)) {
    sums.push(
      isOthers(pieces, at - 2, { currency, joint: before }) ? ZERO : read(before.text, mark.places),
    )
  }
  if (isNumber(after) && isBeside(after, name) && (isSign(piece) || CODES.has(name))) {
    const joint = pieces[at + 2]
    sums.push(isOthers(pieces, at + 2, { currency, joint }) ? ZERO : read(after.text, mark.places))
  }
  return sums.length === 0 ? ZERO : minor(Math.min(...sums))
}

/** Whether a number has the mark of another currency on its far side; `joint` is the later of the two pieces. */
function isOthers(
  pieces: readonly Piece[],
  at: number,
  { currency, joint }: { readonly currency: Currency; readonly joint: Piece | undefined },
): boolean {
  const mark = isBeside(joint) ? markAt(pieces, at) : undefined
  return mark !== undefined && mark.of !== currency
}

/** Sums of money in a text, in minor units of this currency; 0 for one that says nothing certain. */
export function sumsIn(text: string, currency: Currency): readonly Minor[] {
  const pieces = piecesOf(text)
  return pieces.flatMap((_, at) => sumAt(pieces, at, currency) ?? [])
}

/** The largest of them; undefined where the principal wrote none. The ceiling is about the whole tree, and is none. */
export function writtenBy({
  task,
  currency,
  perPayment,
  approvalAbove,
}: Pick<Mandate, 'task' | 'currency' | 'perPayment' | 'approvalAbove'>): Minor | undefined {
  const limits = [perPayment, approvalAbove].filter((limit) => limit !== undefined)
  const all = [...limits, ...sumsIn(task, currency)]
  return all.length === 0 ? undefined : minor(Math.max(...all))
}
