/** Draws a block of lines again and again in the same place of a terminal; elsewhere it draws nothing. */
import { type Io, width } from './io.ts'

export interface LiveBlock {
  draw(lines: readonly string[]): void
  /** Leaves the last drawing standing; what is written next comes below it. */
  done(): void
}

export function liveBlock(io: Pick<Io, 'out' | 'isTerminal' | 'columns'>): LiveBlock {
  let height = 0
  const fitted = (line: string) => (width(line) < io.columns ? line : cut(line, io.columns - 1))
  return {
    draw: (lines) => {
      if (!io.isTerminal) return
      const up = height === 0 ? '' : `\u001b[${height}A`
      io.out(`${up}${lines.map((line) => `\u001b[2K${fitted(line)}\n`).join('')}\u001b[J`)
      height = lines.length
    },
    done: () => {
      height = 0
    },
  }
}

/** Cuts to columns without cutting a colour sequence, ends the colour, and shows that something was cut. */
function cut(line: string, columns: number): string {
  let left = columns - 1
  let text = ''
  // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colour sequences
  for (const part of line.split(/(\u001b\[[0-9;]*m)/)) {
    if (part.startsWith('\u001b')) {
      text += part
      continue
    }
    const characters = [...part].slice(0, left)
    left -= characters.length
    text += characters.join('')
  }
  return `${text}\u001b[0m…`
}
