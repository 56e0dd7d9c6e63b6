import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { freePort } from '../../runtime/cli/world.ts'

const START = join(import.meta.dirname, '../../runtime/start.mjs')

const dir = mkdtempSync(join(tmpdir(), 'demo-'))
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

function start(...args: string[]) {
  const child = spawn(process.execPath, [START, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  const written = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    written.out += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    written.err += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const line = async () => {
    while (!written.out.includes('\n')) await sleep(20)
    return written.out.split('\n', 1)[0] ?? ''
  }
  return { child, written, ended, line }
}

const childrenOf = (pid: number | undefined): number[] => {
  try {
    return execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map(Number)
  } catch {
    return []
  }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const whole = z.number().int().min(0)

/** What scripts read: exactly this. */
const summarySchema = z.strictObject({
  run: z.strictObject({ id: z.string(), state: z.literal('completed') }),
  tree: z.strictObject({
    nodes: whole,
    depth: whole,
    planners: whole,
    lookers: whole,
    leaves: whole,
  }),
  payments: z.strictObject({ settled: whole, held: whole, denied: whole }),
  totals: z.strictObject({
    currency: z.literal('INR'),
    ceiling: whole,
    available: whole,
    reserved: whole,
    spent: whole,
  }),
  rail: z.strictObject({ calls: whole, total: whole }),
  audit: z.strictObject({ events: whole, verified: z.literal(true), seal: z.literal(true) }),
  ms: whole,
})

describe('the demonstration', () => {
  it('prints one JSON document, and exits with 0 only because everything held', async () => {
    const { ended, written } = start('demo', 'needs-approval', '--json')
    expect([await ended, written.err]).toEqual([0, ''])
    expect(written.out.trim().split('\n')).toHaveLength(1)
    const { payments, totals, rail, tree } = summarySchema.parse(JSON.parse(written.out))
    expect(payments).toEqual({ settled: 1, held: 1, denied: 0 })
    expect(totals.ceiling).toBe(totals.available + totals.reserved + totals.spent)
    expect(rail).toEqual({ calls: 1, total: totals.spent })
    expect(tree.nodes).toBe(tree.planners + tree.lookers + tree.leaves)
  })

  it('tells in plain lines what happened where there is no terminal', async () => {
    const { ended, written } = start('demo', 'hostile-catalogue')
    expect(await ended).toBe(0)
    expect(written.out).toMatch(/the principal signs: at worst INR 300,000\.00/)
    expect(written.out).toMatch(/✓ paid INR/)
    expect(written.out).toMatch(/↑ home INR/)
    expect(written.out).toMatch(/what strangers told the lookers to do/)
    expect(written.out).toMatch(/✓ log {5}\d+ events/)
    expect(written.out).toMatch(/✓ rail {4}\d+ calls/)
    expect(written.out).toMatch(/the worst that could have happened: at worst INR/)
    expect(written.out).not.toContain('\u001b')
  })

  it('takes all of its processes with it when it is interrupted', async () => {
    const { child, ended } = start('demo', '--json')
    let pids: number[] = []
    while (pids.length < 3) {
      await sleep(50)
      pids = childrenOf(child.pid)
    }
    child.kill('SIGINT')
    expect(await ended).toBe(130)
    while (pids.some(isAlive)) await sleep(50)
  })

  it('refuses a mission that does not exist', async () => {
    const { ended, written } = start('demo', 'world-peace')
    expect([await ended, written.out]).toEqual([2, ''])
    expect(written.err).toMatch(/office-move/)
  })
})

describe('the play world', () => {
  it('serves its page, offers the demonstration run there, and goes on after a restart', async () => {
    const port = await freePort()
    const args = ['start', '--port', String(port), '--data', join(dir, 'world'), '--json']
    const first = start(...args)
    const { url, console: address, loginCode } = JSON.parse(await first.line())
    expect(address).toBe(`http://headgate.localhost:${port}`)
    const page = await fetch(url, { headers: { accept: 'text/html' } })
    expect(await page.text()).toContain('/console/')

    const own = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
    const post = (path: string, body: object, headers: object = {}) =>
      fetch(url + path, {
        method: 'POST',
        headers: { ...own, ...headers },
        body: JSON.stringify(body),
      })
    const login = await post('/login', { code: loginCode })
    const cookie = login.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    const begun = await post('/demo', {}, { cookie })
    expect(begun.status).toBe(201)
    const { run } = (await begun.json()) as { run: { id: string } }
    first.child.kill('SIGTERM')
    expect(await first.ended).toBe(0)

    const again = start(...args)
    const code = JSON.parse(await again.line()).loginCode
    const cookieAgain = (await post('/login', { code })).headers.get('set-cookie')?.split(';', 1)[0]
    const headers = { cookie: cookieAgain ?? '', 'sec-fetch-site': 'same-origin' }
    // The run goes on by itself until it waits for a person.
    for (;;) {
      const answer = await fetch(`${url}/runs/${run.id}`, { headers })
      const detail = (await answer.json()) as {
        run: { heldCount: number; totals: { spent: number } }
      }
      if (detail.run.heldCount === 1 && detail.run.totals.spent > 0) break
      await sleep(100)
    }
    again.child.kill('SIGTERM')
    expect(await again.ended).toBe(0)
  })
})
