/**
 * The way to this server from inside its own process, for the funnel: the same routes, hooks and checks as over a
 * socket, without one.
 */
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Fetch } from '../client/client.ts'

/** A `fetch` that reaches only this server, under whichever of its names the URL gives. */
export const inProcess =
  (app: FastifyInstance): Fetch =>
  async (url, { method, headers, body, signal }) => {
    const { host, pathname, search } = new URL(url)
    const answer = await app.inject({
      method: method === 'POST' ? 'POST' : 'GET',
      url: pathname + search,
      headers: { ...headers, host },
      signal,
      ...(body === undefined ? {} : { payload: body }),
    })
    return {
      status: answer.statusCode,
      headers: { get: (name) => textOf(answer.headers[name]) },
      body: Readable.from([answer.rawPayload]),
    }
  }

const textOf = (value: number | string | readonly string[] | undefined): string | null =>
  value === undefined || typeof value === 'object' ? null : String(value)
