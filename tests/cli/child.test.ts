/** What is told of a process of ours that does not start. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { z } from 'zod'
import { startChild } from '../../runtime/cli/child.ts'

const dir = mkdtempSync(join(tmpdir(), 'child-'))
afterAll(() => rmSync(dir, { recursive: true }))

it('a child that does not start is told of in its own sentence, and its log is in its file alone', async () => {
  const file = join(dir, 'child.mjs')
  const logged = '{"level":"warn","code":"secret_in_environment"}'
  const said = `${logged}\nheadgate: the key is wrong\n`
  writeFileSync(file, `process.stderr.write(${JSON.stringify(said)})`)
  const log = join(dir, 'child.log')
  const started = startChild({ name: 'the gateway', file, args: [], log, ready: z.object({}) })
  await expect(started).rejects.toThrow(/^the gateway did not start: the key is wrong$/)
  expect(readFileSync(log, 'utf8')).toBe(said)
})
