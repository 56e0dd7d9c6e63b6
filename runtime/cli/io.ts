/**
 * How commands speak: data on stdout, everything else on stderr, colour only where a terminal shows it and never
 * as the only sign. Text that an outsider wrote is made visible before it reaches a terminal, because a terminal
 * obeys control characters.
 */
import type { Environment } from '../config.ts'
import type { Clock } from '../core/time.ts'

export interface Io {
  /** Writes data. */
  out(text: string): void
  /** Writes what is for a person only. */
  err(text: string): void
  /** Whether stdout is a terminal that can be drawn on. */
  readonly isTerminal: boolean
  readonly columns: number
  readonly rows: number
  readonly colour: boolean
  /** Asks a person at the terminal; undefined when nobody can be asked. */
  ask(question: string): Promise<string | undefined>
  /**
   * Asks without echo; where there is no terminal, one line of stdin if that may be meant. Undefined when nobody can be
   * asked, or nothing more comes.
   */
  askSecret(question: string, from: 'terminal' | 'stdin'): Promise<string | undefined>
  readonly environment: Environment
  readonly clock: Clock
  /** Aborted by Ctrl-C and by SIGTERM. */
  readonly signal: AbortSignal
}

const TONES = { good: 34, held: 33, refused: 31, frozen: 35, idle: 90, strong: 1 } as const

export type Tone = keyof typeof TONES

/** Colours a word; the word itself must already say it. */
export const tint = (io: Pick<Io, 'colour'>, tone: Tone, text: string): string =>
  io.colour ? `\u001b[${TONES[tone]}m${text}\u001b[0m` : text

/** Controls, bidirectional overrides, zero-width and other invisible characters. */
const ODD = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu

/** An outsider’s text on one line: invisible characters shown as code points, cut to `most` characters. */
export function shown(text: string, most = 80): string {
  const visible = text.replace(
    ODD,
    (c) => `<U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase()}>`,
  )
  const characters = [...visible]
  return characters.length <= most ? visible : `${characters.slice(0, most - 1).join('')}…`
}

/** A text of many lines as one, for a list. */
export const oneLine = (text: string): string =>
  text.trim().replace(/[ \t]*[\r\n]+[ \t\r\n]*/g, ' ')

/** Columns of text, two spaces apart, without trailing space. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, width(cell))
    })
  }
  return rows
    .map((row) =>
      row.map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - width(cell))).join('  '),
    )
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colour sequences take no room
const COLOUR = /\u001b\[[0-9;]*m/g

/** Characters that a text takes on a terminal, colour sequences not counted. */
export const width = (text: string): number => [...text.replace(COLOUR, '')].length
