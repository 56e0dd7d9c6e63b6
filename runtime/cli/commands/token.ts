/**
 * `token inspect`: what a token is and what would come of it now. The token comes from a file or stdin and is never
 * printed; the Biscuit library runs in its worker, because it writes on stdout whatever it likes.
 */
import { Command } from 'commander'
import type { TokenVerdict } from '../../core/engine.ts'
import type { RunId } from '../../core/ids.ts'
import { type PublishedRootKeys, rootKeysSchema } from '../../core/keys.ts'
import { LIMITS } from '../../core/limits.ts'
import { nowSeconds } from '../../core/time.ts'
import { createTokenEngine } from '../../tokens/pool.ts'
import { createApi } from '../api.ts'
import { readRootRing } from '../data-dir.ts'
import { Failure } from '../failure.ts'
import { type Asked, inspect } from '../inspect.ts'
import { atMost, inspectionText } from '../inspect-text.ts'
import type { Io } from '../io.ts'
import {
  apiOf,
  command,
  dataPath,
  emit,
  isServed,
  readDocument,
  readInput,
  type ServerOptions,
  withServer,
} from './context.ts'
import { readRun } from './runs.ts'

type Options = ServerOptions & { rootKeys?: string; json?: boolean }

const HELP = `
The token is read from a file or stdin and is never an argument, because whoever lists the processes
of a machine reads their arguments. It is never printed, and what it says is shown only where it verifies.

It names what was looked up, and what only the gateway judges when the holder asks: so nothing
here is a promise.

Exit code 0: nothing that was looked up speaks against it (\`would\` is "unopposed" in --json,
"repeat" where its payment was made, "unknown" where no gateway could be asked). 11: it would be
refused.
`

export function tokenCommand(io: Io): Command {
  return new Command('token').description('explain a token').addCommand(inspectCommand(io))
}

function inspectCommand(io: Io): Command {
  const base = command({
    name: 'inspect',
    summary: 'explain a token: who gave what to whom, what is left, and what would come of it now',
    examples: [
      'headgate token inspect leaf.token',
      'headgate token inspect --url https://pay.example.com < leaf.token',
      'headgate token inspect leaf.token --root-keys https://pay.example.com/.well-known/root-keys.json',
    ],
  })
    .argument('[file]', 'a file with the token in it (- for stdin, as without a file)')
    .option(
      '--root-keys <where>',
      'a file or URL of the published root keys; else those of --url or of the data folder',
    )
    .addHelpText('after', HELP)
  return withServer(base).action(async (file: string | undefined, options: Options) => {
    const token = await readToken(file)
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
async function readToken(file = '-'): Promise<string> {
  try {
    const text = (await readInput(file)).trim()
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

/** From the document that is named, or the gateway, or the data folder, for which no gateway need run. */
async function ringOf(io: Io, options: Options): Promise<PublishedRootKeys> {
  if (options.rootKeys !== undefined) return namedRing(options.rootKeys)
  const url = options.url ?? io.environment.url
  if (url === undefined) return readRootRing(dataPath(io, options.data))
  return createApi({ url }).get(PUBLISHED, rootKeysSchema)
}

const PUBLISHED = '/.well-known/root-keys.json'

/** The published document, kept in a file or fetched from where it says; from elsewhere than here by https alone. */
async function namedRing(named: string): Promise<PublishedRootKeys> {
  if (!/^https?:/.test(named)) {
    const wrong = `--root-keys is wrong: expected what a gateway publishes at ${PUBLISHED}`
    return readDocument(named, rootKeysSchema, wrong)
  }
  const url = URL.canParse(named) ? new URL(named) : undefined
  const isHere = ['127.0.0.1', '[::1]', 'localhost'].includes(url?.hostname ?? '')
  if (url === undefined || (url.protocol === 'http:' && !isHere)) {
    throw new Failure(
      'usage',
      'expected --root-keys to be a file, or https, or http on this machine',
    )
  }
  return createApi({ url: url.href }).get('', rootKeysSchema)
}

/** In the engine's worker, under the published keys alone. */
async function verify(io: Io, token: string, rootKeys: PublishedRootKeys): Promise<TokenVerdict> {
  // Longer ones are refused unread, and not handed to a worker either.
  if (token.length > LIMITS.tokenChars) return { ok: false, code: 'too_large' }
  const engine = await createTokenEngine({ rootKeys, workers: 1, clock: io.clock })
  try {
    return await engine.verify(token)
  } finally {
    await engine.close()
  }
}

/** What the gateway says of the token's run, where there is one to ask and we are its operator. */
async function ask(io: Io, options: Options, verdict: TokenVerdict): Promise<Asked> {
  const run = verdict.ok ? verdict.token.blocks[0]?.run : undefined
  if (run === undefined) return { asked: false, why: 'the token does not verify' }
  if (!isServed(io, options)) {
    return { asked: false, why: 'no gateway is serving from this data folder' }
  }
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
