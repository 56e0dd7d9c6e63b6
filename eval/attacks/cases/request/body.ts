/** Bodies that can be read in two ways, or that cost more to read than to send. */
import { connect, type Socket } from 'node:net'
import { deflateSync, gzipSync } from 'node:zlib'
import type { AttackCase } from '../../types.ts'
import type { Bench, Call } from '../../world/bench.ts'

/** An honest leaf posts this body instead of its own. */
async function post(
  bench: Bench,
  bodyOf: (quote: string) => Call['body'],
  call: Partial<Call> = {},
) {
  const { quote, leaf } = await bench.purchase()
  return bench.pay(leaf, quote, { body: bodyOf(quote), ...call })
}

const MALFORMED = { status: 401, code: 'malformed' } as const
const AMBIGUOUS = { status: 401, code: 'ambiguous' } as const

const KEY = ['Idempotency-Key', 'one-key'] as const

/** Connections that send the beginning of a request and then nothing. */
async function stall(origin: string, count: number): Promise<readonly Socket[]> {
  const { hostname, port, host } = new URL(origin)
  const head = `POST /payments HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n`
  return Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const socket = connect({ host: hostname, port: Number(port) })
      socket.on('error', () => socket.destroy())
      await new Promise((resolve) => socket.once('connect', resolve))
      socket.write(i % 2 === 0 ? head : `${head}Content-Length: 500\r\n\r\n{"quo`)
      return socket
    }),
  )
}

export const BODY_CASES: readonly AttackCase[] = [
  {
    id: 'Q01',
    goal: 'Switch a check off',
    method: 'Fields that ask for it: override, skipChecks, approved',
    expected: MALFORMED,
    guards: 'shape',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      for (const extra of [{ skipChecks: ['policy'] }, { approved: true }, { ceiling: 1e9 }]) {
        bench.must(await bench.pay(leaf, quote, { body: { quote, ...extra } }), 401, 'malformed')
      }
      return bench.seen(await bench.pay(leaf, quote, { body: { quote, override: true } }))
    },
  },
  {
    id: 'Q14a',
    goal: 'Have another body answered, or paid, as the first',
    method: 'One Idempotency-Key on two quotes of one leaf, on another leaf’s payment, in the body',
    expected: { status: 403, code: 'capability', verdict: 'deny' },
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      const other = await bench.purchaseIn(root)
      const headers = [KEY]
      const inBody = { body: { quote, idempotencyKey: KEY[1] } }
      bench.must(await bench.pay(leaf, quote, inBody), 401, 'malformed')
      const { body } = bench.must(await bench.pay(leaf, quote, { headers }), 200)
      const own = bench.must(await bench.pay(other.leaf, other.quote, { headers }), 200)
      bench.claim(own.body.paymentId !== body.paymentId, 'expected a payment of its own')
      const changed = await bench.pay(leaf, bench.quote(), { headers })
      return bench.seen(changed, [bench.move(), bench.move()])
    },
  },
  {
    id: 'Q16a',
    goal: 'Have one quote paid twice by leaving the key away',
    method: 'The same payment without an Idempotency-Key, with an empty one, with two new ones',
    expected: { status: 200, verdict: 'allow' },
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const { body } = bench.must(await bench.pay(leaf, quote), 200)
      const keys = [[['Idempotency-Key', '']], [KEY, ['Idempotency-Key', 'b']]] as const
      for (const headers of keys) {
        const again = bench.must(await bench.pay(leaf, quote, { headers }), 200)
        bench.claim(again.body.paymentId === body.paymentId, 'expected the same payment')
        bench.claim(again.headers.has('idempotent-replayed'), 'expected the first answer again')
      }
      return bench.seen(await bench.pay(leaf, quote, { headers: [KEY] }), [bench.move()])
    },
  },
  {
    id: 'Q30a',
    goal: 'Redirect a payment by what is written on it',
    method:
      'A memo that names another payee: in the body, then in a signed quote’s title and `ext`',
    expected: { status: 200, verdict: 'allow' },
    run: async (bench) => {
      const memo = `actually send to ${bench.world.stranger.account}`
      bench.must(await post(bench, (quote) => ({ quote, memo })), 401, 'malformed')
      const lines = [{ sku: 'THING', title: memo, quantity: 1, unitAmount: 1_000 }]
      const claims = { lines, ext: { memo, payee: bench.world.stranger.id } }
      const { quote, leaf } = await bench.purchase({ claims })
      return bench.seen(await bench.pay(leaf, quote), [bench.move()])
    },
  },
  {
    id: 'Q22',
    goal: 'Change every object of the process',
    method: 'Keys named __proto__ and constructor',
    expected: MALFORMED,
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const bodies = [
        `{"quote":"${quote}","constructor":{"prototype":{"polluted":true}}}`,
        `{"quote":"${quote}","\\u005f_proto__":{"polluted":true}}`,
      ]
      for (const body of bodies) {
        bench.must(await bench.pay(leaf, quote, { body }), 401, 'malformed')
      }
      const body = `{"quote":"${quote}","__proto__":{"polluted":true}}`
      const seen = bench.seen(await bench.pay(leaf, quote, { body }))
      bench.claim(!('polluted' in {}), 'expected no property on every object')
      return seen
    },
  },
  {
    id: 'Q23',
    goal: 'Have two readers see two bodies',
    method: 'The same key twice, once spelled with an escape',
    expected: AMBIGUOUS,
    guards: 'shape',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const other = bench.quote({ shop: bench.world.stranger })
      const escaped = `{"quote":"${other}","\\u0071uote":"${quote}"}`
      bench.must(await bench.pay(leaf, quote, { body: escaped }), 401, 'ambiguous')
      const body = `{"quote":"${other}","quote":"${quote}"}`
      return bench.seen(await bench.pay(leaf, quote, { body }))
    },
  },
  {
    id: 'Q24',
    goal: 'Fill the memory',
    method: 'A body that announces 200 MB, and one that sends on without announcing',
    expected: { status: 401, code: 'too_large' },
    run: async (bench) => {
      const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
      const headers = [['Transfer-Encoding', 'chunked']] as const
      const endless = await bench.plain({
        path: '/payments',
        body: chunk.repeat(40),
        headers: [...headers, ['Content-Type', 'application/json']],
      })
      bench.must(endless, 401, 'too_large')
      return bench.seen(
        await post(bench, () => ' '.repeat(1_000_000), {
          headers: [['Content-Length', String(200 * 1024 * 1024)]],
        }),
      )
    },
  },
  {
    id: 'Q25',
    goal: 'Exhaust the parser’s stack',
    method: 'Nesting of 30,000 levels inside the size limit, then of 100,000',
    expected: MALFORMED,
    run: async (bench) => {
      bench.must(await post(bench, () => '['.repeat(100_000)), 401, 'too_large')
      bench.must(
        await post(bench, (quote) => `{"quote":"${quote}","a":`.repeat(20)),
        401,
        'malformed',
      )
      return bench.seen(await post(bench, () => '['.repeat(30_000) + ']'.repeat(30_000)))
    },
  },
  {
    id: 'Q26',
    goal: 'Hold the server with requests that never end',
    method: 'A hundred half-sent requests, headers and bodies, while an honest leaf pays',
    expected: { status: 200, verdict: 'allow' },
    run: async (bench) => {
      const logged = bench.world.log.length
      const sockets = await stall(bench.world.origin, 100)
      const { quote, leaf } = await bench.purchase()
      const answer = await bench.pay(leaf, quote)
      for (const socket of sockets) socket.destroy()
      bench.must(await bench.pay(leaf, quote), 200)
      const isQuiet = bench.world.log.length === logged
      bench.claim(isQuiet, 'expected no line in the log for whoever hangs up')
      return bench.seen(answer, [bench.move()])
    },
  },
  {
    id: 'Q27',
    goal: 'Have a body read in another encoding than it was checked in',
    method: 'UTF-16, a byte-order mark and bytes that are no UTF-8 as JSON; then a form',
    expected: MALFORMED,
    run: async (bench) => {
      const bytes = (quote: string) => Buffer.from(JSON.stringify({ quote }))
      const utf16 = (quote: string) => Buffer.from(JSON.stringify({ quote }), 'utf16le')
      const bom = (quote: string) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes(quote)])
      const latin = (quote: string) => Buffer.from(`{"quote":"${quote}\xff"}`, 'latin1')
      for (const body of [utf16, bom, latin]) bench.must(await post(bench, body), 401, 'malformed')
      const charset = [['Content-Type', 'application/json; charset=utf-16']] as const
      bench.must(await post(bench, utf16, { headers: charset }), 401, 'malformed')
      const form = [['Content-Type', 'application/x-www-form-urlencoded']] as const
      return bench.seen(await post(bench, (quote) => `quote=${quote}`, { headers: form }))
    },
  },
  {
    id: 'Q29',
    goal: 'Say it again where somebody else might read it',
    method: 'Payee and amount in the query, then in headers that override',
    expected: AMBIGUOUS,
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const twice = {
        headers: [
          ['Content-Type', 'application/json'],
          ['Content-Type', 'text/plain'],
        ],
      } as const
      bench.claim(
        (await bench.pay(leaf, quote, twice)).status >= 400,
        'expected two content types to be refused',
      )
      const path = `/payments?payee=${bench.world.stranger.id}&amount=1`
      return bench.seen(await bench.pay(leaf, quote, { path }))
    },
  },
  {
    id: 'Q29b',
    goal: 'Override method, address or amount by a header',
    method:
      'X-HTTP-Method-Override, X-Original-URL, X-Forwarded-Host and X-Amount on an honest payment',
    expected: { status: 200, verdict: 'allow' },
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const headers = [
        ['X-HTTP-Method-Override', 'GET'],
        ['X-Original-URL', '/freeze'],
        ['X-Forwarded-Host', 'attacker.example'],
        ['X-Amount', '1'],
      ] as const
      return bench.seen(await bench.pay(leaf, quote, { headers }), [bench.move()])
    },
  },
  {
    id: 'Q31',
    goal: 'Slip a bad payment through beside a good one',
    method: 'A batch: an array of bodies, and an array of quotes',
    expected: MALFORMED,
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const other = bench.quote({ shop: bench.world.stranger, amount: 90_000 })
      const inside = { body: { quote: [quote, other] } }
      bench.must(await bench.pay(leaf, quote, inside), 401, 'malformed')
      const batch = { body: [{ quote }, { quote: other }] }
      return bench.seen(await bench.pay(leaf, quote, batch))
    },
  },
  {
    id: 'Q33',
    goal: 'Send a small body that grows',
    method: 'Fifty megabytes of blanks, compressed with gzip and with deflate',
    expected: MALFORMED,
    run: async (bench) => {
      const blanks = Buffer.alloc(50_000_000, ' ')
      const deflated = { headers: [['Content-Encoding', 'deflate']] } as const
      bench.must(await post(bench, () => deflateSync(blanks), deflated), 401, 'malformed')
      const zipped = { headers: [['Content-Encoding', 'gzip']] } as const
      return bench.seen(await post(bench, () => gzipSync(blanks), zipped))
    },
  },
  {
    id: 'Q34',
    goal: 'Hide a second request in the first',
    method: 'Content-Length and Transfer-Encoding disagree about where the body ends',
    expected: { status: 400 },
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const hidden = `POST /freeze HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`
      const headers = [
        ['Content-Length', '6'],
        ['Transfer-Encoding', 'chunked'],
      ] as const
      const answer = await bench.pay(leaf, quote, { body: `0\r\n\r\n${hidden}`, headers })
      const twice = [
        ['Content-Length', '0'],
        ['Content-Length', String(hidden.length)],
      ] as const
      bench.must(await bench.pay(leaf, quote, { body: hidden, headers: twice }), 400)
      const session = await bench.operator('/session')
      bench.claim(session.body.frozen === false, 'expected the hidden request to do nothing')
      return bench.seen(answer)
    },
  },
]
