/** The shape of a task on the page: headings, bullets, numbering, indentation, tables, plain rows and prose. */
import { startsAsItem } from './quantities.ts'
import { knownIn } from './stems.ts'
import { tokenise } from './tokens.ts'

/** One row to read, and where it stands. */
export interface Row {
  readonly text: string
  readonly indent: number
  readonly isBullet: boolean
  /** Its neighbours make it part of a list, so that a bare name is a thing to buy. */
  readonly isList: boolean
  /** Headings above it, outermost first. */
  readonly path: readonly string[]
}

interface RawRow {
  readonly text: string
  readonly indent: number
  readonly isBullet: boolean
  /** 1 to 6 for `#` to `######`, 0 for anything else. */
  readonly level: number
  readonly afterBlank: boolean
}

interface Heading {
  readonly name: string
  readonly kind: 'hash' | 'colon' | 'bullet'
  readonly level: number
  readonly indent: number
  hasBullets: boolean
}

const BULLET = /^(?:[-*•◦▪‣+—–]|\[[ xX]?\]|\d{1,3}[.)]|\(?[a-z]\)|☐|☑|✓)\s+(?:\[[ xX]?\]\s*)?/
const RULE = /^[-=*_—]{2,}$|^\|?[\s:|—-]+\|?$/
/** Below the head of a table: what stands above it names columns. */
const TABLE_RULE = /^\|?\s*:?-{2,}:?\s*\|[\s:|-]*$/
const CLOSING =
  /^(?:thanks|thank you|many thanks|regards|kind regards|best regards|best wishes|best,|cheers|sincerely|yours)\b/i

/** A row that only leads in to a list is no heading. */
const LEADS_IN =
  /\b(?:need|needs|want|wants|buy|order|purchase|get|following|below|require|required|procure|would like)\b|^(?:.*\b)?(?:list|items?|things|shopping)$/i

const isLeadIn = (name: string): boolean => LEADS_IN.test(name) && !/^\S+ things$/i.test(name)

function rawRows(text: string): readonly RawRow[] {
  const rows: RawRow[] = []
  let afterBlank = false
  for (const line of text.split('\n')) {
    const body = line.trim()
    if (TABLE_RULE.test(body) && rows[rows.length - 1]?.text.includes('|')) rows.pop()
    if (body === '') {
      afterBlank = true
      continue
    }
    if (CLOSING.test(body) && rows.length > 0) break
    const hashes = /^(#{1,6})\s*(.*)$/.exec(body)
    const underline = /^(?:={3,}|-{3,})$/.test(body)
    if (underline && !afterBlank && rows.length > 0) promote(rows, body[0] === '=' ? 1 : 2)
    else if (hashes) rows.push(raw(hashes[2] ?? '', 0, false, hashes[1]?.length ?? 1, afterBlank))
    else if (!RULE.test(body)) rows.push(bodyRow(line, body, afterBlank))
    afterBlank = false
  }
  return rows
}

const raw = (
  text: string,
  indent: number,
  isBullet: boolean,
  level: number,
  afterBlank: boolean,
): RawRow => ({ text: text.trim(), indent, isBullet, level, afterBlank })

function promote(rows: RawRow[], level: number): void {
  const last = rows.pop()
  if (last) rows.push({ ...last, level: last.level || level })
}

function bodyRow(line: string, body: string, afterBlank: boolean): RawRow {
  const indent = (/^[ \t]*/.exec(line)?.[0] ?? '').replaceAll('\t', '    ').length
  const bullet = BULLET.exec(body)
  const text = body.slice(bullet?.[0].length ?? 0).replace(/^\||\|$/g, '')
  return raw(text, indent, bullet !== null, 0, afterBlank)
}

/** A sentence that was broken over rows is one row again. */
function joined(rows: readonly RawRow[]): readonly RawRow[] {
  const whole: RawRow[] = []
  for (const row of rows) {
    const last = whole[whole.length - 1]
    const isPlain = row.level === 0 && !row.isBullet && !row.afterBlank && last?.level === 0
    if (last && isPlain && continues(last, row)) {
      whole[whole.length - 1] = { ...last, text: `${last.text} ${row.text}` }
    } else {
      whole.push(row)
    }
  }
  return whole
}

const OPEN_END =
  /(?:,|\b(?:and|or|of|the|a|an|with|for|in|to|from|at|than|them|most|under|max|plus|no|not|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen))$/i

function continues(last: RawRow, row: RawRow): boolean {
  if (last.text.includes('|') || row.text.includes('|')) return false
  if (last.isBullet) return row.indent > last.indent && !/[:]$/.test(row.text)
  if (OPEN_END.test(last.text)) return true
  if (looksLikeItem(last.text) || looksLikeItem(row.text)) return false
  return last.text.length >= 60 && /^[\p{Ll}]/u.test(row.text) && !/[.!?;:]$/.test(last.text)
}

const COUNT_MARK = /(?:^|\s)x ?\d|\(\d+\)|: ?\d|, ?\d+ (?:pcs|pieces)/

/** A row of its own in a list without bullets: it begins with a number, a thing or a count. */
function looksLikeItem(text: string): boolean {
  const [start = ''] = text.split(/[,(:;]/)
  return startsAsItem(tokenise(text)) || isThing(start) || COUNT_MARK.test(text)
}

/** Rows of one paragraph of which most begin like things to buy are a list. */
function listFlags(rows: readonly RawRow[]): readonly boolean[] {
  const flags: boolean[] = []
  let start = 0
  for (let end = 1; end <= rows.length; end += 1) {
    const row = rows[end]
    if (row && !row.afterBlank && row.level === 0) continue
    const group = rows.slice(start, end).filter((one) => one.level === 0)
    const likely = group.filter((one) => startsAsItem(tokenise(one.text)) || isThing(one.text))
    const isList = group.length >= 2 && likely.length * 2 > group.length
    for (let i = start; i < end; i += 1) {
      const text = rows[i]?.text ?? ''
      flags.push(isList && text.split(/\s+/).length <= 8)
    }
    start = end
  }
  return flags
}

const isThing = (text: string): boolean =>
  text.split(/\s+/).length <= 6 && !/[.?!]$/.test(text) && knownIn(text) !== undefined

class Outline {
  readonly stack: Heading[] = []

  push(heading: Heading): void {
    this.leave(heading)
    this.stack.push(heading)
  }

  /** Drops the headings that a new one ends. */
  private leave({ kind, level, indent }: Heading): void {
    for (;;) {
      const last = this.stack[this.stack.length - 1]
      if (last === undefined) return
      const isEnded =
        kind === 'hash'
          ? last.kind !== 'hash' || last.level >= level
          : last.kind !== 'hash' && last.indent >= indent
      if (!isEnded) return
      this.stack.pop()
    }
  }

  /** The headings over a row of content; those that it ends are dropped. */
  pathOf(row: RawRow): readonly string[] {
    for (;;) {
      const last = this.stack[this.stack.length - 1]
      if (last === undefined || last.kind === 'hash') break
      const isOver =
        row.indent < last.indent ||
        (last.kind === 'bullet' && row.indent <= last.indent) ||
        (last.kind === 'colon' && !row.isBullet && last.hasBullets && row.indent <= last.indent)
      if (!isOver) break
      this.stack.pop()
    }
    const top = this.stack[this.stack.length - 1]
    if (top && row.isBullet) top.hasBullets = true
    return this.stack.map((heading) => heading.name)
  }
}

/** The rows of a plain text, each with the headings that it stands under. */
export function rowsOf(text: string): readonly Row[] {
  const raws = joined(rawRows(text))
  const flags = listFlags(raws)
  const outline = new Outline()
  const rows: Row[] = []
  raws.forEach((row, i) => {
    const heading = headingOf(row, raws[i + 1])
    if (heading !== undefined) {
      outline.push(heading)
      return
    }
    if (row.text.endsWith(':') && isLeadIn(row.text.slice(0, -1))) return
    const path = outline.pathOf(row)
    const isList = row.isBullet || path.length > 0 || flags[i] === true
    rows.push({ text: row.text, indent: row.indent, isBullet: row.isBullet, isList, path })
  })
  return rows
}

function headingOf(row: RawRow, next: RawRow | undefined): Heading | undefined {
  const name = row.text.replace(/:$/, '').trim()
  const base = { name, level: row.level, indent: row.indent, hasBullets: false }
  if (name === '') return undefined
  if (row.level > 0) return { ...base, kind: 'hash' }
  if (row.text.endsWith(':')) return isLeadIn(name) ? undefined : { ...base, kind: 'colon' }
  if (next === undefined || !next.isBullet || !isBareName(row.text)) return undefined
  if (!row.isBullet) return isLeadIn(name) ? undefined : { ...base, kind: 'colon' }
  const isParent = next.indent > row.indent && startsAsItem(tokenise(next.text))
  return isParent ? { ...base, kind: 'bullet' } : undefined
}

/** A few words without a quantity, a limit or an end of sentence. */
const isBareName = (text: string): boolean =>
  text.split(/\s+/).length <= 5 && !/[.,;!?\d$₹¥€£]/.test(text) && !startsAsItem(tokenise(text))
