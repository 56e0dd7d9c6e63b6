/**
 * `keys rotate`: another root key for a gateway. New runs are signed by the new one; tokens of the old one verify until its
 * grace ends, so that runs under way can end, or at once no more if it was stolen.
 */
import type { Command } from 'commander'
import { thumbprint } from '../../core/keys.ts'
import { isoTime, later, nowSeconds, type Seconds } from '../../core/time.ts'
import { openDataDir, readRootRing, rotateRootKey } from '../data-dir.ts'
import { Failure } from '../failure.ts'
import type { Io } from '../io.ts'
import { command, dataPath, emit } from './context.ts'

interface RotateOptions {
  data?: string
  grace: string
  json?: boolean
}

export function rotateCommand(io: Io): Command {
  return command({
    name: 'rotate',
    summary:
      'replace the root key of a stopped gateway; tokens of the old one verify for a while yet',
    examples: [
      'headgate keys rotate --data /var/lib/headgate',
      'headgate keys rotate --data /var/lib/headgate --grace 0   (the old key was stolen)',
    ],
  })
    .option('--data <dir>', 'the data folder (or HEADGATE_DATA)')
    .option('--grace <time>', 'how long the old key stays in force: 0, 90m, 12h, 30d', '30d')
    .action((options: RotateOptions) => rotate(io, options))
}

function rotate(io: Io, options: RotateOptions): void {
  const path = dataPath(io, options.data)
  const grace = graceOf(options.grace)
  // A folder without a key is a wrong path: nothing is made there.
  readRootRing(path)
  const data = openDataDir(path)
  try {
    const now = nowSeconds(io.clock)
    const { id, key } = rotateRootKey(path, later(now, grace))
    const ring = readRootRing(path)
    emit(io, options, ring, () =>
      [
        `root key ${id} (${thumbprint(key)}) signs every run from the next start on`,
        ...ring.keys.slice(1).map((old) => oldLine(old.id, old.retiresAt ?? 0, now)),
        'what was private of the old key is gone; runs that outlive its grace are refused from then on',
        '',
      ].join('\n'),
    )
  } finally {
    data.close()
  }
}

const oldLine = (id: number, retiresAt: number, now: Seconds): string =>
  retiresAt <= now
    ? `root key ${id} is retired: its tokens are refused`
    : `root key ${id} stays in force until ${isoTime(retiresAt as Seconds)}`

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Seconds, from `0` or a whole number with its unit. */
function graceOf(text: string): number {
  const [, digits, unit = 's'] = /^(\d{1,6})([smhd])$/.exec(text) ?? (text === '0' ? ['', '0'] : [])
  const grace = Number(digits) * (UNITS[unit] ?? Number.NaN)
  if (digits !== undefined && grace <= 10 * 366 * 86_400) return grace
  throw new Failure('usage', 'expected --grace to be 0 or a time such as 90m, 12h or 30d')
}
