/**
 * Changes that make a sound request to PayPal an unsound one, for each operation: a validator that lets one of them
 * through judges nothing.
 */
import type { ComposedRequest } from './paypal-openapi.ts'

export interface Control {
  readonly what: string
  readonly change: (request: ComposedRequest) => ComposedRequest
}

type Step = string | number

/** The body with what stands at the end of this way replaced; undefined takes it away. */
function withBody(request: ComposedRequest, way: readonly Step[], value: unknown): ComposedRequest {
  const body: unknown = JSON.parse(request.body ?? '{}')
  let at: unknown = body
  for (const step of way.slice(0, -1)) {
    if (typeof at === 'object' && at !== null) at = Reflect.get(at, step)
  }
  const last = way.at(-1)
  if (typeof at !== 'object' || at === null || last === undefined) {
    throw new Error(`expected a body with ${way.join('.')}`)
  }
  if (value === undefined) Reflect.deleteProperty(at, last)
  else Reflect.set(at, last, value)
  return { ...request, body: JSON.stringify(body) }
}

const body = (what: string, way: readonly Step[], value?: unknown): Control => ({
  what,
  change: (request) => withBody(request, way, value),
})

const header = (what: string, name: string, value: string): Control => ({
  what,
  change: ({ headers, ...request }) => {
    const others = Object.entries(headers).filter(([key]) => key.toLowerCase() !== name)
    return { ...request, headers: { ...Object.fromEntries(others), [name]: value } }
  },
})

const withoutHeader = (what: string, name: string): Control => ({
  what,
  change: ({ headers, ...request }) => ({
    ...request,
    headers: Object.fromEntries(
      Object.entries(headers).filter(([key]) => key.toLowerCase() !== name),
    ),
  }),
})

const query = (what: string, name: string, value: string | undefined): Control => ({
  what,
  change: (request) => {
    const url = new URL(request.path, 'http://paypal.invalid')
    if (value === undefined) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
    return { ...request, path: `${url.pathname}${url.search}` }
  },
})

/** Another text in the place of the last id of the path, which stands last or before a verb. */
const id = (what: string, value: string): Control => ({
  what,
  change: (request) => {
    const parts = request.path.split('/')
    const at = /^(capture|authorize|void|refund|cancel)$/.test(parts.at(-1) ?? '') ? -2 : -1
    return { ...request, path: parts.with(at, value).join('/') }
  },
})

/** Of every operation. */
const EVERYWHERE: readonly Control[] = [
  {
    what: 'another method',
    change: (request) => ({ ...request, method: 'PUT' }),
  },
  {
    what: 'a path below it',
    change: (request) => ({ ...request, path: request.path.replace(/(\?|$)/, '/more$1') }),
  },
  query('a parameter that nobody knows', 'nobody', 'knows'),
  header('a header that nobody knows', 'paypal-nothing', '1'),
  header('no bearer', 'authorization', 'Basic YWJj'),
]

const MONEY = (at: readonly Step[]): readonly Control[] => [
  body('no currency', [...at, 'currency_code']),
  body('no value', [...at, 'value']),
  body('a value that is no number', [...at, 'value'], 'ten'),
  body('a value as a number', [...at, 'value'], 10),
  body('a value of nothing', [...at, 'value'], '0.00'),
  body('a value below nothing', [...at, 'value'], '-1.00'),
  body('a value of three places', [...at, 'value'], '1.001'),
  body('a currency that is none', [...at, 'currency_code'], 'DOLLARS'),
  body('a member of money that nobody knows', [...at, 'amount'], '1.00'),
]

const PREFER = header('another preference', 'prefer', 'return=everything')
const ORDER_KEY = header('a request id of 109 characters', 'paypal-request-id', 'k'.repeat(109))
const ORDER_ID = [
  id('an order id in lower case', 'abc'),
  id('an order id too long', 'A'.repeat(37)),
]
const NO_BODY: Control = {
  what: 'a body where there is none',
  change: ({ headers, ...request }) => ({
    ...request,
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{}',
  }),
}
const UNIT = ['purchase_units', 0] as const

const OF_OPERATION: { readonly [operation: string]: readonly Control[] } = {
  'orders.create': [
    ...MONEY([...UNIT, 'amount']),
    PREFER,
    ORDER_KEY,
    body('no amount', [...UNIT, 'amount']),
    body('an intent that nobody knows', ['intent'], 'SALE'),
    body('no intent', ['intent']),
    body('no purchase unit', ['purchase_units'], []),
    body('a custom id of 128 characters', [...UNIT, 'custom_id'], 'c'.repeat(128)),
    body('an invoice id of 128 characters', [...UNIT, 'invoice_id'], 'i'.repeat(128)),
    body('a soft descriptor of 23 characters', [...UNIT, 'soft_descriptor'], 's'.repeat(23)),
    body('a merchant id that is none', [...UNIT, 'payee'], { merchant_id: 'me@example.com' }),
    body('a member of a payee that nobody knows', [...UNIT, 'payee'], { account: 'ABCDEFGHJKLMN' }),
    body('an id of its own', ['id'], 'ORDER1'),
    body('a payer’s id, which only PayPal says', ['payer'], { payer_id: 'ABCDEFGHJKLMN' }),
  ],
  'orders.get': [...ORDER_ID, NO_BODY],
  'orders.capture': [PREFER, ORDER_KEY, ...ORDER_ID, bodyOf({ amount: { value: '1.00' } })],
  'orders.authorize': [PREFER, ORDER_KEY, ...ORDER_ID, bodyOf({ intent: 'AUTHORIZE' })],
  'authorizations.get': [NO_BODY],
  'authorizations.capture': [
    ...MONEY(['amount']),
    PREFER,
    body('a final capture as text', ['final_capture'], 'true'),
    body('an invoice id of 128 characters', ['invoice_id'], 'i'.repeat(128)),
    body('a custom id', ['custom_id'], 'c'),
  ],
  'authorizations.void': [NO_BODY, PREFER],
  'captures.get': [NO_BODY],
  'captures.refund': [
    ...MONEY(['amount']),
    PREFER,
    body('a custom id of 128 characters', ['custom_id'], 'c'.repeat(128)),
    body('the capture’s id', ['capture_id'], 'CAPTURE1'),
  ],
  'refunds.get': [NO_BODY],
  'payouts.post': [
    body('currency_code for currency', ['items', 0, 'amount'], {
      currency_code: 'USD',
      value: '1.00',
    }),
    body('no amount', ['items', 0, 'amount']),
    body('no receiver', ['items', 0, 'receiver']),
    body('a value as a number', ['items', 0, 'amount', 'value'], 1),
    body('a value that is no number', ['items', 0, 'amount', 'value'], 'ten'),
    body('a value of nothing', ['items', 0, 'amount', 'value'], '0.00'),
    body('a currency in lower case', ['items', 0, 'amount', 'currency'], 'usd'),
    body('no item', ['items'], []),
    body('no header of the batch', ['sender_batch_header']),
    body('no id of the batch', ['sender_batch_header', 'sender_batch_id']),
    body(
      'an id of the batch of 257 characters',
      ['sender_batch_header', 'sender_batch_id'],
      'b'.repeat(257),
    ),
    body('a receiver of 128 characters', ['items', 0, 'receiver'], 'r'.repeat(128)),
    body('an id of the item of 64 characters', ['items', 0, 'sender_item_id'], 'i'.repeat(64)),
    body(
      'a kind of receiver that nobody knows',
      ['sender_batch_header', 'recipient_type'],
      'MERCHANT',
    ),
  ],
  'payouts.get': [NO_BODY, query('a page that is no number', 'page', 'first')],
  'payouts-item.get': [NO_BODY, id('an item’s id too long', 'A'.repeat(33))],
  'payouts-item.cancel': [NO_BODY, id('an item’s id too long', 'A'.repeat(33))],
  'search.get': [
    NO_BODY,
    query('no start', 'start_date', undefined),
    query('no end', 'end_date', undefined),
    query('a start without seconds', 'start_date', '2027-01-01T00:00Z'),
    query('more than 31 days', 'start_date', '2000-01-01T00:00:00Z'),
    query('an end before the start', 'end_date', '2000-01-01T00:00:00Z'),
    query('501 on a page', 'page_size', '501'),
    query('page nought', 'page', '0'),
  ],
  'setup-tokens.create': [
    body('no source', ['payment_source']),
    body('a member that nobody knows', ['vault'], 'ON_SUCCESS'),
    body('a customer’s id that is none', ['customer'], { id: 'a b' }),
    withoutHeader('no request id', 'paypal-request-id'),
  ],
  'payment-tokens.create': [
    body('no source', ['payment_source']),
    body('a kind of token that nobody knows', ['payment_source', 'token', 'type'], 'ORDER'),
    body('a token without an id', ['payment_source', 'token', 'id']),
    withoutHeader('no request id', 'paypal-request-id'),
  ],
  'payment-tokens.delete': [
    NO_BODY,
    id('an id that is none', 'a%20b'),
    id('an id too short', 'abc'),
  ],
  'verify-webhook-signature.post': [
    body('no signature', ['transmission_sig']),
    body('no event', ['webhook_event']),
    body('a webhook’s id that is none', ['webhook_id'], 'WH-1/2'),
    body('a time that is none', ['transmission_time'], 'yesterday'),
    body('an address of no form', ['cert_url'], 'not an address'),
    body('a member that nobody knows', ['webhook_secret'], 'x'),
  ],
}

/** A whole body that it does not take. */
function bodyOf(value: unknown): Control {
  return {
    what: 'a body of another operation',
    change: ({ headers, ...request }) => ({
      ...request,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(value),
    }),
  }
}

/** Those of one operation, by its name in PayPal's documents; undefined where nobody has thought of any. */
export function controlsOf(operation: string): readonly Control[] | undefined {
  const own = OF_OPERATION[operation]
  return own === undefined ? undefined : [...EVERYWHERE, ...own]
}
