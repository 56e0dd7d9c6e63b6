/** A gateway as a process of its own, for what must not even start. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const START = join(import.meta.dirname, '../../../runtime/start.mjs')

/** Starts a gateway as a process of its own with this configuration, and waits for its end. */
export async function serveWith(config: object): Promise<{ exit: number; errors: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'headgate-serve-'))
  const file = join(dir, 'headgate.json')
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  const env = { ...process.env, HEADGATE_RAIL_KEY: 'k'.repeat(43) }
  const args = [START, 'serve', '--data', join(dir, 'data'), '--config', file]
  try {
    return await new Promise((resolve) => {
      const child = execFile(process.execPath, args, { env, timeout: 20_000 }, (error, _, errors) =>
        resolve({ exit: error === null ? 0 : (child.exitCode ?? -1), errors }),
      )
    })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
