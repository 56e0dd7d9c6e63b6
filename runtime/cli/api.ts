/** The gateway’s interface as the command line calls it, with the operator token. */

import type { z } from 'zod'
import { JsonError, parseJson } from '../core/json.ts'
import { problemSchema } from '../core/wire.ts'
import type { Secret } from '../secrets/secret.ts'
import { type ExitName, Failure } from './failure.ts'

const TIMEOUT_MS = 30_000

export interface Api {
  readonly url: string
  get<T>(path: string, schema: z.ZodType<T>): Promise<T>
  post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T>
  /** The answer’s text as it comes; for exports and streams. */
  open(
    path: string,
    options?: { signal?: AbortSignal; headers?: Record<string, string> },
  ): Promise<Response>
}

const EXIT_OF_STATUS: Readonly<Record<number, ExitName>> = {
  400: 'refused',
  401: 'notAllowed',
  403: 'notAllowed',
  404: 'notFound',
  409: 'refused',
  422: 'refused',
  429: 'unavailable',
  503: 'unavailable',
}

/** Calls one gateway. Whatever is not a success is a Failure with the gateway’s own sentence. */
export function createApi(options: { url: string; token?: Secret }): Api {
  const { url, token } = options
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers)
    if (!headers.has('accept')) headers.set('accept', 'application/json')
    if (token !== undefined) headers.set('authorization', `Bearer ${token.reveal()}`)
    let response: Response
    try {
      response = await fetch(new URL(path, url), { ...init, headers, redirect: 'error' })
    } catch (cause) {
      if (init.signal?.aborted && init.signal.reason instanceof Failure) throw init.signal.reason
      throw new Failure('unreachable', `no gateway answers at ${url}`, { cause })
    }
    if (response.ok) return response
    throw await failureOf(response)
  }
  const read = async <T>(response: Response, schema: z.ZodType<T>): Promise<T> => {
    try {
      return schema.parse(parseJson(await response.text()))
    } catch (cause) {
      throw new Failure('internal', `what answers at ${url} does not speak as this headgate does`, {
        cause,
      })
    }
  }
  return {
    url,
    get: async (path, schema) =>
      read(await send(path, { signal: AbortSignal.timeout(TIMEOUT_MS) }), schema),
    post: async (path, body, schema) => {
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      }
      return read(await send(path, init), schema)
    },
    open: (path, { signal, headers } = {}) =>
      send(path, { ...(signal ? { signal } : {}), ...(headers ? { headers } : {}) }),
  }
}

async function failureOf(response: Response): Promise<Failure> {
  const exit = EXIT_OF_STATUS[response.status] ?? 'internal'
  try {
    const problem = problemSchema.parse(parseJson(await response.text()))
    const claim = problem.claim === undefined ? '' : ` (${problem.claim})`
    const title =
      problem.code === 'not_found' ? 'the gateway has nothing by this id' : problem.title
    return new Failure(exit, `${title}${claim} [${problem.code}]`)
  } catch (cause) {
    if (!(cause instanceof JsonError))
      return new Failure(exit, `the gateway answered ${response.status}`)
    return new Failure(exit, `the gateway answered ${response.status} without a reason`, { cause })
  }
}
