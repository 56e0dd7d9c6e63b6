/**
 * A Firestore in this process: real gRPC on loopback, spoken to by the unmodified client. It holds what the ledger
 * rests on (isolation, atomic commits, preconditions, queries, rollback) and refuses everything else, so that
 * nothing is accepted in silence. Before and after each call a test may wait, fail it, or lose its answer.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import * as grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import type { Document, WireWrite } from './documents.ts'
import { readQuery, type StructuredQuery } from './queries.ts'
import { Refusal, refuse, STATUS } from './refusal.ts'
import { Engine, type Mode, type Transaction, type TransactionOptions } from './transactions.ts'
import { microsOf, type Time, timeOf } from './values.ts'

export type Method = 'BatchGetDocuments' | 'RunQuery' | 'Commit' | 'Rollback' | 'BeginTransaction'

interface Request {
  readonly database?: string
  readonly parent?: string
  readonly documents?: readonly string[]
  readonly writes?: readonly WireWrite[]
  readonly structuredQuery?: StructuredQuery
  readonly transaction?: Buffer
  readonly newTransaction?: TransactionOptions
  readonly options?: TransactionOptions
  readonly readTime?: Time
  readonly mask?: unknown
  readonly explainOptions?: unknown
}

/** Called around each call; may wait, and fails the call by throwing a `Refusal`. */
export type Hook = (method: Method, request: Request) => void | Promise<void>

export interface DoubleOptions {
  readonly mode?: Mode
  readonly lockMs?: number
  readonly idleMs?: number
}

export interface FirestoreDouble {
  /** `127.0.0.1:PORT`. */
  readonly host: string
  readonly mode: Mode
  readonly engine: Engine
  /** How often each method was called. */
  readonly calls: ReadonlyMap<Method, number>
  /** Before anything happens: latency, or a request that is lost. */
  before: Hook | undefined
  /** After it has happened: an answer that is lost. */
  after: Hook | undefined
  close(): Promise<void>
}

const PROTOS = join(
  dirname(createRequire(import.meta.url).resolve('@google-cloud/firestore/package.json')),
  'build/protos',
)

/** The service as the client's own protocol files describe it. */
function loadService(): grpc.ServiceDefinition {
  const loaded = grpc.loadPackageDefinition(
    loadSync('google/firestore/v1/firestore.proto', {
      includeDirs: [PROTOS],
      longs: String,
      enums: String,
      oneofs: true,
      defaults: false,
    }),
  )
  const { google } = loaded as unknown as {
    google: { firestore: { v1: { Firestore: grpc.ServiceClientConstructor } } }
  }
  return google.firestore.v1.Firestore.service
}

/** Starts one; each has documents of its own. */
export async function startFirestoreDouble(options: DoubleOptions = {}): Promise<FirestoreDouble> {
  const { mode = 'pessimistic', lockMs = 2_000, idleMs = 60_000 } = options
  const engine = new Engine({ mode, lockMs, idleMs })
  const calls = new Map<Method, number>()
  const server = new grpc.Server({ 'grpc.max_receive_message_length': 10 * 1024 * 1024 })
  const double = { mode, engine, calls, before: undefined, after: undefined }
  const answer = async <T>(method: Method, request: Request, act: () => Promise<T>): Promise<T> => {
    calls.set(method, (calls.get(method) ?? 0) + 1)
    await started.before?.(method, request)
    const response = await act()
    await started.after?.(method, request)
    return response
  }
  server.addService(loadService(), handlers(engine, answer))
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    )
  })
  const started: FirestoreDouble = {
    ...double,
    host: `127.0.0.1:${port}`,
    close: async () => {
      engine.close()
      server.forceShutdown()
    },
  }
  return started
}

type Answer = <T>(method: Method, request: Request, act: () => Promise<T>) => Promise<T>
type Stream = grpc.ServerWritableStream<Request, object>
type Unary = grpc.ServerUnaryCall<Request, object>

function handlers(engine: Engine, answer: Answer): grpc.UntypedServiceImplementation {
  return {
    BatchGetDocuments: (call: Stream) =>
      stream(call, () =>
        answer('BatchGetDocuments', call.request, () => batchGet(engine, call.request)),
      ),
    RunQuery: (call: Stream) =>
      stream(call, () => answer('RunQuery', call.request, () => query(engine, call.request))),
    Commit: (call: Unary, done: grpc.sendUnaryData<object>) =>
      unary(done, () => answer('Commit', call.request, () => commit(engine, call.request))),
    BeginTransaction: (call: Unary, done: grpc.sendUnaryData<object>) =>
      unary(done, () =>
        answer('BeginTransaction', call.request, async () => ({
          transaction: engine.begin(call.request.options ?? {}).id,
        })),
      ),
    Rollback: (call: Unary, done: grpc.sendUnaryData<object>) =>
      unary(done, () =>
        answer('Rollback', call.request, async () => {
          engine.rollback(call.request.transaction ?? Buffer.alloc(0))
          return {}
        }),
      ),
  }
}

const errorOf = (error: unknown): { code: number; details: string } =>
  error instanceof Refusal
    ? { code: error.code, details: error.message }
    : { code: STATUS.UNIMPLEMENTED, details: `the double broke: ${String(error)}` }

async function stream(call: Stream, act: () => Promise<readonly object[]>): Promise<void> {
  try {
    for (const message of await act()) call.write(message)
    call.end()
  } catch (error) {
    call.emit('error', errorOf(error))
  }
}

async function unary(done: grpc.sendUnaryData<object>, act: () => Promise<object>): Promise<void> {
  try {
    done(null, await act())
  } catch (error) {
    done(errorOf(error))
  }
}

/** The transaction of a read, whether it has just begun, and the instant that is asked for. */
function transactionOf(
  engine: Engine,
  request: Request,
): { within: Transaction | undefined; isNew: boolean; at: bigint | undefined } {
  const { transaction, newTransaction, readTime } = request
  for (const part of ['mask', 'explainOptions'] as const) {
    if (request[part]) refuse(STATUS.UNIMPLEMENTED, `no ${part} in the double`)
  }
  if (newTransaction) {
    const within = engine.begin(newTransaction)
    return { within, isNew: true, at: within.readTime }
  }
  const within = transaction?.length ? engine.find(transaction) : undefined
  return { within, isNew: false, at: within?.readTime ?? (readTime && microsOf(readTime)) }
}

const wire = ({ name, fields, createTime, updateTime }: Document) => ({
  name,
  fields,
  createTime: timeOf(createTime),
  updateTime: timeOf(updateTime),
})

async function batchGet(engine: Engine, request: Request): Promise<readonly object[]> {
  const { within, isNew, at } = transactionOf(engine, request)
  const names = request.documents ?? []
  const found = await engine.read(names, { within, at })
  const readTime = timeOf(at ?? engine.documents.tick())
  const answers = names.map((name) => {
    const document = found.get(name)
    return document ? { found: wire(document), readTime } : { missing: name, readTime }
  })
  return isNew ? [{ transaction: within?.id }, ...answers] : answers
}

async function query(engine: Engine, request: Request): Promise<readonly object[]> {
  const asked = readQuery(request.parent ?? '', request.structuredQuery ?? {})
  const { within, isNew, at } = transactionOf(engine, request)
  const found = await engine.query(asked, { within, at })
  const readTime = timeOf(at ?? engine.documents.tick())
  const answers = found.map((document) => ({ document: wire(document), readTime }))
  const first = isNew ? [{ transaction: within?.id }] : []
  return [...first, ...(answers.length > 0 ? answers : [{ readTime }])]
}

async function commit(engine: Engine, request: Request): Promise<object> {
  const { transaction, writes = [] } = request
  const within = transaction?.length ? engine.find(transaction) : undefined
  const updateTime = timeOf(await engine.commit(writes, within))
  return { writeResults: writes.map(() => ({ updateTime })), commitTime: updateTime }
}
