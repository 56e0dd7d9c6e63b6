import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway, startOutsideRun, type TestGateway } from './gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
}, 60_000)
afterAll(() => gateway.close())

const LINE = /^([a-z_0-9]+)(\{[^}]*\})? (-?[0-9.e+-]+|NaN|\+Inf)$/
const COMMENT = /^# (HELP|TYPE) headgate_[a-z_0-9]+ \S/

describe('the metrics', () => {
  it('are lines that Prometheus reads, and name no node, token or caller’s text', async () => {
    const held = await startOutsideRun(gateway)
    await gateway.fetch('/nothing-that-is-here')
    await gateway.fetch('/payments', { method: 'POST', body: '{}' })
    const answer = await gateway.asOperator('/metrics')
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ])
    const text = await answer.text()
    const lines = text.split('\n').filter((line) => line !== '')
    for (const line of lines) expect(line).toMatch(line.startsWith('#') ? COMMENT : LINE)
    for (const line of lines.filter((each) => !each.startsWith('#'))) {
      expect(line.startsWith('headgate_')).toBe(true)
    }
    for (const secret of [held.node, held.run, held.token, 'nothing-that-is-here']) {
      expect(text).not.toContain(secret)
    }
    expect(text).toMatch(/headgate_token_workers [1-9]/)
    expect(text).toMatch(/headgate_refused_before_identity_total\{code="malformed"\} [1-9]/)
    expect(text).toContain('headgate_payments_open{state="unknown"} 0')
    expect(text).toMatch(/http_request_duration_seconds_count\{[^}]*route="none"[^}]*status="404"/)
  })
})
