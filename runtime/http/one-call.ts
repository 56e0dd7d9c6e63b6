/**
 * What MCP tools ask, answered by the gateway's own doors in this process: one call for one request, made with the headers
 * that came with it, so that the one proof over the route is judged by the nine checks and used up by their record. The
 * answer is read as strictly as over a socket.
 */
import type { z } from 'zod'
import { type ClientError, problemError } from '../client/errors.ts'
import { Fault } from '../core/errors.ts'
import type { NodeId, RunId } from '../core/ids.ts'
import {
  closedNodeSchema,
  decisionAnswerSchema,
  ownNodeSchema,
  paymentAnswerSchema,
  problemSchema,
  productAnswerSchema,
  quoteAnswerSchema,
  searchAnswerSchema,
} from '../core/wire.ts'
import type { Answer } from '../gateway/answers.ts'
import type { RawRequest } from '../gateway/attempt.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Calls } from '../mcp/calls.ts'

type Doors = Pick<
  Gateway,
  'ownNode' | 'search' | 'product' | 'quote' | 'pay' | 'decide' | 'closeNode'
>

const NOTHING = new Uint8Array(0)

/** The request as if it had been sent without a body. */
export const bare = (raw: RawRequest): RawRequest => ({ ...raw, body: NOTHING })

export class OneCall {
  readonly calls: Calls
  /** Whether the gateway was asked, and has used the proof up. */
  asked = false
  /** Its answer, where it did not let the caller in: nothing else may be told then. */
  turnedAway: Answer | undefined

  constructor(doors: Doors, raw: RawRequest, of: { readonly node: NodeId; readonly run: RunId }) {
    const post = <S extends z.ZodType>(
      schema: S,
      body: unknown,
      act: (request: RawRequest) => Promise<Answer>,
    ) => this.#ask(schema, () => act({ ...raw, body: Buffer.from(JSON.stringify(body)) }))
    const empty = bare(raw)
    this.calls = {
      ...of,
      ownNode: () => this.#ask(ownNodeSchema, () => doors.ownNode(empty)),
      search: (body) => post(searchAnswerSchema, body, doors.search),
      product: (body) => post(productAnswerSchema, body, doors.product),
      quote: (body) => post(quoteAnswerSchema, body, doors.quote),
      decide: (quote) => post(decisionAnswerSchema, { quote }, doors.decide),
      pay: (quote) => post(paymentAnswerSchema, { quote }, doors.pay),
      closeNode: (run, node) =>
        this.#ask(closedNodeSchema, () => doors.closeNode(run, node, empty)),
    }
  }

  async #ask<S extends z.ZodType>(schema: S, act: () => Promise<Answer>): Promise<z.output<S>> {
    if (this.asked) throw new Fault('internal', 'one request may ask the gateway once')
    this.asked = true
    const answer = await act()
    if (answer.status === 401) this.turnedAway = answer
    if (answer.type === 'application/problem+json') throw problemOf(answer)
    return schema.parse(answer.body)
  }
}

function problemOf({ status, headers, body }: Answer): ClientError {
  const after = headers['retry-after']
  return problemError(
    { ...problemSchema.parse(body), status },
    after === undefined ? undefined : Number(after),
  )
}
