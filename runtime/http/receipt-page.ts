/**
 * A receipt as a page: for the person who was paid, on a phone, on paper, without a script. All that it shows is in the
 * view that programs read, so it decides nothing and knows nothing more.
 */
import type { CheckStatus } from '../core/codes.ts'
import { type Html, html, markupOf } from '../core/html.ts'
import { formatMoney, ZERO } from '../core/money.ts'
import { isoTime, type Seconds, seconds } from '../core/time.ts'
import type { ReceiptView } from '../core/wire-receipt.ts'
import { PAGE_POLICY, STYLE } from './receipt-style.ts'
import type { TextAnswer } from './route.ts'

const answer = (status: number, page: Html): TextAnswer => ({
  status,
  text: markupOf(page),
  type: 'text/html; charset=utf-8',
  headers: { 'content-security-policy': PAGE_POLICY, 'x-robots-tag': 'noindex' },
})

/** `url` is the gateway's public origin. */
export const receiptPage = (view: ReceiptView, url: string): TextAnswer =>
  answer(200, document(`${view.shortId}: ${money(view, view.amount)}`, receiptBody(view, url)))

/** The same for an id that nobody gave, one that cannot be, and a payment that has not settled. */
export const noReceiptPage = (): TextAnswer =>
  answer(
    404,
    document(
      'No receipt',
      html`<header><h1>Headgate</h1><p class="amount">No receipt</p></header>
<p class="note">There is no receipt at this address. A payment has one once it is settled; its address is known to those
who were told.</p>`,
    ),
  )

const document = (title: string, body: Html): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Receipt ${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`

const money = ({ currency }: ReceiptView, amount: number): string => formatMoney(amount, currency)

const CLOCK = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'long',
  timeStyle: 'medium',
  timeZone: 'UTC',
})

const time = (at: number): Html => timeOf(seconds(at))

const timeOf = (at: Seconds): Html =>
  html`<time datetime="${isoTime(at)}">${CLOCK.format(at * 1000)} UTC</time>`

const row = (name: string, value: Html | string): Html =>
  html`<dt>${name}</dt><dd>${value}</dd>
`

const id = (text: string): Html => html`<span class="id">${text}</span>`

/** An outsider's or operator's words, whose direction stays their own. */
const words = (text: string): Html => html`<bdi>${text}</bdi>`

function receiptBody(view: ReceiptView, url: string): Html {
  return html`<header>
<h1>Receipt of <bdi>${view.gateway}</bdi></h1>
<p class="amount">${money(view, view.amount)}</p>
<p class="whom">paid to <strong>${words(view.payee.name)}</strong></p>
${stateOf(view)}
</header>
<dl>
${row('On your statement', id(view.shortId))}
${row('Paid by', html`the gateway ${words(view.gateway)}, <span class="id">${url}</span>`)}
${row('Paid to', html`${words(view.payee.name)} (${id(view.payee.id)})`)}
${row('Account', accountOf(view))}
${row('Settled', time(view.settledAtSeconds))}
${row('Rail', railOf(view))}
</dl>
${returnsOf(view)}
${checksOf(view)}
${logOf(view)}
${howTo(view, url)}`
}

function stateOf({ amount, returnedAmount = ZERO, back = [] }: ReceiptView): Html {
  if (returnedAmount >= amount)
    return html`<p class="state back">Settled, and all of it came back</p>`
  if (returnedAmount > 0) return html`<p class="state back">Settled; a part came back</p>`
  if (back.length > 0) return html`<p class="state back">Settled; a refund is under way</p>`
  return html`<p class="state">Settled</p>`
}

const accountOf = ({ payee, erased }: ReceiptView): Html =>
  erased ? html`erased, with all that was personal in this run` : id(payee.account)

const railOf = ({ rail, railReference, settledBy }: ReceiptView): Html =>
  settledBy === 'rail'
    ? html`${rail}, reference ${id(railReference)}`
    : html`${rail} had no word; two operators settled it on evidence ${id(railReference)}`

function returnsOf(view: ReceiptView): Html | undefined {
  const { back = [] } = view
  if (back.length === 0) return undefined
  const items = back.map(
    ({ kind, state, amount, atSeconds }) => html`<li><b>${money(view, amount)}</b>
<span>${RETURNS[`${state} ${kind}`]}</span> <span class="note">${time(atSeconds)}</span></li>
`,
  )
  return html`<section>
<h2>Since then</h2>
<ul class="returns">
${items}</ul>
<p class="note">${money(view, view.returnedAmount ?? 0)} of ${money(view, view.amount)} came back. The receipt itself never changes.</p>
</section>`
}

const RETURNS = {
  'made refunded': 'was refunded',
  'made reversed': 'was taken back by the rail',
  'pending refunded': 'is being refunded; the rail has no last word yet',
  'pending reversed': 'is being taken back',
} as const

const STATUS: Readonly<Record<CheckStatus, string>> = {
  passed: 'passed',
  failed: 'failed',
  held: 'held',
  'not-reached': 'was not reached',
  'not-applicable': 'did not apply',
}

const mark = (status: CheckStatus): string =>
  status === 'passed' ? '✓' : status === 'not-applicable' ? '–' : '✗'

const checksOf = ({ checks, policy }: ReceiptView): Html => html`<section>
<h2>The checks before it was paid</h2>
<ol class="checks">
${checks.map(
  ({ n, name, status }) =>
    html`<li><b>${mark(status)}</b> <span>${n} ${name} <span>${STATUS[status]}</span></span></li>
`,
)}</ol>
<p class="note">Version of the rules: ${policy === undefined ? 'not recorded' : id(policy)}</p>
</section>`

const logOf = ({ head }: ReceiptView): Html => html`<section>
<h2>Where it stands in the log</h2>
<dl>
${row('Event', html`${head.seq} of ${id(head.stream)}`)}
${row('Hash', id(head.hash))}
${row('Hash before', head.previous === undefined ? 'not to be read now' : id(head.previous))}
</dl>
</section>`

const howTo = ({ id: receipt, shortId }: ReceiptView, url: string): Html => html`<section>
<h2>Do not take this page’s word</h2>
<p>The receipt is a signed text. With the gateway’s published keys anybody can verify it, without asking this server again:</p>
<pre>headgate receipt verify ${shortId}.jws --jwks keys.json</pre>
<p class="links"><a href="/receipts/${receipt}/jws" download="${shortId}.jws">The signed receipt</a>
<a href="/.well-known/jwks.json" download="keys.json">The keys</a></p>
<p class="note">Signed receipt: <span class="id">${url}/receipts/${receipt}/jws</span><br>
Keys: <span class="id">${url}/.well-known/jwks.json</span></p>
</section>`
