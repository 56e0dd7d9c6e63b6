/**
 * The simulated rail: a payment provider to try things against, a process of its own with a book of its own, so
 * that "paid once" is proved by somebody else's books. It commits before it answers, pays one key once, can be
 * scripted to fail in every way that real rails fail, and serves nobody without its key. It knows nothing of
 * mandates, tokens or merchants.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { parseJson } from '../../core/json.ts'
import { LIMITS } from '../../core/limits.ts'
import { minor } from '../../core/money.ts'
import { Book, type Decision, type RefundToBook } from './book.ts'
import { type Rule, ruleSchema, Script } from './script.ts'
import {
  type PayoutBody,
  payoutBodySchema,
  payoutKeySchema,
  type RefundBody,
  refundBodySchema,
  statementQuerySchema,
  straySchema,
} from './wire.ts'

export interface SimulatedRailServer {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string
  readonly apiKey: string
  readonly keyFile: string
  close(): Promise<void>
}

/** Starts the rail on loopback; port 0 takes a free one. `keyFile` is made (mode 0600) when it does not exist. */
export async function startSimulatedRail(options: {
  readonly port: number
  readonly directory: string
  readonly keyFile?: string
}): Promise<SimulatedRailServer> {
  mkdirSync(options.directory, { recursive: true, mode: 0o700 })
  const keyFile = options.keyFile ?? join(options.directory, 'api-key')
  const apiKey = readOrMakeKey(keyFile)
  const book = new Book(options.directory)
  const app = createApp(book, apiKey)
  app.addHook('onClose', async () => book.close())
  const url = await app.listen({ port: options.port, host: '127.0.0.1' })
  return { url, apiKey, keyFile, close: () => app.close() }
}

function readOrMakeKey(file: string): string {
  const fresh = randomBytes(32).toString('base64url')
  try {
    writeFileSync(file, `${fresh}\n`, { mode: 0o600, flag: 'wx' })
    return fresh
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const key = readFileSync(file, 'utf8').trim()
  if (!/^[\x21-\x7e]{20,200}$/.test(key)) {
    throw new Error('expected a key of 20 to 200 printable characters in the key file')
  }
  return key
}

function createApp(book: Book, apiKey: string): FastifyInstance {
  const app = Fastify({
    forceCloseConnections: true,
    bodyLimit: LIMITS.bodyBytes,
    routerOptions: { maxParamLength: 120 },
  })
  const later = new Set<NodeJS.Timeout>()
  app.addHook('preClose', async () => {
    for (const timer of later) clearTimeout(timer)
  })
  // Parsed by the routes themselves, so that a payout request that is not JSON is still counted.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  app.addHook('onRequest', async (request, reply) => {
    if (bears(request, apiKey)) return
    await book.count('unauthorised')
    return reply.code(401).send({ code: 'unauthorised' })
  })
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ code: 'no_such_route' }))
  app.setErrorHandler((_error, _request, reply) => reply.code(500).send({ code: 'rail_failed' }))

  const context = { book, script: new Script(), later }
  addPayoutRoutes(app, context)
  addRefundRoutes(app, context)
  addOperatorRoutes(app, context)
  return app
}

interface Context {
  readonly book: Book
  readonly script: Script
  readonly later: Set<NodeJS.Timeout>
}

function addPayoutRoutes(app: FastifyInstance, context: Context): void {
  const { book, script } = context
  app.post('/payouts', async (request, reply) => {
    const n = book.arrive()
    const body = parseBody(payoutBodySchema, request.body)
    if (!body) {
      await book.count('calls')
      return reply.code(400).send({ code: 'malformed' })
    }
    const rule = script.take({ on: 'payout', n, account: body.account, key: body.key })
    if (rule?.outcome === 'lostRequest' || rule?.outcome === 'lateCommit') {
      await book.count('calls')
      if (rule.outcome === 'lateCommit') {
        inTime(context, rule.delayMs, () => book.bookLate(body, decide(body, rule)))
      }
      return drop(reply)
    }
    const booked = await book.book(body, decide(body, rule))
    if (rule?.outcome === 'lateReversal' && rule.afterMs !== undefined) {
      inTime(context, rule.afterMs, () => book.giveBack(body.key))
    }
    return answer(reply, booked, rule)
  })

  app.get('/payouts/:key', async (request, reply) => {
    const key = keyOf(request)
    if (key === undefined) return reply.code(400).send({ code: 'malformed' })
    const payout = book.find(key)
    const refunds = book.refunds(key)
    if (payout) return refunds.length === 0 ? payout : { ...payout, refunds }
    return reply.code(404).send({ code: 'no_such_payout', key })
  })

  app.post('/payouts/:key/return', async (request, reply) => {
    const key = keyOf(request)
    if (key === undefined) return reply.code(400).send({ code: 'malformed' })
    const payout = await book.giveBack(key)
    if (payout === false) return reply.code(409).send({ code: 'not_settled' })
    return payout ?? reply.code(404).send({ code: 'no_such_payout', key })
  })
}

function addRefundRoutes(app: FastifyInstance, context: Context): void {
  const { book, script } = context
  app.post('/payouts/:key/refunds', async (request, reply) => {
    const payout = keyOf(request)
    const body = parseBody(refundBodySchema, request.body)
    if (payout === undefined || !body) return reply.code(400).send({ code: 'malformed' })
    const n = book.refunds().length + 1
    const account = book.find(payout)?.account ?? ''
    const rule = script.take({ on: 'refund', n, account, key: body.key })
    const asked = { payout, body, ...decideRefund(body, rule) }
    if (rule?.outcome === 'lostRequest') return drop(reply)
    if (rule?.outcome === 'lateCommit') {
      inTime(context, rule.delayMs, () => book.refund(asked))
      return drop(reply)
    }
    const booked = await book.refund(asked)
    if (booked.kind === 'no_payout')
      return reply.code(404).send({ code: 'no_such_payout', key: payout })
    const said: ToSay =
      'refund' in booked ? { kind: booked.kind, payout: booked.refund } : { kind: 'conflict' }
    return answer(reply, said, rule)
  })

  app.get('/refunds/:key', async (request, reply) => {
    const key = keyOf(request)
    if (key === undefined) return reply.code(400).send({ code: 'malformed' })
    return book.findRefund(key) ?? reply.code(404).send({ code: 'no_such_refund', key })
  })
}

function decideRefund(
  { amount }: RefundBody,
  rule: Rule | undefined,
): Pick<RefundToBook, 'decision'> {
  switch (rule?.outcome) {
    case 'decline':
      return { decision: { reason: rule.reason ?? 'refunds_closed' } }
    case 'wrongAmount':
      return { decision: { amount: rule.amount ?? minor(amount + 1) } }
    default:
      return {}
  }
}

function addOperatorRoutes(app: FastifyInstance, { book, script }: Context): void {
  app.get('/book', async () => book.view())
  app.get('/statement', async (request, reply) => {
    const query = statementQuerySchema.safeParse(request.query)
    if (!query.success) return reply.code(400).send({ code: 'malformed' })
    return book.statement(query.data)
  })
  app.post('/strays', async (request, reply) => {
    const stray = parseBody(straySchema, request.body)
    if (!stray) return reply.code(400).send({ code: 'malformed' })
    return reply.code(201).send({ id: await book.stray(stray) })
  })
  app.get('/health', async () => ({ rail: 'simulated', ok: true }))
  app.post('/script', async (request, reply) => {
    const rule = parseBody(ruleSchema, request.body)
    if (!rule) return reply.code(400).send({ code: 'malformed' })
    script.add(rule)
    return reply.code(204).send()
  })
  app.delete('/script', async (_request, reply) => {
    script.clear()
    return reply.code(204).send()
  })
}

/** What the rail decides about a new payout. */
function decide({ amount, currency }: PayoutBody, rule: Rule | undefined): Decision {
  switch (rule?.outcome) {
    case 'decline':
      return { state: 'declined', amount, currency, reason: rule.reason ?? 'account_closed' }
    case 'wrongAmount':
      return { state: 'settled', ...unlike({ amount, currency }, rule) }
    default:
      return { state: 'settled', amount, currency }
  }
}

type Money = Pick<Decision, 'amount' | 'currency'>

function unlike(asked: Money, { amount, currency }: Rule): Money {
  if (amount === undefined && currency === undefined) {
    return { amount: minor(asked.amount + 1), currency: asked.currency }
  }
  return { amount: amount ?? asked.amount, currency: currency ?? asked.currency }
}

/** What is said of what was booked: a payout, or a refund of one. */
type ToSay =
  | { readonly kind: 'new' | 'again'; readonly payout: unknown }
  | { readonly kind: 'conflict' }

async function answer(reply: FastifyReply, booked: ToSay, rule: Rule | undefined) {
  switch (rule?.outcome) {
    case 'lostReply':
      return drop(reply)
    case 'slow':
      await new Promise((resolve) => setTimeout(resolve, rule.delayMs).unref())
      break
    case 'garbage':
      return reply.code(200).type('text/html').send('<!doctype html><title>Welcome</title>OK')
    case 'error500AfterSettle':
      return reply.code(500).send({ code: 'rail_failed' })
  }
  if (booked.kind === 'conflict') return reply.code(422).send({ code: 'key_conflict' })
  return reply.code(booked.kind === 'new' ? 201 : 200).send(booked.payout)
}

/** Ends the connection without a byte of an answer. */
function drop(reply: FastifyReply): FastifyReply {
  reply.hijack()
  reply.raw.destroy()
  return reply
}

function inTime({ later }: Context, ms: number, work: () => Promise<unknown>): void {
  const timer = setTimeout(() => {
    later.delete(timer)
    work().catch((error: unknown) => process.emitWarning(error as Error))
  }, ms)
  later.add(timer)
}

function parseBody<T>(schema: z.ZodType<T>, body: unknown): T | undefined {
  if (!Buffer.isBuffer(body)) return undefined
  try {
    return schema.safeParse(parseJson(body)).data
  } catch {
    return undefined
  }
}

function keyOf(request: FastifyRequest): string | undefined {
  const { key } = request.params as { key: string }
  return payoutKeySchema.safeParse(key).data
}

function bears(request: FastifyRequest, apiKey: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(request.headers.authorization ?? ''), digest(`Bearer ${apiKey}`))
}
