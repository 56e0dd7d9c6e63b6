import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ListedMerchant } from '../../merchant/server.ts'
import { createTestGateway, get, post, quoteOf } from './support.ts'

describe('the storefront as a process', () => {
  const children: ChildProcess[] = []
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'headgate-'))
  })
  afterEach(async () => {
    for (const child of children.splice(0)) await end(child, 'SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })

  const run = (...args: string[]) => {
    const flags = ['--disable-warning=ExperimentalWarning', 'merchant/main.ts', ...args]
    const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'pipe'] })
    children.push(child)
    return child
  }
  const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null)
      return [child.exitCode, child.signalCode]
    const exit = once(child, 'exit')
    child.kill(signal)
    return exit
  }
  const start = async (jwks: string) => {
    const child = run(
      '--port',
      '0',
      '--data',
      directory,
      '--gateway-id',
      'gateway',
      '--gateway-jwks',
      jwks,
    )
    const [line] = await once(createInterface({ input: child.stdout }), 'line')
    const { merchants } = JSON.parse(String(line)) as { merchants: ListedMerchant[] }
    const shop = merchants.find(({ id }) => id === 'paper-lane')
    if (!shop) throw new Error('expected the shop in the line that says ready')
    return { child, shop }
  }

  it('keeps its keys and every order that it answered through SIGKILL', async () => {
    const gateway = createTestGateway(directory)
    const before = await start(gateway.jwksFile)
    const quotes = [
      await quoteOf(before.shop, 'PL-NTB-A5R', 3),
      await quoteOf(before.shop, 'PL-WBD-120'),
    ]
    const bodies = quotes.map((quote) => ({ quote, receipt: gateway.receipt(quote) }))
    const first = await post(`${before.shop.url}/orders`, bodies[0])
    expect(first.status).toBe(201)
    await end(before.child, 'SIGKILL')

    const after = await start(gateway.jwksFile)
    expect(after.shop.jwks).toEqual(before.shop.jwks)
    expect(await post(`${after.shop.url}/orders`, bodies[0])).toEqual({ ...first, status: 200 })
    expect((await post(`${after.shop.url}/orders`, bodies[1])).status).toBe(201)
    expect((await get(`${after.shop.url}/orders`)).body.orders).toHaveLength(2)
  })

  it('ends cleanly on SIGTERM', async () => {
    const { child } = await start('none')
    expect(await end(child, 'SIGTERM')).toEqual([0, null])
  })

  it('explains itself with --help and refuses to run without what it needs', async () => {
    const help = run('--help')
    const [text] = await once(help.stdout, 'data')
    expect(String(text)).toContain('Usage: node merchant/main.ts')
    expect(await once(run('--data', directory), 'exit')).toEqual([2, null])
  })
})
