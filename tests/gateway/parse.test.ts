import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../runtime/core/limits.ts'
import { paymentBody } from '../../runtime/core/wire.ts'
import type { RawRequest } from '../../runtime/gateway/attempt.ts'
import { parseBare, parseRequest } from '../../runtime/gateway/parse.ts'

const base: RawRequest = {
  method: 'POST',
  path: '/payments',
  query: '',
  headers: [
    ['Host', 'headgate.localhost:8080'],
    ['Authorization', 'DPoP dG9rZW4='],
    ['DPoP', 'aa.bb.cc'],
    ['Content-Type', 'application/json'],
  ],
  body: Buffer.from('{"quote":"q"}'),
}

const without = (name: string) => base.headers.filter(([header]) => header !== name)
const parse = (change: Partial<RawRequest>) =>
  parseRequest({ ...base, ...change }, paymentBody, 'http://gw')
const code = (change: Partial<RawRequest>) => {
  const parsed = parse(change)
  return parsed.ok ? 'ok' : parsed.code
}
const body = (text: string | Uint8Array) => code({ body: Buffer.from(text) })
const plus = (...more: [string, string][]) => code({ headers: [...base.headers, ...more] })

describe('a request', () => {
  it('with one token, one proof and the documented body is read as it is', () => {
    expect(parse({})).toEqual({
      ok: true,
      request: {
        token: 'dG9rZW4=',
        proof: 'aa.bb.cc',
        method: 'POST',
        url: 'http://gw/payments',
        body: { quote: 'q' },
      },
    })
  })

  it('with a credential given twice, or in two places, is ambiguous', () => {
    expect(plus(['authorization', 'DPoP other'])).toBe('ambiguous')
    expect(plus(['dpop', 'aa.bb.cc'])).toBe('ambiguous')
    expect(plus(['Proxy-Authorization', 'Basic aa'])).toBe('ambiguous')
    expect(plus(['X-Access-Token', 'aa'])).toBe('ambiguous')
    expect(code({ query: 'access_token=aa' })).toBe('ambiguous')
    expect(code({ query: 'amount=1' })).toBe('ambiguous')
    expect(plus(['content-type', 'application/json'])).toBe('ambiguous')
  })

  it('without a token, a proof or the DPoP scheme is malformed', () => {
    const authorization = (value: string) =>
      code({ headers: [...without('Authorization'), ['Authorization', value]] })
    expect(code({ headers: without('Authorization') })).toBe('malformed')
    expect(code({ headers: without('DPoP') })).toBe('malformed')
    expect(authorization('Bearer dG9rZW4=')).toBe('malformed')
    expect(authorization('DPoP ')).toBe('malformed')
    expect(authorization('DPoP aa, DPoP bb')).toBe('malformed')
    expect(authorization('DPoP  aa')).toBe('malformed')
    expect(code({ headers: [...without('DPoP'), ['DPoP', 'no proof']] })).toBe('malformed')
  })

  it('may hold a token of the longest size and none of one character more', () => {
    const token = (length: number) =>
      code({
        headers: [...without('Authorization'), ['Authorization', `DPoP ${'a'.repeat(length)}`]],
      })
    expect(token(LIMITS.tokenChars)).toBe('ok')
    expect(token(LIMITS.tokenChars + 1)).toBe('too_large')
  })

  it('may hold a body of the largest size and none of one byte more', () => {
    const quote = (length: number) => body(`{"quote":"${'a'.repeat(length)}"}`)
    const frame = '{"quote":""}'.length
    expect(quote(LIMITS.bodyBytes - frame)).toBe('ok')
    expect(quote(LIMITS.bodyBytes - frame + 1)).toBe('too_large')
  })

  it('takes plain UTF-8 JSON and no other type, charset or encoding', () => {
    const type = (value: string) =>
      code({ headers: [...without('Content-Type'), ['Content-Type', value]] })
    expect(type('application/json; charset=utf-8')).toBe('ok')
    expect(type('application/json;charset="UTF-8"')).toBe('ok')
    expect(type('application/json; charset=utf-16')).toBe('malformed')
    expect(type('application/x-www-form-urlencoded')).toBe('malformed')
    expect(type('text/json')).toBe('malformed')
    expect(code({ headers: without('Content-Type') })).toBe('malformed')
    expect(plus(['Content-Encoding', 'gzip'])).toBe('malformed')
    expect(body('\ufeff{"quote":"q"}')).toBe('malformed')
    expect(body(Buffer.from('{"quote":"q"}', 'utf16le'))).toBe('malformed')
  })

  it('is read by a closed schema from strict JSON', () => {
    expect(body('{"quote":"q","amount":1}')).toBe('malformed')
    expect(body('{"quote":5}')).toBe('malformed')
    expect(body('{}')).toBe('malformed')
    expect(body('[{"quote":"q"}]')).toBe('malformed')
    expect(body('{"quote":"q"} {}')).toBe('malformed')
    expect(body('{"quote":"q","__proto__":{}}')).toBe('malformed')
    expect(body('['.repeat(60_000))).toBe('malformed')
    expect(body('{"quote":"q","quote":"r"}')).toBe('ambiguous')
    expect(body('')).toBe('malformed')
  })
})

describe('a request that says everything in its path', () => {
  const bare = (change: Partial<RawRequest>) => {
    const parsed = parseBare({ ...base, body: new Uint8Array(), ...change }, 'http://gw')
    return parsed.ok ? 'ok' : parsed.code
  }

  it('has no body, or an empty object', () => {
    expect(bare({})).toBe('ok')
    expect(bare({ body: Buffer.from('{}') })).toBe('ok')
    expect(bare({ body: Buffer.from('{"token":"x"}') })).toBe('malformed')
  })

  it('may ask in its query for a page, and never carry a credential there', () => {
    expect(bare({ method: 'GET', query: 'after=5' })).toBe('ok')
    expect(bare({ method: 'GET', query: 'Access_Token=x' })).toBe('ambiguous')
    expect(bare({ method: 'POST', query: 'after=5' })).toBe('ambiguous')
  })
})
