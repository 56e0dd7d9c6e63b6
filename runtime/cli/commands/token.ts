/**
 * `token inspect`: what a token is and what would come of it now. The token comes from a file or stdin and is never
 * printed; the Biscuit library runs in its worker, because it writes on stdout whatever it likes.
 */
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { readEnvelope, tokenBytes } from '../../client/envelope.ts'
import type { TokenVerdict } from '../../core/engine.ts'
import type { RunId } from '../../core/ids.ts'
import {
  type PublishedRootKeys,
  privateKeyOf,
  publicKeyOf,
  rootKeysSchema,
} from '../../core/keys.ts'
import { LIMITS } from '../../core/limits.ts'
import { LAST_SECOND, nowSeconds, seconds } from '../../core/time.ts'
import { createTokenEngine } from '../../tokens/pool.ts'
import { createApi } from '../api.ts'
import { dataFile, newPrivateJwk, readRootRing } from '../data-dir.ts'
import { Failure } from '../failure.ts'
import { type Asked, inspect } from '../inspect.ts'
import { atMost, inspectionText } from '../inspect-text.ts'
import type { Io } from '../io.ts'
import {
  apiOf,
  command,
  dataPath,
  emit,
  readInput,
  type ServerOptions,
  withServer,
} from './context.ts'
import { readRun } from './runs.ts'

type Options = ServerOptions & { json?: boolean }

const HELP = `
The token is read from a file or stdin and is never an argument, because whoever lists the processes
of a machine reads their arguments. It is never printed, and what it says is shown only where it verifies.

Exit code 0: it would be accepted or, where no gateway could be asked, nothing known speaks against it
(\`would\` is then "unknown" in --json). 11: it would be refused.
`

export function tokenCommand(io: Io): Command {
  return new Command('token').description('explain a token').addCommand(inspectCommand(io))
}

function inspectCommand(io: Io): Command {
  const base = command({
    name: 'inspect',
    summary: 'explain a token: who gave what to whom, what is left, and what would come of it now',
    examples: ['headgate token inspect leaf.token', 'headgate token inspect < leaf.token'],
  })
    .argument('[file]', 'a file with the token in it (- for stdin, as without a file)')
    .addHelpText('after', HELP)
  return withServer(base).action(async (file: string | undefined, options: Options) => {
    const token = readToken(file)
    const ring = await ringOf(io, options)
    const now = nowSeconds(io.clock)
    const verdict = await verify(io, token, ring)
    const asked = await ask(io, options, verdict)
    const found = inspect({ token, verdict, ring, asked, now })
    const most = found.verifies ? { atMost: atMost(found.blocks) } : {}
    emit(io, options, { ...found, ...most }, () => inspectionText(io, found, now))
    if (found.would === 'refuse') throw new Failure('refused', 'the token would be refused')
  })
}

/** Its own sentence for a file that is none: the name may be a token that somebody took for an argument. */
function readToken(file = '-'): string {
  try {
    const text = readInput(file).trim()
    if (text !== '') return text
  } catch (cause) {
    if (!(cause instanceof Failure)) throw cause
    throw new Failure(
      'usage',
      'the token cannot be read: expected the name of a file, or the token on stdin',
      { cause },
    )
  }
  throw new Failure('usage', 'expected a token in the file or on stdin, and it is empty')
}

/** From the gateway that is named, otherwise from the data folder, for which no gateway need run. */
async function ringOf(io: Io, options: Options): Promise<PublishedRootKeys> {
  const url = options.url ?? io.environment.url
  if (url === undefined) return readRootRing(dataPath(io, options.data))
  return createApi({ url }).get('/.well-known/root-keys.json', rootKeysSchema)
}

/** In the engine's worker, under the published keys alone. */
async function verify(io: Io, token: string, { keys }: PublishedRootKeys): Promise<TokenVerdict> {
  // Longer ones are refused unread, and not handed to a worker either.
  if (token.length > LIMITS.tokenChars) return { ok: false, code: 'too_large' }
  const privateKey = privateKeyOf(newPrivateJwk())
  const others = keys.map(({ id, jwk, retiresAt }) => {
    return {
      id,
      publicKey: publicKeyOf(jwk),
      retiresAtSeconds: seconds(retiresAt ?? LAST_SECOND),
    }
  })
  const current = { id: unusedId(token, keys), privateKey }
  const engine = await createTokenEngine({
    rootKeys: { current, others },
    workers: 1,
    clock: io.clock,
  })
  try {
    return await engine.verify(token)
  } finally {
    await engine.close()
  }
}

/** The engine wants a key of its own to sign with; nothing is signed, and no token may seem to mean it. */
function unusedId(token: string, keys: PublishedRootKeys['keys']): number {
  const bytes = tokenBytes(token)
  const envelope = bytes === undefined ? 'malformed' : readEnvelope(bytes)
  const named = typeof envelope === 'string' ? undefined : envelope.rootKeyId
  const used = new Set([named, ...keys.map(({ id }) => id)])
  let id = 0
  while (used.has(id)) id += 1
  return id
}

/** What the gateway says of the token's run, where there is one to ask and we are its operator. */
async function ask(io: Io, options: Options, verdict: TokenVerdict): Promise<Asked> {
  const run = verdict.ok ? verdict.token.blocks[0]?.run : undefined
  if (run === undefined) return { asked: false, why: 'the token does not verify' }
  const isServed =
    (options.url ?? io.environment.url) !== undefined ||
    existsSync(dataFile(dataPath(io, options.data), 'server'))
  if (!isServed) return { asked: false, why: 'no gateway is serving from this data folder' }
  return askGateway(io, options, run)
}

async function askGateway(io: Io, options: Options, run: RunId): Promise<Asked> {
  try {
    return { asked: true, detail: await readRun(apiOf(io, options), run) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.exit === 'notFound') return { asked: true, detail: undefined }
    return { asked: false, why: error.message }
  }
}
