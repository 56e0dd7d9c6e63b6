import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { dataFile, openDataDir, readOperatorToken } from '../../runtime/cli/data-dir.ts'
import { Failure } from '../../runtime/cli/failure.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'data-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const failure = (act: () => unknown): Failure => {
  try {
    act()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  throw new Error('expected a failure')
}

describe('a data folder', () => {
  it('is made on the first start, every file for its owner only', () => {
    const path = join(dir, 'a/b')
    openDataDir(path).close()
    expect(statSync(path).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(path)) {
      expect([name, statSync(join(path, name)).mode & 0o777]).toEqual([name, 0o600])
    }
  })

  it('has the same keys on the next start', () => {
    const first = openDataDir(dir)
    first.close()
    const second = openDataDir(dir)
    second.close()
    expect(rawPublicKey(second.root.key)).toBe(rawPublicKey(first.root.key))
    expect(second.signing.kid).toBe(first.signing.kid)
    expect(second.runtimeSecret).toEqual(first.runtimeSecret)
    expect(readOperatorToken(dir).reveal()).toBe(first.operatorToken.reveal())
  })

  it('is held by one process at a time', () => {
    const holder = openDataDir(dir)
    expect(failure(() => openDataDir(dir)).exit).toBe('dataInUse')
    holder.close()
    openDataDir(dir).close()
  })

  it('below a file cannot be used', () => {
    const file = join(dir, 'file')
    writeFileSync(file, '')
    const found = failure(() => openDataDir(join(file, 'data')))
    expect([found.exit, found.message]).toEqual([
      'dataFolder',
      `the data folder cannot be used: ${join(file, 'data')} (ENOTDIR)`,
    ])
  })

  it.each(['rootKey', 'runtimeSecret', 'signingKey', 'operatorToken'] as const)(
    'is refused where others may read its %s',
    (name) => {
      openDataDir(dir).close()
      chmodSync(dataFile(dir, name), 0o644)
      const found = failure(() => openDataDir(dir))
      expect([found.exit, found.message.includes('0600')]).toEqual(['dataFolder', true])
    },
  )

  it.each(['rootKey', 'runtimeSecret', 'signingKey', 'operatorToken'] as const)(
    'is refused with half a %s, which is never replaced',
    (name) => {
      openDataDir(dir).close()
      const file = dataFile(dir, name)
      writeFileSync(file, readFileSync(file, 'utf8').slice(0, 20))
      expect(failure(() => openDataDir(dir)).exit).toBe('dataFolder')
      expect(readFileSync(file, 'utf8')).toHaveLength(20)
      // A refusal holds nothing.
      expect(failure(() => openDataDir(dir)).exit).toBe('dataFolder')
    },
  )

  it('that nobody started has no operator token', () => {
    expect(failure(() => readOperatorToken(dir)).exit).toBe('dataFolder')
    expect(existsSync(dataFile(dir, 'operatorToken'))).toBe(false)
  })
})
