/** Orders v2: made, agreed to by a payer or charged to a saved instrument, and then captured or authorised. */
import { type Checkout, ORDER_KEYS_MS, type Order, orderOf, preferred, textOf } from './checkout.ts'
import { type Reply, refusal } from './refusals.ts'
import type { Ask, Route } from './routes.ts'
import { at, half, type Money, moneyOf, textAt } from './world.ts'

const PATH = '/v2/checkout/orders'

export const orderRoutes = (checkout: Checkout): readonly Route[] => [
  { on: 'order.create', method: 'POST', path: PATH, act: (ask) => create(checkout, ask) },
  {
    on: 'order.get',
    method: 'GET',
    path: `${PATH}/:id`,
    act: ({ id }) => ({ status: 200, json: orderOf(checkout.world, checkout.order(id)) }),
  },
  { on: 'order.patch', method: 'PATCH', path: `${PATH}/:id`, act: (ask) => patch(checkout, ask) },
  {
    on: 'authorize',
    method: 'POST',
    path: `${PATH}/:id/authorize`,
    act: (ask) => authorize(checkout, ask),
  },
  {
    on: 'capture',
    method: 'POST',
    path: `${PATH}/:id/capture`,
    act: (ask) => capture(checkout, ask),
  },
]

function create(checkout: Checkout, ask: Ask): Reply {
  const { json, headers, fault } = ask
  const intent = at(json, 'intent')
  if (intent === undefined) throw refusal('MISSING_REQUIRED_PARAMETER', '/intent')
  if (intent !== 'CAPTURE' && intent !== 'AUTHORIZE') throw refusal('UNSUPPORTED_INTENT', '/intent')
  const unit = unitOf(json)
  const source = at(json, 'payment_source')
  if (source !== undefined && headers['paypal-request-id'] === undefined) {
    throw refusal('PAYPAL_REQUEST_ID_REQUIRED')
  }
  return checkout.once(ask, PATH, ORDER_KEYS_MS, () => {
    if (fault === 'decline') throw refusal('PAYEE_ACCOUNT_INVALID', '/purchase_units/0/payee')
    const money = amountIn(unit)
    const order: Order = {
      id: checkout.world.id(17),
      intent,
      unit,
      money: fault === 'wrongAmount' ? half(money) : money,
      atMs: checkout.world.nowMs(),
      authorizations: [],
      captures: [],
      status: 'CREATED',
    }
    // As one step, where an instrument is named at once.
    if (vaultIdIn(checkout, json) !== undefined) take(checkout, order, fault)
    checkout.orders.set(order.id, order)
    return () => preferred(ask, () => orderOf(checkout.world, order))
  })
}

function unitOf(json: unknown): Record<string, unknown> {
  const units = at(json, 'purchase_units')
  if (!Array.isArray(units)) throw refusal('MISSING_REQUIRED_PARAMETER', '/purchase_units')
  if (units.length < 1) throw refusal('INVALID_ARRAY_MIN_ITEMS', '/purchase_units')
  if (units.length > 10) throw refusal('INVALID_ARRAY_MAX_ITEMS', '/purchase_units')
  const names = units.map((unit) => textAt(unit, 256, 'reference_id'))
  const currencies = new Set(units.map((unit) => at(unit, 'amount', 'currency_code')))
  if (units.length > 1) {
    if (names.includes(undefined)) throw refusal('REFERENCE_ID_REQUIRED', '/purchase_units')
    if (new Set(names).size < names.length) throw refusal('DUPLICATE_REFERENCE_ID')
    if (currencies.size > 1) throw refusal('MULTI_CURRENCY_ORDER')
    throw refusal('INVALID_ARRAY_MAX_ITEMS', '/purchase_units')
  }
  const [unit] = units
  textAt(unit, 127, 'description')
  textAt(unit, 127, 'custom_id')
  textAt(unit, 127, 'invoice_id')
  textAt(unit, 22, 'soft_descriptor')
  const merchant = textAt(unit, 13, 'payee', 'merchant_id')
  if (merchant !== undefined && !/^[2-9A-HJ-NP-Z]{13}$/.test(merchant)) {
    throw refusal('INVALID_PARAMETER_SYNTAX', '/purchase_units/0/payee/merchant_id')
  }
  checkSums(unit, amountIn(unit))
  return { ...unit }
}

const amountIn = (unit: unknown): Money =>
  moneyOf(
    at(unit, 'amount', 'value'),
    at(unit, 'amount', 'currency_code'),
    '/purchase_units/0/amount',
  )

/** Items must add up to their total, and the total to the amount. */
function checkSums(unit: unknown, money: Money): void {
  const items = at(unit, 'items')
  const total = at(unit, 'amount', 'breakdown', 'item_total')
  if (!Array.isArray(items)) return
  if (total === undefined) throw refusal('ITEM_TOTAL_REQUIRED')
  const { minor } = moneyOf(at(total, 'value'), at(total, 'currency_code'), '/item_total')
  const sum = items.reduce((all: number, item: unknown) => {
    const each = moneyOf(
      at(item, 'unit_amount', 'value'),
      at(item, 'unit_amount', 'currency_code'),
      '/items',
    )
    return all + each.minor * Number(at(item, 'quantity'))
  }, 0)
  if (sum !== minor) throw refusal('ITEM_TOTAL_MISMATCH')
  if (minor !== money.minor) throw refusal('AMOUNT_MISMATCH')
}

function patch(checkout: Checkout, { id, json }: Ask): Reply {
  const order = checkout.order(id)
  if (order.status === 'COMPLETED') throw refusal('ORDER_ALREADY_COMPLETED')
  if (!Array.isArray(json)) throw refusal('INVALID_PARAMETER_SYNTAX')
  for (const one of json) {
    if (at(one, 'op') !== 'replace') throw refusal('INVALID_PATCH_OPERATION')
    const field = /^\/purchase_units\/@reference_id=='default'\/(amount|payee|description)$/.exec(
      String(at(one, 'path')),
    )?.[1]
    if (field === undefined) throw refusal('FIELD_NOT_PATCHABLE')
    order.unit[field] = at(one, 'value')
    order.money = amountIn(order.unit)
  }
  return { status: 204 }
}

/** The saved instrument that a request names, if it names one: an unknown one is refused. */
function vaultIdIn(checkout: Checkout, json: unknown): string | undefined {
  const id =
    at(json, 'payment_source', 'paypal', 'vault_id') ?? at(json, 'payment_source', 'token', 'id')
  if (id === undefined) return undefined
  if (typeof id !== 'string' || !checkout.knows(id)) throw refusal('TOKEN_ID_NOT_FOUND')
  return id
}

function expectAgreed(checkout: Checkout, order: Order, json: unknown): void {
  if (order.status === 'VOIDED') throw refusal('ORDER_EXPIRED')
  if (vaultIdIn(checkout, json) !== undefined || order.status === 'APPROVED') return
  throw refusal('ORDER_NOT_APPROVED')
}

function authorize(checkout: Checkout, ask: Ask): Reply {
  return checkout.once(ask, `${PATH}/${ask.id}/authorize`, ORDER_KEYS_MS, () => {
    const order = checkout.order(ask.id)
    if (order.intent !== 'AUTHORIZE') throw refusal('ACTION_DOES_NOT_MATCH_INTENT')
    if (order.authorizations.length > 0) throw refusal('ORDER_ALREADY_AUTHORIZED')
    expectAgreed(checkout, order, ask.json)
    take(checkout, order, ask.fault)
    return () => preferred(ask, () => orderOf(checkout.world, order))
  })
}

function capture(checkout: Checkout, ask: Ask): Reply {
  return checkout.once(ask, `${PATH}/${ask.id}/capture`, ORDER_KEYS_MS, () => {
    const order = checkout.order(ask.id)
    if (order.intent !== 'CAPTURE') throw refusal('ACTION_DOES_NOT_MATCH_INTENT')
    if (order.captures.length > 0) throw refusal('ORDER_ALREADY_CAPTURED')
    expectAgreed(checkout, order, ask.json)
    take(checkout, order, ask.fault)
    return () => preferred(ask, () => orderOf(checkout.world, order))
  })
}

/** Charges or holds what the order is for. An order is completed by it even while its capture is pending. */
function take(checkout: Checkout, order: Order, fault: Ask['fault']): void {
  const money = fault === 'wrongAmount' ? half(order.money) : order.money
  const invoiceId = textOf(order.unit.invoice_id)
  const customId = textOf(order.unit.custom_id)
  const isUsed = checkout.captures().some((one) => invoiceId && one.invoiceId === invoiceId)
  if (isUsed) throw refusal('DUPLICATE_INVOICE_ID')
  if (order.intent === 'CAPTURE') {
    checkout.capture(order, { money, invoiceId, customId, isFinal: true }, fault)
  } else {
    if (fault === 'decline') throw refusal('INSTRUMENT_DECLINED')
    const status = fault === 'pending' ? 'PENDING' : 'CREATED'
    const atMs = checkout.world.nowMs()
    const id = checkout.world.id(17)
    order.authorizations.push({ id, order, money, atMs, captures: [], status })
    checkout.world.move({
      id,
      code: 'T1300',
      money: { ...money, minor: -money.minor },
      status: 'P',
    })
  }
  order.status = 'COMPLETED'
}
