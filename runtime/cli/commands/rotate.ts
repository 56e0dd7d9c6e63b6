/**
 * `keys rotate`: another root key for a gateway. New runs are signed by the new one; tokens of the old one verify until its
 * grace ends, so that runs under way can end, or at once no more if it was stolen.
 */
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { Fault } from '../../core/errors.ts'
import { thumbprint } from '../../core/keys.ts'
import { isoTime, later, nowSeconds, type Seconds, seconds } from '../../core/time.ts'
import { everyRun } from '../../ledger/reads.ts'
import {
  type DataDir,
  dataFile,
  openDataDir,
  readRootRing,
  rotateRootKey,
  rotateSigningKey,
} from '../data-dir.ts'
import { Failure } from '../failure.ts'
import type { Io } from '../io.ts'
import { command, dataPath, emit, withStore } from './context.ts'

interface RotateOptions {
  data?: string
  grace: string
  signing?: boolean
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
      'headgate keys rotate --data /var/lib/headgate --signing   (receipts, seals, checkpoints)',
    ],
  })
    .option('--data <dir>', 'the data folder (or HEADGATE_DATA)')
    .option('--grace <time>', 'how long the old key stays in force: 0, 90m, 12h, 30d', '30d')
    .option(
      '--signing',
      'replace the key that signs receipts, seals and checkpoints instead; the old one stays published',
    )
    .action((options: RotateOptions) =>
      options.signing ? rotateSigning(io, options) : rotate(io, options),
    )
}

function rotateSigning(io: Io, options: RotateOptions): void {
  const path = dataPath(io, options.data)
  readRootRing(path)
  const data = openDataDir(path)
  try {
    const [signing, before] = rotateSigningKey(path)
    emit(io, options, { signing, before }, () =>
      [
        `signing key ${signing} signs receipts, seals and checkpoints from the gateway’s next start on`,
        `${before} stays published: what it signed still verifies`,
        'what was private of it is gone',
        '',
      ].join('\n'),
    )
  } finally {
    data.close()
  }
}

async function rotate(io: Io, options: RotateOptions): Promise<void> {
  const path = dataPath(io, options.data)
  const grace = graceOf(options.grace)
  // A folder without a key is a wrong path: nothing is made there.
  readRootRing(path)
  const data = openDataDir(path)
  try {
    const now = nowSeconds(io.clock)
    const retiresAt = later(now, grace)
    const { id, key } = rotateRootKey(path, retiresAt)
    const ring = readRootRing(path)
    const outlasting = await runsAfter(data, retiresAt)
    emit(io, options, { ...ring, ...(outlasting && { outlasting }) }, () =>
      [
        `root key ${id} (${thumbprint(key)}) signs every run from the gateway’s next start on`,
        ...ring.keys.slice(1).map((old) => oldLine(old.id, old.retiresAt ?? 0, now)),
        'what was private of the old key is gone',
        outlastingLine(outlasting, retiresAt <= now),
        '',
      ].join('\n'),
    )
  } finally {
    data.close()
  }
}

interface Outlasting {
  readonly runs: number
  /** When the last of them ends. */
  readonly untilSeconds: number
}

/**
 * Running runs whose mandates last longer than the grace: their tokens are of older keys. Undefined where the store cannot
 * be read now, which is no reason to keep a stolen key.
 */
async function runsAfter(data: DataDir, retiresAt: Seconds): Promise<Outlasting | undefined> {
  if (!existsSync(dataFile(data.path, 'identity'))) return { runs: 0, untilSeconds: 0 }
  try {
    return await withStore(data, async (ledger) => {
      let [runs, untilSeconds] = [0, 0]
      for await (const { state, expiresAtSeconds } of everyRun(ledger)) {
        if (state !== 'running' || expiresAtSeconds <= retiresAt) continue
        runs += 1
        untilSeconds = Math.max(untilSeconds, expiresAtSeconds)
      }
      return { runs, untilSeconds }
    })
  } catch (error) {
    if (error instanceof Failure || error instanceof Fault) return undefined
    throw error
  }
}

function outlastingLine(outlasting: Outlasting | undefined, isAtOnce: boolean): string {
  if (outlasting === undefined) {
    return 'which runs last longer could not be read: `headgate runs` lists them'
  }
  const { runs, untilSeconds } = outlasting
  if (runs === 0) {
    return isAtOnce ? 'no run is under way' : 'no run under way lasts longer than that'
  }
  const [many, they] = runs === 1 ? ['1 run', 'it is'] : [`${runs} runs`, 'they are']
  const last = isoTime(seconds(untilSeconds))
  return isAtOnce
    ? `warning: ${many} under way (until ${last}): ${they} refused from now on`
    : `warning: ${many} under way would last until ${last}: ${they} refused once the grace ends`
}

const oldLine = (id: number, retiresAt: number, now: Seconds): string =>
  retiresAt <= now
    ? `root key ${id} is retired: its tokens are refused`
    : `root key ${id} stays in force until ${isoTime(seconds(retiresAt))}`

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Seconds, from `0` or a whole number with its unit. */
function graceOf(text: string): number {
  const [, digits, unit = 's'] = /^(\d{1,6})([smhd])$/.exec(text) ?? (text === '0' ? ['', '0'] : [])
  const grace = Number(digits) * (UNITS[unit] ?? Number.NaN)
  if (digits !== undefined && grace <= 10 * 366 * 86_400) return grace
  throw new Failure('usage', 'expected --grace to be 0 or a time such as 90m, 12h or 30d')
}
