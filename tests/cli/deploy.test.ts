import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const dockerfile = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8')

/** Folders that the image is made of. */
const copied = [...dockerfile.matchAll(/^COPY (\w+) \1$/gm)].map(([, folder = '']) => folder)

const dir = mkdtempSync(join(tmpdir(), 'image-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

describe('the image', () => {
  it('copies files that there are', () => {
    const named = [...dockerfile.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, what = '']) =>
      what.split(' '),
    )
    expect(named.length).toBeGreaterThan(4)
    for (const file of named) expect(existsSync(join(ROOT, file)), file).toBe(true)
  })

  it('starts from what it copies and nothing else', async () => {
    for (const folder of copied) cpSync(join(ROOT, folder), join(dir, folder), { recursive: true })
    cpSync(join(ROOT, 'package.json'), join(dir, 'package.json'))
    symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
    const start = join(dir, 'runtime/start.mjs')
    const { stdout } = await promisify(execFile)(process.execPath, [start, 'serve', '--help'])
    expect(stdout).toMatch(/serve a gateway/)
  })
})
