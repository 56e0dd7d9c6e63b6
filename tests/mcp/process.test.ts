/** `headgate mcp` as MCP clients start it: a process of its own, whose stdout is the protocol and nothing else. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { run } from '../cli/io.ts'
import { ROOT, read } from '../support/source.ts'
import { argumentsOf, overStdio, startWorld, structured, type World } from './world.ts'

let world: World
const started: ChildProcess[] = []

beforeAll(async () => {
  world = await startWorld()
}, 60_000)
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})
afterAll(() => world.close())

const commandSchema = z.object({ command: z.string(), args: z.array(z.string()) })
const oneOf = (name: string) => z.object({ [name]: z.object({ headgate: commandSchema }) })

const section = read('README.md').split('### MCP')[1]?.split('\n## ')[0] ?? ''

/** The fenced block after the line that names a client. */
function blockAfter(words: string): string {
  const [, after = ''] = section.split(words)
  return /```(?:json|toml)\n([\s\S]*?)```/.exec(after)?.[1] ?? ''
}

/** As much of TOML as the example needs: one table, and values that JSON writes alike. */
function readToml(text: string): unknown {
  const [, table = ''] = /^\[(.+)\]$/m.exec(text) ?? []
  const pairs = [...text.matchAll(/^(\w+) = (.+)$/gm)].map(([, key = '', value = '']) => [
    key,
    JSON.parse(value),
  ])
  const [first = '', second = ''] = table.split('.')
  return { [first]: { [second]: Object.fromEntries(pairs) } }
}

const CLIENTS: readonly [string, string, (text: string) => unknown][] = [
  ['Claude Desktop', 'mcpServers', JSON.parse],
  ['VS Code', 'servers', JSON.parse],
  ['Codex', 'mcp_servers', readToml],
]

describe('the configuration in the README', () => {
  const commands = CLIENTS.map(([name, key, parse]) => {
    const parsed = oneOf(key).parse(parse(blockAfter(name)))
    return commandSchema.parse(parsed[key]?.headgate)
  })

  it('of each client is one and the same command', () => {
    expect(commands).toHaveLength(3)
    expect(commands).toEqual(CLIENTS.map(() => commands[0]))
  })

  it('starts a server that lists its tools', async () => {
    const { command, args } = commandSchema.parse(commands[0])
    const files = world.files(await world.looker())
    const places: Readonly<Record<string, string>> = {
      '/path/to/headgate/runtime/start.mjs': `${ROOT}/runtime/start.mjs`,
      '/path/to/node.token': files.token,
      '/path/to/node.jwk': files.key,
      'http://headgate.localhost:8080': world.gateway.url,
    }
    const filled = args.map((arg) => places[arg] ?? arg)
    expect(filled.join(' ')).not.toContain('/path/to')
    // `node` is found as the client finds it, and has to be this one.
    expect(command).toBe('node')
    const client = new Client({ name: 'test', version: '1' })
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: filled,
      stderr: 'pipe',
    })
    await client.connect(transport)
    const { tools } = await client.listTools()
    expect(tools.map((tool) => tool.name)).toContain('search')
    await client.close()
  })
})

describe('the process', () => {
  it('writes JSON-RPC alone on stdout, tells no secret anywhere, and pays to the end after a signal', async () => {
    const quote = world.gateway.quote()
    const leaf = await world.leaf(quote)
    const child = spawn(process.execPath, argumentsOf(world, leaf), { stdio: 'pipe' })
    started.push(child)
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk
    })
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      err += chunk
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const send = (message: unknown) => child.stdin.write(`${JSON.stringify(message)}\n`)
    const answered = async (id: number) => {
      while (!out.includes(`"id":${id}`)) await sleep(10)
    }
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    }
    const call = (id: number, name: string, args: object) =>
      send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })
    send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    child.stdin.write('garbage\n')
    call(2, 'about', {})
    call(3, 'pay', { quote: 'a.b.c' })
    await answered(3)
    const before = world.gateway.rail.paid
    const { reached, release } = world.holdRail()
    call(4, 'pay', { quote })
    call(5, 'nothing', {})
    await Promise.all([answered(5), reached])
    child.kill('SIGTERM')
    await sleep(50)
    release()
    expect(await ended).toBe(0)
    expect(world.gateway.rail.paid).toBe(before + 1)
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true)
    expect(lines.find(({ id }) => id === 4).result.structuredContent.state).toBe('settled')
    const { d } = leaf.holder.export({ format: 'jwk' })
    for (const secret of [leaf.token, leaf.token.slice(0, 60), d ?? '']) {
      expect(secret.length).toBeGreaterThan(20)
      expect(out + err).not.toContain(secret)
    }
    expect(err).toMatch(/^headgate: mcp serves a leaf; tools [\w-]{43}\n$/)
  })

  it('a planner makes children there with --out', async () => {
    const { client, close, errors } = await overStdio('--out', `${world.folder}/children`)(
      world,
      world.planner,
    )
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['about', 'delegate', 'close_child', 'payments'])
    const made = await client.callTool({
      name: 'delegate',
      arguments: { name: 'look', kind: 'looker' },
    })
    expect(structured(made)).toMatchObject({ kind: 'looker', tokenFile: 'look.token' })
    expect(errors()).not.toContain('look')
    await close()
  })
})

describe('the command', () => {
  const mcp = async (
    more: readonly string[],
    change: Partial<{ token: string; key: string }> = {},
  ) => {
    const held = await world.looker()
    const { token, key } = { ...world.files(held), ...change }
    const ran = await run(['mcp', '--token', token, '--key', key, ...more])
    expect(ran.out + ran.err).not.toContain(held.token)
    return ran
  }

  it('prints the tools and their digest with --json, and starts with that digest alone', async () => {
    const { code, json } = await mcp(['--json'])
    expect(code).toBe(0)
    const { kind, digest, tools } = json<{ kind: string; digest: string; tools: unknown[] }>()
    expect([kind, tools.length]).toEqual(['looker', 4])
    expect((await mcp(['--json', '--pin', digest])).code).toBe(0)
    const { code: refused, err } = await mcp(['--pin', `${digest.slice(1)}x`])
    expect([refused, err]).toEqual([
      11,
      'headgate: the tools are not those of the pinned digest; --json shows them\n',
    ])
  })

  it('says in one sentence what is wrong with its files, and nothing that is in them', async () => {
    const other = world.files(await world.looker())
    const open = world.files(await world.looker())
    chmodSync(open.key, 0o640)
    const cases: [Partial<{ token: string; key: string }>, string[]][] = [
      [{ token: '/nowhere' }, []],
      [{ key: other.token }, []],
      [{ key: other.key }, []],
      [open, []],
      [{ token: other.key }, []],
      [{}, ['--url', 'file:///etc/passwd']],
      [{}, ['--out', 'children']],
    ]
    for (const [change, more] of cases) {
      const { code, out, err } = await mcp(more, change)
      expect([code, out]).toEqual([2, ''])
      expect(err.trim().split('\n')).toHaveLength(1)
    }
  })
})
