/** What holds of every provider: one deadline, one rule for another try, one judge of answers. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { promptOf } from '../../agents/prompt.ts'
import { wireOf } from '../../agents/wire-schema.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import type { Timers } from '../../runtime/core/time.ts'
import {
  choiceSchema,
  failureOf,
  gemini,
  groq,
  KEY,
  PRICE,
  type Provider,
  requestOf,
  startProvider,
  turnedTime,
} from './provider.ts'

describe.each([gemini, groq])('a model of $name', (engine) => {
  let provider: Provider
  let time = turnedTime(LIMITS.modelMs)
  const model = () =>
    engine.create({ model: engine.model, key: KEY, url: provider.url, price: PRICE, ...time })
  const text = '{"index":2}'

  beforeAll(async () => {
    provider = await startProvider()
  })
  afterAll(() => provider.close())
  beforeEach(() => {
    time = turnedTime(LIMITS.modelMs)
  })

  it('answers with the value, what it used, what that cost rounded up, and who answered', async () => {
    provider.say({ body: engine.answer(text) })
    expect(await model().ask(requestOf())).toEqual({
      value: { index: 2 },
      usage: { inputTokens: 120, outputTokens: 100, costMicros: 286 },
      model: engine.model,
      finish: 'stop',
    })
  })

  it('is asked once, with the prompt, the schema and the key where it belongs', async () => {
    provider.say({ body: engine.answer(text) })
    await model().ask(requestOf())
    expect(provider.asked).toHaveLength(1)
    const [asked] = provider.asked
    const sent = JSON.stringify(asked?.body)
    expect(sent).toContain(
      JSON.stringify('{"input":{"secretive":"words of a stranger"},"role":"chooser"}').slice(1, -1),
    )
    expect(sent).toContain('"additionalProperties":false')
    expect(sent).not.toContain(KEY)
    expect(asked?.path).not.toContain(KEY)
    expect(
      Object.values(asked?.headers ?? {}).filter((value) => value?.includes(KEY)),
    ).toHaveLength(1)
  })

  it.each([
    ['is not JSON', 'Sure! Here it is.'],
    ['is cut JSON', '{"index":'],
    ['has a key twice', '{"index":1,"index":2}'],
    ['has text after it', '{"index":1} ok'],
    ['has a fraction', '{"index":1.5}'],
    ['is fenced', '```json\n{"index":1}\n```'],
    ['is of another shape', '{"index":"all"}'],
    ['has one property more', '{"index":1,"amount":5}'],
    ['is empty', ''],
    ['is null', 'null'],
  ])('gave no answer when its text %s', async (_, said) => {
    provider.say({ body: engine.answer(said) })
    const fault = await failureOf(model())
    expect(fault).toMatchObject({ failure: 'malformed', model: engine.model })
    expect(fault.usage).toEqual({ calls: 1, inputTokens: 120, outputTokens: 100, costMicros: 286 })
    expect(provider.asked).toHaveLength(1)
  })

  it('counts as the most that it can have used where it was begun and no count came', async () => {
    const request = requestOf()
    const { system, user } = promptOf(request)
    const bytes = Buffer.byteLength(system + user + JSON.stringify(wireOf(choiceSchema).schema))
    const outputTokens =
      engine.name === 'gemini' ? LIMITS.modelAnswerTokens : LIMITS.modelReservedTokens
    const costMicros = Math.ceil(bytes * 0.3 + outputTokens * 2.5)
    const most = { calls: 1, inputTokens: bytes, outputTokens, costMicros }
    const none = { usageMetadata: undefined, usage: undefined }
    provider.say({ body: engine.answer(text, none) })
    expect((await failureOf(model(), request)).usage).toEqual(most)
    provider.say({ body: ' '.repeat(LIMITS.modelAnswerBytes + 1) })
    expect((await failureOf(model(), request)).usage).toEqual(most)
    const begun = Promise.withResolvers<void>()
    provider.say({ act: () => begun.resolve() })
    const asked = failureOf(model(), request)
    await begun.promise
    time.expire()
    expect(await asked).toMatchObject({ failure: 'late', usage: most })
    // What was turned away or never reached anybody has used nothing.
    const nothing = { calls: 1, inputTokens: 0, outputTokens: 0, costMicros: 0 }
    provider.say({ status: 429, body: '' })
    expect((await failureOf(model(), request)).usage).toEqual(nothing)
  })

  it('is not believed without a count of its tokens', async () => {
    const none = { usageMetadata: undefined, usage: undefined }
    provider.say({ body: engine.answer(text, none) })
    expect(await failureOf(model())).toMatchObject({ failure: 'malformed' })
    const negative = { usageMetadata: { promptTokenCount: -1 }, usage: { prompt_tokens: -1 } }
    provider.say({ body: engine.answer(text, negative) })
    expect(await failureOf(model())).toMatchObject({ failure: 'malformed' })
  })

  it('is not believed when another model answers, or one that gives no name', async () => {
    const named = { modelVersion: engine.other, model: engine.other }
    provider.say({ body: engine.answer(text, named) })
    const fault = await failureOf(model())
    expect(fault).toMatchObject({ failure: 'other_model', model: engine.other, retryable: false })
    expect(fault.usage.costMicros).toBe(286)
    provider.say({ body: engine.answer(text, { modelVersion: undefined, model: undefined }) })
    expect(await failureOf(model())).toMatchObject({ failure: 'other_model', model: undefined })
  })

  it.each([
    [503, 'unavailable'],
    [500, 'unavailable'],
    [429, 'rate_limited'],
  ])('is asked three times, with pauses that double, when it says %d', async (status, failure) => {
    provider.say({ status, body: { error: { message: 'later', code: `e${status}`, status: 'X' } } })
    expect(await failureOf(model())).toMatchObject({
      failure,
      retryable: true,
      usage: { calls: 1 },
    })
    expect(provider.asked).toHaveLength(LIMITS.modelTries)
    expect(time.pauses).toEqual([LIMITS.modelBackOffMs, LIMITS.modelBackOffMs * 2])
  })

  it.each([401, 403, 404, 400, 422])('is asked once when it says %d', async (status) => {
    provider.say({ status, body: { error: { message: 'no', code: `e${status}`, status: 'X' } } })
    const fault = await failureOf(model())
    expect(['unauthorised', 'bad_request']).toContain(fault.failure)
    expect(fault.retryable).toBe(false)
    expect(provider.asked).toHaveLength(1)
  })

  it('is asked again after a fault that passes, and then answers', async () => {
    provider.say(
      { status: 502, headers: { 'content-type': 'text/html' }, body: '<html>Bad Gateway</html>' },
      { act: (response) => response.destroy() },
      { body: engine.answer(text) },
    )
    expect((await model().ask(requestOf())).value).toEqual({ index: 2 })
    expect(provider.asked).toHaveLength(3)
  })

  it.each([
    ['seconds', '7', 7_000],
    ['a date', 'Mon, 30 Nov 2026 12:00:04 GMT', 4_000],
    ['a date that is over', 'Mon, 30 Nov 2026 11:00:00 GMT', LIMITS.modelBackOffMs],
    ['nonsense', 'soon', LIMITS.modelBackOffMs],
    ['a pause shorter than ours', '0', LIMITS.modelBackOffMs],
  ])('is left alone for as long as it asks, in %s', async (_, header, pauseMs) => {
    const busy = {
      status: 429,
      headers: { 'retry-after': header },
      body: { error: { message: '' } },
    }
    provider.say(busy, { body: engine.answer(text) })
    await model().ask(requestOf())
    expect(time.pauses).toEqual([pauseMs])
  })

  it.each(['11', '99999999', 'Tue, 01 Dec 2026 12:00:00 GMT'])(
    'is given up at once when it asks for a pause of %s',
    async (header) => {
      const headers = { 'retry-after': header }
      provider.say({ status: 429, headers, body: { error: { message: '' } } })
      expect(await failureOf(model())).toMatchObject({ failure: 'rate_limited', retryable: false })
      expect(provider.asked).toHaveLength(1)
      expect(time.pauses).toEqual([])
    },
  )

  it.each([1, 3])('is given up when our deadline comes in the middle of try %d', async (tries) => {
    const begun = Promise.withResolvers<void>()
    const busy = Array.from({ length: tries - 1 }, () => ({ status: 503, body: '' }))
    provider.say(...busy, {
      act: (response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.write('{"candidates"')
        begun.resolve()
      },
    })
    const asked = failureOf(model())
    await begun.promise
    time.expire()
    expect(await asked).toMatchObject({ failure: 'late', retryable: true, usage: { calls: 1 } })
    expect(provider.asked).toHaveLength(tries)
  })

  it('is given up when whoever asked gives up, and not asked at all after that', async () => {
    const begun = Promise.withResolvers<void>()
    provider.say({ act: () => begun.resolve() })
    const controller = new AbortController()
    const request = requestOf({ signal: controller.signal })
    const asked = failureOf(model(), request)
    await begun.promise
    controller.abort()
    expect(await asked).toMatchObject({ failure: 'late' })
    await expect(model().ask(request)).rejects.toThrow('aborted')
    expect(provider.asked).toHaveLength(1)
  })

  it('is not waited for when whoever asked gives up in the middle of a pause', async () => {
    const pausing = Promise.withResolvers<void>()
    const ends: number[] = []
    const timers: Timers = {
      after(ms) {
        if (ms === LIMITS.modelBackOffMs) pausing.resolve()
        return () => ends.push(ms)
      },
    }
    provider.say({ status: 503, body: '' })
    const controller = new AbortController()
    const patient = engine.create({
      ...{ model: engine.model, key: KEY, url: provider.url, price: PRICE },
      ...{ clock: time.clock, timers },
    })
    const asked = failureOf(patient, requestOf({ signal: controller.signal }))
    await pausing.promise
    controller.abort()
    expect(await asked).toMatchObject({ failure: 'late', model: engine.model })
    expect(provider.asked).toHaveLength(1)
    // No timer is left behind.
    expect(ends).toEqual([LIMITS.modelBackOffMs, LIMITS.modelMs])
  })

  it('was not reached when nothing listens, when a page answers, or nothing', async () => {
    const closed = await startProvider()
    await closed.close()
    const nobody = engine.create({
      model: engine.model,
      key: KEY,
      url: closed.url,
      price: PRICE,
      ...time,
    })
    expect(await failureOf(nobody)).toMatchObject({ failure: 'unreachable', retryable: true })
    for (const body of ['', '<html>Welcome</html>', '[]', '"ok"']) {
      provider.say({ body })
      expect(await failureOf(model())).toMatchObject({ failure: 'unreachable' })
      expect(provider.asked).toHaveLength(LIMITS.modelTries)
    }
  })

  it('was not reached where another protocol is offered, which is not waited for', async () => {
    provider.say({
      act: ({ socket }) => {
        const head = 'HTTP/1.1 101 Switching Protocols'
        socket?.write([head, 'connection: upgrade', 'upgrade: other', '', ''].join('\r\n'))
      },
    })
    expect(await failureOf(model())).toMatchObject({ failure: 'unreachable' })
    expect(provider.asked).toHaveLength(LIMITS.modelTries)
  })

  it('may say why it refuses at any length, and is not pondered over for half a minute', {
    timeout: 10_000,
  }, async () => {
    const message = 'token count '.repeat(42_000)
    provider.say({ status: 400, body: { error: { message } } })
    expect(await failureOf(model())).toMatchObject({ failure: 'bad_request' })
  })

  it('follows no redirect: the key stays where it was sent', async () => {
    const elsewhere = await startProvider()
    elsewhere.say({ body: engine.answer(text) })
    provider.say({ status: 307, headers: { location: `${elsewhere.url}/v1` }, body: '' })
    expect(await failureOf(model())).toMatchObject({ failure: 'unreachable' })
    expect(elsewhere.asked).toEqual([])
    await elsewhere.close()
  })

  it('was cut when the connection ends within an answer, and is not asked again', async () => {
    provider.say({
      act: (response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' })
        response.write(JSON.stringify(engine.answer(text)))
        setImmediate(() => response.destroy())
      },
    })
    expect(await failureOf(model())).toMatchObject({ failure: 'cut', retryable: false })
    expect(provider.asked).toHaveLength(1)
  })

  it('gives an answer of the longest length, and none that is longer', async () => {
    const padded = (bytes: number) => {
      const answer = JSON.stringify(engine.answer(text))
      return answer + ' '.repeat(bytes - answer.length)
    }
    provider.say({ body: padded(LIMITS.modelAnswerBytes) })
    expect((await model().ask(requestOf())).value).toEqual({ index: 2 })
    provider.say({ body: padded(LIMITS.modelAnswerBytes + 1) })
    expect(await failureOf(model())).toMatchObject({ failure: 'malformed' })
  })

  it('is asked the longest question whole, and one character more not at all', async () => {
    provider.say({ body: engine.answer(text) })
    const of = (length: number) => requestOf({ input: 'x'.repeat(length) })
    const { system, user } = promptOf(of(0))
    const frame = system.length + user.length + JSON.stringify(wireOf(choiceSchema).schema).length
    const longest = LIMITS.modelPromptChars - frame
    expect((await model().ask(of(longest))).value).toEqual({ index: 2 })
    expect(JSON.stringify(provider.asked.at(-1)?.body)).toContain('x'.repeat(longest))
    provider.asked.length = 0
    const fault = await failureOf(model(), of(longest + 1))
    expect(fault).toMatchObject({ failure: 'too_long', retryable: false, usage: { calls: 0 } })
    expect(provider.asked).toEqual([])
  })

  it('says nothing of the question, the key or the answer in a fault', async () => {
    const said = `The key ${KEY} may not read words of a stranger`
    for (const answer of [
      { status: 400, body: { error: { message: said, status: said, code: said, type: said } } },
      { status: 503, body: said },
      { body: engine.answer(said, { modelVersion: said, model: said }) },
      { body: engine.answer(said) },
    ]) {
      provider.say(answer)
      const fault = await failureOf(model())
      const all = [
        fault.message,
        fault.stack,
        fault.model,
        fault.cause,
        JSON.stringify(fault),
      ].join()
      expect(all).not.toMatch(/stranger|key-of-a-test|Choose one/)
      expect(fault.cause).toBeUndefined()
    }
  })

  it('is asked for every schema of its own', async () => {
    provider.say({ body: engine.answer('{"why":"so"}') })
    const { role, instructions, input, signal } = requestOf()
    const schema = z.strictObject({ why: z.string() })
    const answer = await model().ask({ role, instructions, input, signal, schema })
    expect(answer.value).toEqual({ why: 'so' })
  })
})
