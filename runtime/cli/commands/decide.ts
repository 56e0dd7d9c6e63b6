/**
 * `decide`: what a payment would be answered, asked with a leaf's own token and key like any agent would. Token and key are
 * read from their files, stay in this process and are never printed.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { type Client, createClient } from '../../client/client.ts'
import { ClientError } from '../../client/errors.ts'
import { parseJson } from '../../core/json.ts'
import { LIMITS } from '../../core/limits.ts'
import type { DecisionAnswer } from '../../core/wire.ts'
import { dataFile } from '../data-dir.ts'
import { type ExitName, Failure } from '../failure.ts'
import { type Io, shown, table } from '../io.ts'
import {
  command,
  dataPath,
  emit,
  readInput,
  type ServerOptions,
  serverFileSchema,
  withServer,
} from './context.ts'
import { readPrivateKey } from './keys.ts'

type Options = ServerOptions & { token: string; key: string; quote: string; json?: boolean }

const HELP = `
All nine checks run in their order, and nothing is reserved, paid or asked of a person. The same
payment, made later, is answered anew: money may be gone by then, and only what a monitor has said
stands. A leaf may ask ${LIMITS.decisions} times.

Exit code 0: it would be allowed. 1: it would be held for a person, or denied.
`

export function decisionCommand(io: Io): Command {
  const base = command({
    name: 'decide',
    summary: 'what a payment of this quote would be answered, without making it',
    examples: [
      'headgate decide --token leaf.token --key leaf.jwk --quote quote.jws',
      'headgate decide --url https://pay.example.com --token leaf.token --key leaf.jwk --quote - --json',
    ],
  })
    .requiredOption('--token <file>', 'a file with the leaf’s token in it')
    .requiredOption('--key <file>', 'the leaf’s private key, as a JWK')
    .requiredOption('--quote <file>', 'the quote that the leaf was made for (- for stdin)')
    .addHelpText('after', HELP)
  return withServer(base).action(async (options: Options) => {
    const token = (await readInput(options.token)).trim()
    const quote = (await readInput(options.quote)).trim()
    const answer = await asked(clientOf(io, options, token), quote)
    emit(io, options, answer, () => text(answer))
    if (answer.verdict !== 'allow') throw new Failure('no', `it would be ${WOULD[answer.verdict]}`)
  })
}

const WOULD = { allow: 'allowed', hold: 'held for a person', deny: 'denied' } as const

function text({ paymentId, verdict, state, reason, checks }: DecisionAnswer): string {
  const made = state === undefined ? '' : `, because it has been made (${state})`
  const why = reason && [
    ['why', `${reason.code}: ${shown(reason.message, 200)}`],
    ['next', reason.advice],
  ]
  const rows = [
    ['payment', paymentId],
    ['would be', `${WOULD[verdict]}${made}`],
    ...(why ?? []),
    ...checks.map(({ n, name, status }) => [`${n} ${name}`, status]),
  ]
  return table(rows)
}

/** Proofs name the gateway's public address; from this machine it is reached where its data folder says. */
function clientOf(io: Io, options: Options, token: string): Client {
  const holder = readPrivateKey(options.key)
  const named = options.url ?? io.environment.url
  const file = dataFile(dataPath(io, options.data), 'server')
  if (named === undefined && !existsSync(file)) {
    throw new Failure('unreachable', 'no gateway is serving from there: start one, or give --url')
  }
  const { clock } = io
  if (named !== undefined) return createClient({ gateway: named, token, holder, clock })
  const { url, local } = serverFileSchema.parse(parseJson(readFileSync(file)))
  return createClient({
    gateway: url,
    token,
    holder,
    clock,
    fetch: (to, init) => fetch(to.replace(url, local), init),
  })
}

const EXIT_OF: Readonly<Record<number, ExitName>> = {
  0: 'unreachable',
  401: 'notAllowed',
  403: 'notAllowed',
  404: 'notFound',
  429: 'refused',
  503: 'unavailable',
}

async function asked(client: Client, quote: string): Promise<DecisionAnswer> {
  try {
    return await client.decide(quote)
  } catch (cause) {
    if (!(cause instanceof ClientError)) throw cause
    const exit = EXIT_OF[cause.status] ?? 'internal'
    throw new Failure(exit, `${cause.message} [${cause.code}]`, { cause })
  }
}
