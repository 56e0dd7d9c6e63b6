import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSimulatedRail } from '../../runtime/rails/simulated.ts'
import { operatorOf, orderOf, temporaryDirectory } from './support.ts'

interface Ready {
  readonly url: string
  readonly keyFile: string
}

describe('the simulated rail as a process', () => {
  const children: ChildProcess[] = []
  let directory: ReturnType<typeof temporaryDirectory>
  beforeEach(() => {
    directory = temporaryDirectory()
  })
  afterEach(async () => {
    for (const child of children.splice(0)) await end(child, 'SIGKILL')
    directory.remove()
  })

  const run = (...args: string[]) => {
    const flags = ['--disable-warning=ExperimentalWarning', 'runtime/rails/simulated/main.ts']
    const child = spawn(process.execPath, [...flags, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    return child
  }
  const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }
  const start = async () => {
    const child = run('--port', '0', '--data', directory.path)
    const [line] = await once(createInterface({ input: child.stdout }), 'line')
    const { url, keyFile } = JSON.parse(String(line)) as Ready
    const apiKey = readFileSync(keyFile, 'utf8').trim()
    const rail = createSimulatedRail({ url, apiKey })
    return { child, rail, operator: operatorOf(url, apiKey) }
  }

  it('keeps its book through SIGKILL and answers the same key the same', async () => {
    const before = await start()
    const order = orderOf()
    await before.operator.post('script', { match: { n: 2 }, outcome: 'lostReply' })
    const outcome = await before.rail.pay(order)
    const lost = orderOf()
    expect((await before.rail.pay(lost)).kind).toBe('unknown')
    await end(before.child, 'SIGKILL')
    expect((await before.rail.pay(order)).kind).toBe('notSent')

    const after = await start()
    expect(await after.rail.pay(order)).toEqual(outcome)
    expect(await after.rail.lookup(lost.key)).toMatchObject({ kind: 'settled', amount: 5_000 })
    expect(await after.operator.book()).toMatchObject({ calls: 3, totals: { JPY: 10_000 } })
  })

  it('has booked everything that it ever called settled, when killed amid a burst', async () => {
    const before = await start()
    const orders = Array.from({ length: 40 }, () => orderOf())
    const paying = orders.map(async (order, i) => {
      const outcome = await before.rail.pay(order)
      if (i === 10) before.child.kill('SIGKILL')
      return { key: order.key, kind: outcome.kind }
    })
    const outcomes = await Promise.all(paying)
    await end(before.child, 'SIGKILL')
    const after = await start()
    const booked = new Set((await after.operator.book()).payouts.map((payout) => payout.key))
    const settled = outcomes.filter(({ kind }) => kind === 'settled')
    expect(settled.length).toBeGreaterThan(0)
    expect(settled.filter(({ key }) => !booked.has(key))).toEqual([])
    const notSent = outcomes.filter(({ kind }) => kind === 'notSent')
    expect(notSent.filter(({ key }) => booked.has(key))).toEqual([])
  })

  it('ends cleanly on SIGTERM', async () => {
    const { child } = await start()
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
  })

  it('explains itself with --help and refuses to run without a directory', async () => {
    const help = run('--help')
    const [text] = await once(help.stdout, 'data')
    expect(String(text)).toContain('Usage: node runtime/rails/simulated/main.ts')
    const bare = run()
    expect(await once(bare, 'exit')).toEqual([2, null])
  })
})
