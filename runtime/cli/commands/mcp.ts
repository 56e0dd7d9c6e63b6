/**
 * `mcp`: the tools of one token over stdin and stdout, for whatever starts MCP servers. Token and key are read once from
 * their files and stay in this process; stdout carries the protocol and nothing else.
 */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { HeldNode } from '../../client/node.ts'
import { Rejected } from '../../core/errors.ts'
import { childrenIn } from '../../mcp/children.ts'
import { manifestOf, toolsOf } from '../../mcp/manifest.ts'
import { Failure } from '../failure.ts'
import type { Io } from '../io.ts'
import { command, emit } from './context.ts'
import { readPrivateKey } from './keys.ts'

interface Options {
  readonly token: string
  readonly key: string
  readonly url?: string
  readonly out?: string
  readonly pin?: string
  readonly json?: boolean
}

const LOCAL = 'http://headgate.localhost:8080'

const HELP = `
What a client sees depends on the token: a looker searches, reads and asks for quotes, a leaf pays its
quote and sees what became of it, a planner sees what is left, closes children and, with --out, makes
them. Neither the token nor the key is ever told to the client.

With --json it prints the tools and their digest and ends; --pin takes that digest, and refuses to
start if the tools are no longer those that were looked at. A planner's tools with --out are others
than without it: give --json the same options that the client gives.
`

export function mcpCommand(io: Io): Command {
  return command({
    name: 'mcp',
    summary: 'the tools of one token over stdin and stdout, for MCP clients',
    examples: [
      'headgate mcp --token leaf.token --key leaf.jwk',
      'headgate mcp --token root.token --key holder.jwk --out children --url https://pay.example.com',
      'headgate mcp --token leaf.token --key leaf.jwk --json',
    ],
  })
    .requiredOption('--token <file>', 'a file with the node’s token in it')
    .requiredOption('--key <file>', 'the private key of that node, as `keys new` wrote it')
    .option('--url <url>', `the gateway’s public URL (or HEADGATE_URL; default ${LOCAL})`)
    .option('--out <dir>', 'a planner’s: the folder for its children’s tokens and keys')
    .option('--pin <digest>', 'refuse to start unless the tools have this digest')
    .addHelpText('after', HELP)
    .action((options: Options) => mcp(io, options))
}

async function mcp(io: Io, options: Options): Promise<void> {
  const { held, token, holder } = heldNode(io, options)
  const { claims, run, client } = held
  const { kind, node } = claims
  if (options.out !== undefined && kind !== 'planner') {
    throw new Failure('usage', 'expected no --out: only a planner makes children')
  }
  const tools = toolsOf(kind, options.out !== undefined)
  const manifest = manifestOf(tools)
  if (options.pin !== undefined && options.pin !== manifest.digest) {
    throw new Failure('refused', 'the tools are not those of the pinned digest; --json shows them')
  }
  if (options.json) {
    emit(io, options, { kind, ...manifest, tools: tools.map(({ listed }) => listed) }, () => '')
    return
  }
  const children =
    options.out === undefined
      ? undefined
      : childrenIn({ client, run, token, holder, folder: options.out })
  io.err(`headgate: mcp serves a ${kind}; tools ${manifest.digest}\n`)
  // The library takes its time to load, and no other command needs it.
  const { servePipe } = await import('../../mcp/stdio.ts')
  await servePipe({
    kind,
    calls: { ...client, node, run },
    clock: io.clock,
    children,
    input: process.stdin,
    write: (line) => io.out(line),
    signal: io.signal,
    onBug: (error) => {
      const name = error instanceof Error ? error.name : 'not an error'
      io.err(`headgate: a tool threw what it should not (${name})\n`)
    },
  })
}

/** Throws Failure, without a word of what is in the files. */
function heldNode(io: Io, { token: tokenFile, key: keyFile, url }: Options) {
  const gateway = url ?? io.environment.url ?? LOCAL
  if (!/^https?:$/.test(URL.parse(gateway)?.protocol ?? '')) {
    throw new Failure('usage', 'expected --url to be an http or https URL')
  }
  const token = tokenIn(tokenFile)
  const holder = readPrivateKey(keyFile)
  try {
    return { held: new HeldNode({ gateway, token, holder, clock: io.clock }), token, holder }
  } catch (cause) {
    if (!(cause instanceof Rejected)) throw cause
    throw new Failure('usage', 'expected a token of a run, and the key of its own node', { cause })
  }
}

function tokenIn(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new Failure('usage', 'the token cannot be read: expected the name of a file', { cause })
  }
}
