import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

const START = join(import.meta.dirname, '../../runtime/start.mjs')
/** Of util-linux: gives a command a terminal of its own. */
const SCRIPT = '/usr/bin/script'
const PASSPHRASE = 'typed at a terminal by nobody'
const CTRL_C = '\u0003'
const KEY = 'groq-key-typed-at-a-terminal'

const dir = mkdtempSync(join(tmpdir(), 'terminal-'))
afterAll(() => rmSync(dir, { recursive: true }))

const haveScript = existsSync(SCRIPT)
if (!haveScript) process.stdout.write('no terminal is tried: script(1) of util-linux is not here\n')

/** Types each answer once its question stands there; resolves with all that the terminal showed. */
function typing(args: readonly string[], answers: readonly (readonly [RegExp, string])[]) {
  const command = [process.execPath, START, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn(SCRIPT, ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'pipe'] })
  const left = [...answers]
  let shown = ''
  let asked = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
    asked += text
    const next = left[0]
    if (next?.[0].test(asked)) {
      left.shift()
      asked = ''
      child.stdin.write(next[1] === CTRL_C ? CTRL_C : `${next[1]}\r`)
    }
  })
  return new Promise<{ shown: string; code: number | null }>((resolve) => {
    child.once('close', (code) => resolve({ shown, code }))
  })
}

describe.skipIf(!haveScript)('a terminal', () => {
  it('shows nothing of what is typed in answer to `headgate secrets init`', async () => {
    const { shown, code } = await typing(
      ['secrets', 'init', '--data', join(dir, 'a'), '--for', 'groq'],
      [
        [/a passphrase of 12 or more characters: /, PASSPHRASE],
        [/the same again: /, PASSPHRASE],
        [/GROQ_API_KEY for api\.groq\.com \(live\).*: /, 'short'],
        [/GROQ_API_KEY is wrong[\s\S]*GROQ_API_KEY for api\.groq\.com.*: /, KEY],
      ],
    )
    expect([code, shown]).toEqual([0, expect.stringContaining('api.groq.com')])
    for (const typed of [PASSPHRASE, KEY, 'short']) expect(shown).not.toContain(typed)
    expect(readFileSync(join(dir, 'a/secrets.enc'), 'utf8')).toContain('headgate-secrets')
  })

  it('is left by Ctrl-C with the code of interruption and nothing written', async () => {
    const { code } = await typing(
      ['secrets', 'init', '--data', join(dir, 'b'), '--for', 'groq'],
      [[/a passphrase of/, CTRL_C]],
    )
    expect(code).toBe(130)
    expect(existsSync(join(dir, 'b/secrets.enc'))).toBe(false)
  })

  it('is asked for the passphrase once more in vain, and says so with its own exit code', async () => {
    const { shown, code } = await typing(
      ['secrets', 'list', '--data', join(dir, 'a')],
      [[/passphrase of the file of secrets: /, 'not the passphrase']],
    )
    expect([code, shown]).toEqual([15, expect.stringContaining('does not open')])
    expect(shown).not.toContain('not the passphrase')
  })
})

describe('a script', () => {
  it('answers on stdin, one line each', async () => {
    const answers = join(dir, 'answers')
    writeFileSync(answers, `${PASSPHRASE}\n${PASSPHRASE}\n\n${KEY}\n`, { mode: 0o600 })
    const args = ['secrets', 'init', '--data', join(dir, 'c'), '--for', 'gemini', '--for', 'groq']
    const ran = await new Promise<{ out: string; err: string; code: number }>((resolve) => {
      const child = execFile(process.execPath, [START, ...args, '--json'], (error, out, err) => {
        resolve({ out, err, code: Number(error?.code ?? 0) })
      })
      child.stdin?.end(readFileSync(answers))
    })
    expect([ran.code, ran.err]).toEqual([0, ''])
    expect(JSON.parse(ran.out)).toEqual({
      secrets: [{ name: 'GROQ_API_KEY', host: 'api.groq.com', environment: 'live' }],
    })
  })
})
