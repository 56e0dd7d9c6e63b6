/**
 * Every request that an adapter sends, and the line of its source that asked for it: read off the call stack, so that no
 * list of them has to be kept.
 */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exchange, type Transport } from '../../runtime/rails/exchange.ts'
import { ROOT } from '../../tests/support/source.ts'

export interface Observed {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly body?: string
  /** `runtime/rails/….ts:LINE`. */
  readonly place: string
  /** 0 where there was no answer. */
  readonly status: number
}

/** Frames that only carry what others asked for. */
const CARRIERS = /\/(client|exchange)\.ts$/

const FRAME = /\(?(file:\/\/[^\s)]+|\/[^\s)]+):(\d+):\d+\)?$/

function placeOf(stack: string, rail: string): string {
  for (const line of stack.split('\n')) {
    const [, file = '', at = ''] = FRAME.exec(line.trim()) ?? []
    const path = relative(ROOT, file.startsWith('file:') ? fileURLToPath(file) : file)
    if (path.startsWith(`runtime/rails/${rail}`) && !CARRIERS.test(path)) return `${path}:${at}`
  }
  return `runtime/rails/${rail}/client.ts`
}

/** A transport that goes where `exchange` goes, and writes down what went. */
export function observing(rail: string, seen: Observed[]): Transport {
  return async (asked) => {
    const { method, url, headers, body } = asked
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 60
    const place = placeOf(new Error('here').stack ?? '', rail)
    Error.stackTraceLimit = stackTraceLimit
    const got = await exchange(asked)
    seen.push({
      method,
      path: `${url.pathname}${url.search}`,
      headers,
      ...(body === undefined ? {} : { body }),
      place,
      status: got.kind === 'answer' ? got.status : 0,
    })
    return got
  }
}
