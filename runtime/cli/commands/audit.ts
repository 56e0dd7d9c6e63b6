/** Commands for auditors: export the log, verify it against itself and its seals. */
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Command } from 'commander'
import { lastCheckpointIn } from '../../audit/checkpoint-file.ts'
import { exportLog } from '../../audit/export.ts'
import { receiptOf } from '../../audit/receipts.ts'
import type { GatewaySigner } from '../../audit/signer.ts'
import {
  type AuditVerdict,
  checkpointsIn,
  linesIn,
  personalText,
  proofsText,
  receiptIn,
  type VerifyOptions,
  verifyExport,
} from '../../audit/verify.ts'
import type { RunId } from '../../core/ids.ts'
import { jwksSchema } from '../../core/keys.ts'
import type { Ledger } from '../../core/ledger.ts'
import type { RunRecord } from '../../core/records.ts'
import { publicKeysOfSigner } from '../../http/public-key.ts'
import { everyRun } from '../../ledger/reads.ts'
import type { Api } from '../api.ts'
import { dataFile, openDataDir, readIdentity } from '../data-dir.ts'
import { Failure } from '../failure.ts'
import { type Io, table } from '../io.ts'
import {
  apiOf,
  collect,
  command,
  dataPath,
  emit,
  isServed,
  readInput,
  type ServerOptions,
  withServer,
  withStore,
} from './context.ts'
import { readJwks } from './receipt.ts'
import { runId, runsOf } from './runs.ts'

type Options = ServerOptions & { json?: boolean }

export function auditCommand(io: Io): Command {
  return new Command('audit')
    .description('export and verify the log')
    .addCommand(verifyCommand(io))
    .addCommand(exportCommand(io))
}

interface VerifyCommandOptions extends Options {
  run?: string
  seal?: string[]
  receipt?: string[]
  checkpoint?: string[]
  jwks?: string
  links?: boolean
}

function verifyCommand(io: Io): Command {
  const base = command({
    name: 'verify',
    summary:
      'recompute every hash and balance of a log, from a file, a running gateway or a data folder; names the first broken link',
    examples: [
      'headgate audit verify',
      'headgate audit verify export.ndjson --seal seal.jws --jwks keys.json',
      'headgate audit verify export.ndjson --checkpoint checkpoints.ndjson --jwks keys.json',
      'headgate audit export | headgate audit verify -',
    ],
  })
    .argument(
      '[file]',
      'an export (- for stdin); without it, the running gateway or its data folder',
    )
    .option(
      '--run <run>',
      'only this run, from a running gateway or because the export is of it alone',
    )
    .option('--seal <file>', 'a seal that was kept elsewhere; repeat for more', collect)
    .option('--receipt <file>', 'a receipt that was kept elsewhere; repeat for more', collect)
    .option(
      '--checkpoint <file>',
      'checkpoints that were kept elsewhere, or one of them; repeat for more',
      collect,
    )
    .option('--jwks <file>', 'the gateway’s key set, for all of these')
    .option(
      '--links',
      'judge bytes alone, twice as fast: hashes, chains and what was signed, not what the events say',
    )
  return withServer(base).action(
    async (file: string | undefined, options: VerifyCommandOptions) => {
      const found = await gather(io, file, options)
      const kept = await withKept(found, options)
      const verdict = verifyExport(found.lines, kept)
      emit(io, options, verdict, () => verdictText(verdict, kept))
      if (!verdict.ok) throw new Failure('no', 'the log is broken')
      if (file !== undefined && verdict.events === 0) {
        throw new Failure('no', 'there is no event in it, so nothing was verified')
      }
    },
  )
}

/** A log with what its keeper says about it. */
interface Gathered extends VerifyOptions {
  readonly lines: Iterable<string>
}

async function gather(
  io: Io,
  file: string | undefined,
  options: VerifyCommandOptions,
): Promise<Gathered> {
  if (file === undefined && isServed(io, options))
    return fromGateway(apiOf(io, options), options.run)
  if (file !== undefined) {
    return { lines: file === '-' ? await linesFrom(process.stdin) : linesOf(file) }
  }
  // Whoever asks for one run and is told of all would take it for the one.
  if (options.run !== undefined)
    throw new Failure('usage', 'expected a running gateway or an export of that run, for --run')
  return fromDataDir(dataPath(io, options.data))
}

/** Read as they are needed: no text of ours could hold a log of millions of events. */
function* linesOf(file: string): Generator<string, void> {
  try {
    yield* linesIn(file)
  } catch (cause) {
    throw new Failure('usage', `${file} cannot be read`, { cause })
  }
}

async function linesFrom(bytes: AsyncIterable<Uint8Array>): Promise<readonly string[]> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const lines: string[] = []
  let begun = ''
  for await (const chunk of bytes) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
    begun += first
    for (const other of others) {
      lines.push(begun)
      begun = other
    }
  }
  return [...lines, begun + decoder.decode()]
}

async function fromGateway(api: Api, run: string | undefined): Promise<Gathered> {
  const query = run === undefined ? '' : `?run=${runId(run)}`
  const { body } = await api.open(`/audit${query}`)
  const lines = body === null ? [] : await linesFrom(body)
  const seals: string[] = []
  for await (const { id, seal } of runsOf(api)) {
    if (seal !== undefined && (run === undefined || id === run)) seals.push(seal)
  }
  const jwks = await api.get('/.well-known/jwks.json', jwksSchema)
  return { lines, seals, jwks }
}

/** The store of a gateway that does not run now, with seals and receipts that it would give and its last checkpoint. */
async function fromDataDir(path: string): Promise<Gathered> {
  const { gateway } = readIdentity(path)
  const data = openDataDir(path)
  try {
    const found = await withStore(data, (ledger) =>
      gatherFrom(ledger, { ...data.signing, gateway }),
    )
    const checkpoint = await lastCheckpointIn(dataFile(path, 'checkpoints'))
    return { ...found, checkpoints: checkpoint === undefined ? [] : [checkpoint] }
  } finally {
    data.close()
  }
}

async function gatherFrom(ledger: Ledger, signer: GatewaySigner): Promise<Gathered> {
  const lines: string[] = []
  for await (const line of exportLog(ledger)) lines.push(line)
  const runs = new Map<RunId, RunRecord>()
  for await (const run of everyRun(ledger)) runs.set(run.id, run)
  const settled = await ledger.payments({ states: ['settled'], limit: 1_000_000 })
  const receipts = settled.flatMap((payment) => {
    const run = runs.get(payment.run)
    return (run && receiptOf(run, payment, signer)) ?? []
  })
  const seals = [...runs.values()].flatMap(({ seal }) => (seal === undefined ? [] : [seal]))
  return { lines, seals, receipts, jwks: { keys: [...publicKeysOfSigner(signer)] } }
}

/** What the auditor kept counts beside what the gateway says now. */
async function withKept(found: Gathered, options: VerifyCommandOptions): Promise<VerifyOptions> {
  const seals = [...(found.seals ?? []), ...(await readAll(options.seal))]
  const kept = await Promise.all((options.checkpoint ?? []).map(inFile))
  const checkpoints = [...(found.checkpoints ?? []), ...kept.flat()]
  const receipts = [...(found.receipts ?? []), ...(await readAll(options.receipt)).map(receiptIn)]
  const jwks = options.jwks === undefined ? found.jwks : await readJwks(options.jwks)
  if (seals.length + receipts.length + checkpoints.length > 0 && jwks === undefined) {
    throw new Failure('usage', 'expected --jwks, to verify seals, receipts and checkpoints')
  }
  const { run, links = false } = options
  return {
    seals,
    receipts,
    checkpoints,
    links,
    ...(jwks === undefined ? {} : { jwks }),
    ...(run === undefined ? {} : { run: runId(run) }),
  }
}

/** At least one: a file in which there is none would prove nothing and look as if it did. */
async function inFile(file: string): Promise<readonly string[]> {
  const found = checkpointsIn(await readInput(file))
  if (found.length > 0) return found
  throw new Failure('usage', `there is no checkpoint in ${file}`)
}

const readAll = (files: readonly string[] = []): Promise<string[]> =>
  Promise.all(files.map(readInput))

function verdictText(verdict: AuditVerdict, kept: VerifyOptions): string {
  const { ok, events, streams, runs, personal, broken } = verdict
  const rows = runs.map((run) => [
    run.run,
    'minor units:',
    `ceiling ${run.ceiling}`,
    `spent ${run.spent}`,
    `reserved ${run.reserved}`,
    `left ${run.available}`,
  ])
  const looked = kept.links ? ', what the events say was not looked at' : ''
  const holds =
    events === 0
      ? 'there is no event, so nothing was verified'
      : `every link holds${looked}; ${proofsText(kept, verdict)}`
  const end =
    ok || broken === undefined
      ? holds
      : `broken at ${broken.stream} event ${broken.seq}: ${broken.why}`
  const beside = personal === undefined ? '' : `${personalText(personal)}\n`
  return `${table(rows)}${beside}${events} events in ${streams} streams: ${end}\n`
}

interface ExportOptions extends Options {
  readonly run?: string
  readonly withPersonal?: boolean
  readonly out?: string
}

function exportCommand(io: Io): Command {
  const base = command({
    name: 'export',
    summary: 'write the log of a running gateway, one event a line',
    examples: [
      'headgate audit export > log.ndjson',
      'headgate audit export --run run_4x… --out run.ndjson',
      'headgate audit export --run run_4x… --with-personal --out run.ndjson',
    ],
  })
    .option('--run <run>', 'only this run')
    .option(
      '--with-personal',
      'the clear values beside the log too: mandates, labels, accounts, goods, evidence',
    )
    .option('--out <file>', 'a new file instead of stdout')
  return withServer(base).action(async (options: ExportOptions) => {
    const query = new URLSearchParams({
      ...(options.run === undefined ? {} : { run: runId(options.run) }),
      ...(options.withPersonal ? { personal: 'yes' } : {}),
    })
    const answer = await apiOf(io, options).open(`/audit?${query}`)
    if (answer.body === null) return
    const { out } = options
    if (out === undefined) {
      for await (const text of answer.body.pipeThrough(new TextDecoderStream())) io.out(text)
      return
    }
    const events = await writeLines(answer.body, out)
    emit(io, options, { events, out }, () => `${events} events in ${out}\n`)
  })
}

async function writeLines(body: ReadableStream, out: string): Promise<number> {
  let events = 0
  const count = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      for (const byte of chunk) if (byte === 10) events += 1
      yield chunk
    }
  }
  try {
    const file = createWriteStream(out, { flags: 'wx', mode: 0o600 })
    await pipeline(Readable.fromWeb(body as never), count, file)
  } catch (cause) {
    throw new Failure('usage', `${out} cannot be written: expected a new file in a folder`, {
      cause,
    })
  }
  return events
}
