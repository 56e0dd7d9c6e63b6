/** MCP over two streams, line by line: what is written to it, and nothing but JSON-RPC back. */
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { LIMITS } from '../../runtime/core/limits.ts'
import { servePipe } from '../../runtime/mcp/stdio.ts'
import type { Held } from '../http/gateway.ts'
import { pipeOf, startWorld, type World } from './world.ts'

interface Line {
  readonly jsonrpc: string
  readonly id?: string | number | null
  readonly result?: {
    readonly isError?: boolean
    readonly structuredContent?: Record<string, unknown>
  }
  readonly error?: { readonly code: number; readonly message: string }
}

let world: World
let looker: Held
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  world = await startWorld()
  looker = await world.looker()
}, 60_000)
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})
afterAll(() => world.close())

function open(held: Held) {
  const input = new PassThrough()
  const lines: Line[] = []
  const aborter = new AbortController()
  let isDone = false
  const done = servePipe({
    ...pipeOf(world, held),
    input,
    write: (line) => {
      expect(line.endsWith('\n')).toBe(true)
      lines.push(JSON.parse(line))
    },
    signal: aborter.signal,
  }).then(() => {
    isDone = true
  })
  stops.push(async () => {
    input.end()
    await done
  })
  return {
    input,
    lines,
    done,
    isDone: () => isDone,
    abort: () => aborter.abort(),
    send: (message: unknown) => void input.write(`${JSON.stringify(message)}\n`),
    /** The line that answers this id. */
    answer: async (id: string | number | null) => {
      for (;;) {
        const found = lines.find((line) => line.id === id)
        if (found !== undefined) return found
        await sleep(2)
      }
    },
  }
}

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
}

const call = (id: string | number, name: string, args: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

async function opened(held: Held) {
  const pipe = open(held)
  pipe.send(INITIALIZE)
  await pipe.answer('init')
  return pipe
}

describe('a line', () => {
  it.each<[string, string, number, unknown]>([
    ['garbage', 'garbage', -32700, null],
    ['not UTF-8', '\u0000', -32700, null],
    ['a batch', '[]', -32600, null],
    [
      'nested 5,000 deep',
      `{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`,
      -32600,
      3,
    ],
    [
      'a prototype key',
      '{"jsonrpc":"2.0","id":4,"method":"ping","params":{"__proto__":{}}}',
      -32600,
      4,
    ],
    ['a key given twice', '{"jsonrpc":"2.0","id":5,"id":5,"method":"ping"}', -32600, 5],
    [
      'an id that is too long',
      `{"jsonrpc":"2.0","id":"${'x'.repeat(LIMITS.mcpIdChars + 1)}","method":"ping"}`,
      -32600,
      null,
    ],
  ])('%s is answered, and the next one is served', async (_what, line, code, id) => {
    const pipe = await opened(looker)
    pipe.input.write(`${line}\n`)
    pipe.send({ jsonrpc: '2.0', id: 'next', method: 'ping' })
    expect((await pipe.answer('next')).result).toBeDefined()
    const refused = pipe.lines.find(({ error }) => error !== undefined)
    expect([refused?.error?.code, refused?.id]).toEqual([code, id])
    expect(refused?.error?.message).toMatch(/^expected /)
  })

  it('of the limit is read, one byte more is refused, and so is one without an end', async () => {
    const pipe = await opened(looker)
    const filled = (bytes: number, id: string) => {
      const empty = JSON.stringify(call(id, 'search', { text: '' })).length
      return JSON.stringify(call(id, 'search', { text: 'x'.repeat(bytes - empty) }))
    }
    pipe.input.write(`${filled(LIMITS.mcpLineBytes, 'at')}\n`)
    expect((await pipe.answer('at')).result?.isError).toBe(true)
    pipe.input.write(`${filled(LIMITS.mcpLineBytes + 1, 'past')}\n`)
    const tooLarge = 'the message is larger than the documented limit'
    expect((await pipe.answer(null)).error?.message).toBe(tooLarge)
    for (let i = 0; i < 8; i += 1) pipe.input.write('y'.repeat(LIMITS.mcpLineBytes))
    pipe.input.write('\n')
    pipe.send({ jsonrpc: '2.0', id: 'after', method: 'ping' })
    await pipe.answer('after')
    expect(pipe.lines.filter(({ error }) => error?.message === tooLarge)).toHaveLength(2)
  })

  it('may come in pieces, with a carriage return, or several at once', async () => {
    const pipe = await opened(looker)
    const text = (id: string) => JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })
    for (const piece of text('slow')) pipe.input.write(piece)
    pipe.input.write(`\r\n\n${text('a')}\n${text('b')}\n`)
    for (const id of ['slow', 'a', 'b']) expect((await pipe.answer(id)).result).toBeDefined()
  })
})

describe('requests under way', () => {
  it('an id in flight is refused under no id, and the first still gets its own answer', async () => {
    const quote = world.gateway.quote()
    const pipe = await opened(await world.leaf(quote))
    const before = world.gateway.rail.paid
    const { release } = world.holdRail()
    pipe.send(call('same', 'pay', { quote }))
    pipe.send(call('same', 'about', {}))
    expect((await pipe.answer(null)).error?.message).toMatch(/^a request of this id is in flight/)
    expect(pipe.lines.filter(({ id }) => id === 'same')).toEqual([])
    release()
    expect((await pipe.answer('same')).result?.structuredContent).toMatchObject({
      state: 'settled',
    })
    expect(world.gateway.rail.paid).toBe(before + 1)
  })

  it.each([
    '{"jsonrpc":"2.0","id":7,"id":7,"method":"ping"}',
    '{"jsonrpc":"1.0","id":7,"method":"ping"}',
    '{"jsonrpc":"2.0","id":7,"method":"ping","more":1}',
    '{"jsonrpc":"2.0","id":7,"method":"ping","params":{"n":1.5e3}}',
  ])(
    'what cannot be read (%s) is not answered under the id of a request in flight',
    async (line) => {
      const quote = world.gateway.quote()
      const pipe = await opened(await world.leaf(quote))
      const rail = world.holdRail()
      pipe.send(call(7, 'pay', { quote }))
      await rail.reached
      pipe.input.write(`${line}\n`)
      expect((await pipe.answer(null)).error?.code).toBe(-32600)
      rail.release()
      expect((await pipe.answer(7)).result?.structuredContent?.state).toBe('settled')
      // Where nobody waits under that id its sender does.
      pipe.input.write(`${line.replaceAll('"id":7', '"id":8')}\n`)
      expect((await pipe.answer(8)).error?.code).toBe(-32600)
    },
  )

  it.each([
    ['tools/list', { _meta: { progressToken: { a: 1 } } }, -32602],
    ['tools/call', { name: 'about', _meta: 'none' }, -32602],
    ['ping', { _meta: [] }, -32602],
    ['notifications/cancelled', { requestId: 1 }, -32601],
  ])(
    'a request that the library would pass over (%s with %j) is answered, and the end comes',
    async (method, params, code) => {
      const pipe = await opened(looker)
      pipe.send({ jsonrpc: '2.0', id: 'odd', method, params })
      pipe.send({ jsonrpc: '2.0', id: 'next', method: 'ping' })
      await pipe.answer('next')
      await sleep(20)
      expect(pipe.lines.find(({ id }) => id === 'odd')?.error?.code).toBe(code)
      pipe.input.end()
      await pipe.done
    },
  )

  it('as many as the limit are taken, and one more is told to wait', async () => {
    const quote = world.gateway.quote()
    const pipe = await opened(await world.leaf(quote))
    const { release } = world.holdRail()
    for (let id = 0; id < LIMITS.mcpInFlight; id += 1) pipe.send(call(id, 'pay', { quote }))
    pipe.send(call('more', 'about', {}))
    expect((await pipe.answer('more')).error?.message).toMatch(/^too many requests/)
    release()
    for (let id = 0; id < LIMITS.mcpInFlight; id += 1) {
      expect((await pipe.answer(id)).result?.structuredContent).toMatchObject({ state: 'settled' })
    }
  })

  it('calls of one turn run one after another, and are one payment', async () => {
    const quote = world.gateway.quote()
    const pipe = await opened(await world.leaf(quote))
    const before = world.gateway.rail.paid
    const { reached, release } = world.holdRail()
    for (const id of [1, 2, 3]) pipe.send(call(id, 'pay', { quote }))
    // Out of order the others would be told by now that it is on its way.
    await Promise.all([reached, sleep(100)])
    release()
    const answers = await Promise.all([1, 2, 3].map((id) => pipe.answer(id)))
    const found = answers.map(({ result }) => result?.structuredContent)
    expect(found[0]).toMatchObject({ verdict: 'allow', state: 'settled' })
    expect(found[1]).toEqual(found[0])
    expect(found[2]).toEqual(found[0])
    expect(world.gateway.rail.paid).toBe(before + 1)
  })

  it('a cancelled call goes on and is answered, because a payment cannot be called back', async () => {
    const quote = world.gateway.quote()
    const pipe = await opened(await world.leaf(quote))
    const { release } = world.holdRail()
    pipe.send(call(1, 'pay', { quote }))
    pipe.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
    pipe.send({ jsonrpc: '2.0', id: 2, method: 'ping' })
    await pipe.answer(2)
    release()
    expect((await pipe.answer(1)).result?.structuredContent).toMatchObject({ state: 'settled' })
  })

  it.each(['the end of its input', 'a signal'])(
    'at %s what was asked is answered before it ends',
    async (how) => {
      const quote = world.gateway.quote()
      const pipe = await opened(await world.leaf(quote))
      const before = world.gateway.rail.paid
      const { release } = world.holdRail()
      pipe.send(call(1, 'pay', { quote }))
      pipe.send({ jsonrpc: '2.0', id: 2, method: 'ping' })
      await pipe.answer(2)
      if (how === 'a signal') pipe.abort()
      else pipe.input.end()
      await sleep(20)
      expect(pipe.isDone()).toBe(false)
      release()
      await pipe.done
      expect((await pipe.answer(1)).result?.structuredContent).toMatchObject({ state: 'settled' })
      expect(world.gateway.rail.paid).toBe(before + 1)
    },
  )

  it('an input that has ended before anybody listened ends it', async () => {
    const input = new PassThrough()
    input.end()
    input.resume()
    await sleep(5)
    const signal = new AbortController().signal
    await servePipe({ ...pipeOf(world, looker), input, write: () => {}, signal })
  })
})
