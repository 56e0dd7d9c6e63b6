/** What is typed to erase runs and to refund payments, and what is sent of it. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { readEnvironment } from '../../runtime/config.ts'
import { run } from './io.ts'

afterEach(() => vi.unstubAllGlobals())

const environment = readEnvironment({
  HEADGATE_OPERATOR_TOKEN: 'token-of-asha',
  HEADGATE_URL: 'http://127.0.0.1:9',
})

const viewOf = (id: string, principal: string, more: object = {}) => ({
  ...{
    id,
    principal,
    state: 'completed',
    task: 'erased',
    currency: 'INR',
    ceiling: 1,
    root: 'nd_1',
  },
  ...{ payees: [], createdAtSeconds: 1, expiresAtSeconds: 2, heldCount: 0, frozen: false },
  totals: { available: 0, reserved: 0, spent: 1 },
  seal: 'x.y.z',
  ...more,
})
const { seal: _seal, ...live } = viewOf('run_live', 'alice')
const RUNS = [
  viewOf('run_1', 'alice'),
  viewOf('run_2', 'bob'),
  viewOf('run_3', 'alice', { erasedAtSeconds: 3 }),
  live,
  viewOf('run_4', 'alice'),
]
const REFUND = { id: 'rfd_1', amount: 400, by: 'operator:asha', atSeconds: 1 }
const payment = (state: string) => ({
  ...{ id: 'pay_1', run: 'run_1', node: 'nd_1', payee: 'grocer', merchant: 'grocer', lines: [] },
  ...{ amount: 1_000, currency: 'INR', state: 'settled', createdAtSeconds: 1 },
  refunds: [{ ...REFUND, state }],
})

function listening(refund = 'made') {
  const sent: { method: string; path: string; body: unknown }[] = []
  vi.stubGlobal('fetch', async (url: URL, init: RequestInit = {}) => {
    const body = init.body === undefined ? undefined : JSON.parse(String(init.body))
    sent.push({ method: init.method ?? 'GET', path: url.pathname, body })
    const answer = url.pathname.endsWith('/erase')
      ? { run: viewOf(url.pathname.split('/')[2] ?? '', 'alice', { erasedAtSeconds: 9 }) }
      : url.pathname.endsWith('/refunds')
        ? { refund: { ...REFUND, state: refund, reason: 'too_old' }, payment: payment(refund) }
        : url.pathname === '/runs'
          ? { runs: RUNS }
          : payment(refund)
    return new Response(JSON.stringify(answer))
  })
  return sent
}
const posts = (sent: ReturnType<typeof listening>) =>
  sent.filter(({ method }) => method === 'POST').map(({ path }) => path)

describe('headgate erase', () => {
  it('erases the runs that are named, after a yes', async () => {
    const sent = listening()
    const { code, out } = await run(['erase', 'run_1', 'run_2'], { environment, answer: 'yes' })
    expect([code, out]).toEqual([0, 'run_1 erased\nrun_2 erased\n'])
    expect(posts(sent)).toEqual(['/runs/run_1/erase', '/runs/run_2/erase'])
  })

  it('erases of a principal what has ended and is not erased yet', async () => {
    const sent = listening()
    const { code } = await run(['erase', '--principal', 'alice', '--yes'], { environment })
    expect(code).toBe(0)
    expect(posts(sent)).toEqual(['/runs/run_1/erase', '/runs/run_4/erase'])
  })

  it('erases nothing without a yes, nor without knowing what', async () => {
    const sent = listening()
    expect((await run(['erase', 'run_1'], { environment, answer: 'no' })).code).toBe(1)
    expect((await run(['erase', 'run_1'], { environment })).code).toBe(2)
    expect((await run(['erase', '--yes'], { environment })).code).toBe(2)
    const both = ['erase', 'run_1', '--principal', 'alice', '--yes']
    expect((await run(both, { environment })).code).toBe(2)
    expect(posts(sent)).toEqual([])
  })
})

describe('headgate payments refund', () => {
  const args = ['payments', 'refund', 'pay_1', '--amount', '400', '--yes']

  it('sends an amount and a key, and shows the key before it is sent where it made one', async () => {
    const sent = listening()
    const made = await run(args, { environment })
    expect(made.code).toBe(0)
    const body = sent[0]?.body as { idempotencyKey: string }
    expect(body).toEqual({ amount: 400, idempotencyKey: expect.stringMatching(/^[\w-]{22}$/) })
    expect(made.err).toContain(body.idempotencyKey)
    expect(made.out).toContain('INR 4.00 made, asked for by operator:asha')
    await run([...args, '--key', 'credit-note-7'], { environment })
    expect(sent[1]?.body).toEqual({ amount: 400, idempotencyKey: 'credit-note-7' })
  })

  it('ends with no where the rail makes none, and says why', async () => {
    listening('failed')
    const { code, err } = await run(args, { environment })
    expect([code, err.includes('too_old')]).toEqual([1, true])
  })
})
