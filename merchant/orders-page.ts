/** A shop's orders for the person who packs them: what was bought, for how much, and the word on the bank statement. */
import { hash } from 'node:crypto'
import { html, markupOf } from '../runtime/core/html.ts'
import { formatMoney } from '../runtime/core/money.ts'
import { isoTime } from '../runtime/core/time.ts'
import type { Order } from './book.ts'

const STYLE = html`
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; }
h1 { font-size: 1.3rem; }
article { padding-block: 0.75rem; border-top: 1px solid; overflow-wrap: anywhere; }
p, ul { margin: 0.2rem 0; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
`

/** No script, and no style but this page's own. */
export const ORDERS_POLICY = `default-src 'none';style-src 'sha256-${hash('sha256', markupOf(STYLE), 'base64')}';base-uri 'none';form-action 'none';frame-ancestors 'none'`

export const ordersPage = (
  shop: string,
  orders: readonly (Order & { readonly shortReceipt?: string })[],
): string =>
  markupOf(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Orders</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Orders of <bdi>${shop}</bdi></h1>
${orders.length === 0 ? html`<p>None yet.</p>` : undefined}
${orders.map(
  (order) => html`<article>
<p><code>${order.id}</code>, ${isoTime(order.createdAtSeconds)}</p>
<p><strong>${formatMoney(order.amount, order.currency)}</strong>, receipt <code>${order.shortReceipt ?? order.receipt}</code></p>
<ul>${order.lines.map(({ quantity, title }) => html`<li>${quantity} × <bdi>${title}</bdi></li>`)}</ul>
</article>
`,
)}</body>
</html>
`)
