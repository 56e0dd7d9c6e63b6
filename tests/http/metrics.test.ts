import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CODES } from '../../runtime/core/codes.ts'
import {
  signed,
  split,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

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

  /** Every series of the verdicts, as `verdict code` and its count. */
  const verdicts = async () => {
    const text = await (await gateway.asOperator('/metrics')).text()
    const lines = text.matchAll(/^headgate_payment_verdicts_total\{([^}]*)\} (\d+)$/gm)
    return new Map(
      [...lines].map(([, labels = '', count]) => [
        labels.replace(/^verdict="(\w+)",code="(\w+)"$/, '$1 $2'),
        Number(count),
      ]),
    )
  }

  it('count each verdict on a payment once, by a code of the table, and no answer that is told again', async () => {
    const root = await startOutsideRun(gateway)
    const planner = await split(gateway, root, 0, {})
    const [quote, again] = [gateway.quote(), gateway.quote()]
    const leaf = await splitLeaf(gateway, root, 1, quote)
    const same = await splitLeaf(gateway, root, 2, again)
    const pay = (held: typeof leaf, of: string) =>
      signed(gateway, held, 'POST', '/payments', { quote: of })
    expect(await verdicts()).toEqual(new Map())

    expect((await pay(leaf, quote)).status).toBe(200)
    expect((await pay(leaf, quote)).headers.get('idempotent-replayed')).toBe('true')
    expect((await pay(leaf, again)).status).toBe(403)
    expect((await pay(planner, quote)).status).toBe(403)
    expect((await pay(planner, quote)).status).toBe(403)
    expect((await pay(same, again)).status).toBe(202)
    // Whoever proves nothing is given no verdict.
    expect((await pay({ ...leaf, token: root.token }, quote)).status).toBe(401)

    const counted = await verdicts()
    expect(counted).toEqual(
      new Map([
        ['allow none', 1],
        ['deny capability', 1],
        ['deny not_a_leaf', 2],
        ['hold approval_required', 1],
      ]),
    )
    const codes = ['none', ...Object.keys(CODES)]
    for (const key of counted.keys()) expect(codes).toContain(key.split(' ')[1])
  })
})
