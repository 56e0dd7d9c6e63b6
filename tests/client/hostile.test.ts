/** Somebody who is no gateway, or no honest one, at the other end: the client is not hurt, and says what to do next. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { readBytes } from '../../runtime/client/answer.ts'
import { createClient, type Fetch } from '../../runtime/client/client.ts'
import { ClientError } from '../../runtime/client/errors.ts'
import { ADVICE } from '../../runtime/core/codes.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { keyOf, NOW } from '../tokens/fixtures.ts'

const clock = { nowMs: () => NOW * 1_000 }
const own = { gateway: 'http://127.0.0.1:1', token: 'a-token', holder: keyOf(1), clock }

let server: Server | undefined
afterEach(async () => {
  const ended = server
  server = undefined
  ended?.closeAllConnections()
  if (ended) await new Promise((resolve) => ended.close(resolve))
})

async function clientOf(answer: RequestListener, timeoutMs?: number) {
  const made = createServer(answer)
  server = made
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  const gateway = `http://127.0.0.1:${(made.address() as AddressInfo).port}`
  return createClient({ ...own, gateway, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** What a call of the client throws. */
async function thrown(call: Promise<unknown>): Promise<ClientError> {
  const error = await call.then(
    () => new Error('it was believed'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof ClientError)) throw error
  expect(ADVICE).toContain(error.advice)
  return error
}

describe('an answer that is too large', () => {
  const spaces = (bytes: number) => Buffer.alloc(bytes, ' ')
  const padded = (bytes: number) => {
    const quote = JSON.stringify({ quote: 'a.b.c' })
    return Buffer.concat([spaces(bytes - quote.length), Buffer.from(quote)])
  }
  const asking = async (bytes: number) => {
    const client = await clientOf((_, response) => {
      response.writeHead(200, JSON_TYPE).end(padded(bytes))
    })
    return client.quote({ merchant: 'acme', lines: [{ sku: 'tea', quantity: 1 }] })
  }

  it('is read to the limit and not one byte past it', async () => {
    expect(await asking(LIMITS.answerBytes)).toEqual({ quote: 'a.b.c' })
    const { code, status, advice } = await thrown(asking(LIMITS.answerBytes + 1))
    expect([code, status, advice]).toEqual(['too_large', 200, 'stop'])
  })

  it('without an end is let go of as soon as it is over the limit', async () => {
    let sent = 0
    const gone = Promise.withResolvers<void>()
    const client = await clientOf((request, response) => {
      response.writeHead(200, JSON_TYPE)
      request.socket.once('close', gone.resolve)
      const more = () => {
        while (!response.destroyed) {
          sent += 65_536
          if (!response.write(spaces(65_536))) {
            response.once('drain', more)
            return
          }
        }
      }
      more()
    })
    expect(await thrown(client.ownNode())).toMatchObject({ code: 'too_large' })
    await gone.promise
    expect(sent).toBeLessThan(64 * LIMITS.answerBytes)
  })

  it('only once it is unpacked is too large all the same', async () => {
    const bomb = gzipSync(spaces(64 * LIMITS.answerBytes))
    expect(bomb.length).toBeLessThan(LIMITS.answerBytes / 8)
    const client = await clientOf((_, response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(bomb)
    })
    expect(await thrown(client.ownNode())).toMatchObject({ code: 'too_large', advice: 'stop' })
  })

  it('may be a run’s tree, which has a limit of its own', async () => {
    const client = await clientOf((_, response) => {
      response.writeHead(200, JSON_TYPE).end(spaces(LIMITS.answerBytes + 1))
    })
    expect(await thrown(client.readRun('run_one'))).toMatchObject({ code: 'unreadable' })
  })

  it('of an error is no more read than any other', async () => {
    const client = await clientOf((_, response) => {
      const type = { 'content-type': 'application/problem+json' }
      response.writeHead(503, type).end(spaces(LIMITS.answerBytes + 1))
    })
    expect(await thrown(client.pay('a.b.c'))).toMatchObject({ code: 'too_large', status: 503 })
  })
})

describe('an answer that does not end', () => {
  it('drop by drop is over at the deadline of the call', async () => {
    const client = await clientOf((_, response) => {
      response.writeHead(200, JSON_TYPE)
      const dripping = setInterval(() => response.write(' '), 5)
      response.once('close', () => clearInterval(dripping))
    }, 150)
    const error = await thrown(client.pay('a.b.c'))
    expect(error).toMatchObject({ status: 0, code: 'timeout', advice: 'retry' })
  })

  it('is over at the deadline even where the transport knows no signal', async () => {
    const never: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
    }
    const fetch: Fetch = async () => ({ status: 200, headers: new Headers(JSON_TYPE), body: never })
    const client = createClient({ ...own, fetch, timeoutMs: 20 })
    expect(await thrown(client.ownNode())).toMatchObject({ code: 'timeout', advice: 'retry' })
  })

  it('stops being read at once where the call is over already', async () => {
    let asked = 0
    async function* pieces() {
      for (;;) {
        asked += 1
        yield new Uint8Array([1])
      }
    }
    const over = AbortSignal.abort(new Error('over'))
    await expect(readBytes(pieces(), Number.MAX_SAFE_INTEGER, over)).rejects.toThrow('over')
    expect(asked).toBeLessThan(3)
  })

  it('is let go of where it is too large, by whatever brings it', async () => {
    let isOpen = true
    async function* pieces() {
      try {
        for (;;) yield new Uint8Array(8)
      } finally {
        isOpen = false
      }
    }
    expect(await readBytes(pieces(), 20, new AbortController().signal)).toBe('too_large')
    expect(isOpen).toBe(false)
  })

  it('is none where nothing comes: an empty one is unreadable', async () => {
    const fetch: Fetch = async () => ({ status: 200, headers: new Headers(JSON_TYPE), body: null })
    const error = await thrown(createClient({ ...own, fetch }).ownNode())
    expect(error).toMatchObject({ code: 'unreadable', advice: 'stop' })
  })
})

describe('an answer that says two things', () => {
  const allowed = { paymentId: 'pay_one', verdict: 'allow', state: 'settled', checks: [] }
  const text = JSON.stringify(allowed)
  it.each([
    ['a key twice', text.replace('{', '{"verdict":"deny",')],
    ['a reserved key', text.replace('{', '{"__proto__":{},')],
    ['a number that changes on the way', text.replace('"checks":[]', '"checks":[{"n":1e400}]')],
    ['bytes that are no UTF-8', Buffer.concat([Buffer.from([0xff]), Buffer.from(text)])],
    ['a byte-order mark', `\u{feff}${text}`],
    ['nesting without an end', '['.repeat(100_000)],
    ['something after its end', `${text}{}`],
    ['a list of one', `[${text}]`],
    ['a verdict of another type', text.replace('"allow"', '["allow"]')],
    ['an id that is none', text.replace('pay_one', 'pay one')],
  ])('is none: %s', async (_, body) => {
    const client = await clientOf((_request, response) => {
      response.writeHead(200, JSON_TYPE).end(body)
    })
    expect(await thrown(client.pay('a.b.c'))).toMatchObject({ code: 'unreadable', advice: 'stop' })
  })

  it('is the one without those', async () => {
    const client = await clientOf((_, response) => {
      response.writeHead(200, JSON_TYPE).end(text)
    })
    expect(await client.pay('a.b.c')).toEqual(allowed)
  })
})

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])(
    'of %i is not followed, with the token in hand',
    async (status) => {
      const paths: (string | undefined)[] = []
      const client = await clientOf((request, response) => {
        paths.push(request.url)
        response.writeHead(status, { location: '/elsewhere' }).end()
      })
      expect(await thrown(client.ownNode())).toMatchObject({ status: 0, code: 'unreachable' })
      expect(paths).toEqual(['/node'])
    },
  )
})

describe('a problem’s words', () => {
  const problem = (fields: object) =>
    clientOf((_, response) => {
      const type = { 'content-type': 'application/problem+json' }
      const whole = { type: 'urn:x', title: 'no', status: 403, code: 'frozen', ...fields }
      response.writeHead(403, type).end(JSON.stringify(whole))
    })

  it('are repeated where they are plain', async () => {
    const client = await problem({ title: 'the node’s time is over', claim: 'quote' })
    const error = await thrown(client.ownNode())
    expect(error).toMatchObject({ message: 'the node’s time is over', claim: 'quote' })
  })

  it.each(['', 'x'.repeat(301), 'two\nlines', 'a \u001b[2Jscreen', 'right\u202eleft'])(
    'are not where they are not: %j',
    async (title) => {
      const hostile = { title, code: `${title} `, claim: `${title} ` }
      const error = await thrown((await problem(hostile)).ownNode())
      expect([error.message, error.code, error.claim]).toEqual([
        'the gateway refused, and not in plain words',
        'unreadable',
        undefined,
      ])
    },
  )
})
