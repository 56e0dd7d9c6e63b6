import { expect, it } from 'vitest'
import { ClientError } from '../../runtime/client/errors.ts'
import { Fault } from '../../runtime/core/errors.ts'
import type { Answer } from '../../runtime/gateway/answers.ts'
import { json, problem, UNAUTHENTICATED } from '../../runtime/gateway/answers.ts'
import type { RawRequest } from '../../runtime/gateway/attempt.ts'
import { OneCall } from '../../runtime/http/one-call.ts'

const RAW: RawRequest = {
  method: 'POST',
  path: '/mcp',
  query: '',
  headers: [['dpop', 'a.b.c']],
  body: Buffer.from('{"jsonrpc":"2.0"}'),
}

function answering(answer: Answer) {
  const asked: RawRequest[] = []
  const door = async (...args: readonly unknown[]) => {
    asked.push(args.at(-1) as RawRequest)
    return answer
  }
  const doors = {
    ownNode: door,
    search: door,
    product: door,
    quote: door,
    pay: door,
    decide: door,
    closeNode: door,
  }
  return { call: new OneCall(doors, RAW, { node: 'nd_a', run: 'run_a' }), asked }
}

it('one request asks the gateway once, with its own headers and path and the arguments as body', async () => {
  const { call, asked } = answering(json(200, { quote: 'a.b.c' }))
  expect(call.asked).toBe(false)
  await call.calls.quote({ merchant: 'shop', lines: [{ sku: 'lamp', quantity: 1 }] })
  expect(call.asked).toBe(true)
  const body = JSON.stringify({ merchant: 'shop', lines: [{ sku: 'lamp', quantity: 1 }] })
  expect(asked).toEqual([{ ...RAW, body: Buffer.from(body) }])
  await expect(call.calls.search({ text: 'lamp', limit: 1 })).rejects.toThrow(Fault)
  expect(asked).toHaveLength(1)
})

it('a caller that was not let in is turned away with the gateway’s own answer', async () => {
  const { call } = answering(UNAUTHENTICATED)
  await expect(call.calls.ownNode()).rejects.toThrow(ClientError)
  expect(call.turnedAway).toBe(UNAUTHENTICATED)
})

it('a fault keeps its time to try again', async () => {
  const fault = { status: 503, code: 'unavailable', title: 'not now', advice: 'retry' } as const
  const { call } = answering(problem(fault, { 'retry-after': '60' }))
  const thrown = await call.calls.ownNode().catch((error: unknown) => error)
  expect(thrown).toMatchObject({ status: 503, retryAfterSeconds: 60 })
  expect(call.turnedAway).toBeUndefined()
})
