/** Contacts, fund accounts and payouts (RazorpayX), with every refusal that the documents name. */
import {
  amountOf,
  boolOf,
  type Fields,
  fieldsOf,
  notesOf,
  optionalText,
  Refusal,
  textOf,
  unknownId,
} from './refusal.ts'
import { type Ask, type BookedPayout, type Operation, pageOf, said, type World } from './world.ts'

const LAKH = 100_000 * 100
const KEY_LIFE_SECONDS = 7 * 24 * 3600
const MODES: Readonly<Record<string, readonly string[]>> = {
  bank_account: ['NEFT', 'RTGS', 'IMPS'],
  vpa: ['UPI'],
}
const PURPOSES = ['refund', 'cashback', 'payout', 'salary', 'utility bill', 'vendor bill']

const createContact: Operation = (world, { body }) => {
  const optional = ['email', 'contact', 'type', 'reference_id', 'notes']
  const fields = fieldsOf(body, { required: ['name'], optional })
  const contact = {
    name: textOf(fields.name, 'name', { least: 3, most: 50, charset: /^[a-zA-Z0-9 '\-_/().]+$/ }),
    contact: optionalText(fields.contact, 'contact', { most: 20 }),
    email: optionalText(fields.email, 'email', { most: 80 }),
    type: optionalText(fields.type, 'type', { most: 40 }),
    reference_id: optionalText(fields.reference_id, 'reference_id', { most: 40 }),
  }
  const print = JSON.stringify(contact)
  const found = [...world.contacts.values()].find((other) => other.print === print)
  const made = found ?? {
    id: world.id('cont'),
    print,
    entity: 'contact',
    ...contact,
    batch_id: null,
    active: true,
    notes: notesOf(fields.notes),
    created_at: world.now(),
  }
  world.contacts.set(made.id, made)
  const { print: _print, ...view } = made
  return view
}

const createFundAccount: Operation = (world, { body }) => {
  const required = ['contact_id', 'account_type']
  const fields = fieldsOf(body, { required, optional: ['bank_account', 'vpa'] })
  const contact = textOf(fields.contact_id, 'contact_id', { most: 40 })
  if (!world.contacts.has(contact)) throw unknownId()
  const account = fields.account_type === 'vpa' ? vpaOf(fields) : bankOf(fields)
  const print = JSON.stringify([contact, account])
  const found = [...world.fundAccounts.values()].find((other) => other.print === print)
  const made = found ?? {
    id: world.id('fa'),
    print,
    entity: 'fund_account',
    contact_id: contact,
    ...account,
    batch_id: null,
    active: true,
    created_at: world.now(),
  }
  world.fundAccounts.set(made.id, made)
  return fundAccountView(made)
}

function vpaOf(fields: Fields) {
  const { address } = fieldsOf(fields.vpa, { required: ['address'] })
  const text = textOf(address, 'address', { least: 3, most: 100 })
  const [username, handle] = text.split('@')
  if (!/^[A-Za-z0-9.-]+@[A-Za-z0-9]+$/.test(text)) {
    throw new Refusal('Invalid VPA. Please enter a valid Virtual Payment Address')
  }
  return { account_type: 'vpa', vpa: { username, handle, address: text } }
}

function bankOf(fields: Fields) {
  if (fields.account_type !== 'bank_account') {
    throw new Refusal('The selected account type is invalid.', { field: 'account_type' })
  }
  const bank = fieldsOf(fields.bank_account, { required: ['name', 'ifsc', 'account_number'] })
  const charset = /^[A-Za-z0-9]+$/
  return {
    account_type: 'bank_account',
    bank_account: {
      ifsc: textOf(bank.ifsc, 'ifsc', { least: 11, most: 11, charset: /^[A-Z]{4}0[A-Z0-9]{6}$/ }),
      bank_name: 'HDFC Bank',
      name: textOf(bank.name, 'name', { least: 3, most: 120 }),
      account_number: textOf(bank.account_number, 'account_number', {
        least: 5,
        most: 35,
        charset,
      }),
      notes: [],
    },
  }
}

const fundAccountView = ({ print: _print, ...view }: { [field: string]: unknown }) => view

const fetchFundAccount: Operation = (world, { id }) => {
  const found = world.fundAccounts.get(id)
  if (found === undefined) throw unknownId()
  return fundAccountView(found)
}

const PAYOUT_FIELDS = {
  required: ['account_number', 'fund_account_id', 'amount', 'currency', 'mode', 'purpose'],
  optional: ['queue_if_low_balance', 'reference_id', 'narration', 'notes'],
}

const createPayout: Operation = (world, ask) => {
  assertEnabled(world)
  const key = keyOf(ask)
  const body = JSON.stringify(ask.body)
  const earlier = world.payoutKeys.get(key)
  if (earlier !== undefined && world.now() - earlier.at < KEY_LIFE_SECONDS) {
    if (earlier.body !== body) {
      throw new Refusal('Different request body sent for the same Idempotency Header')
    }
    return world.payouts.get(earlier.id)?.view
  }
  const payout = readPayout(world, ask)
  const { view } = payout
  if (view.amount + view.fees > world.balance) {
    // Razorpay's own words for it name nothing that is wrong.
    if (view.status !== 'queued') throw new Refusal('invalid request sent', { step: 'NA' })
    world.emit('payout.queued', { payout: view })
  } else {
    world.begin(payout)
  }
  world.payouts.set(view.id, payout)
  world.payoutKeys.set(key, { id: view.id, body, at: world.now() })
  return view
}

function assertEnabled(world: World): void {
  if (!world.options.payoutsEnabled) {
    throw new Refusal('The requested URL was not found on the server', { reason: 'NA' })
  }
}

function keyOf({ headers }: Ask): string {
  const field = 'X-Payout-Idempotency'
  const key = headers['x-payout-idempotency']
  if (key === undefined || key === '') {
    throw new Refusal('X-Payout-Idempotency header is mandatory', { field })
  }
  if (!/^[A-Za-z0-9 _-]{4,36}$/.test(key)) {
    throw new Refusal('The idempotency key must be 4 to 36 characters', { field })
  }
  return key
}

function readPayout(world: World, { body, fault }: Ask): BookedPayout {
  const fields = fieldsOf(body, PAYOUT_FIELDS)
  if (fields.account_number !== world.accountNumber) {
    throw new Refusal('The account number is invalid', { field: 'account_number' })
  }
  const account = world.fundAccounts.get(String(fields.fund_account_id))
  if (account === undefined) throw unknownId()
  if (account.active !== true) throw new Refusal('The fund account is not active')
  if (fields.currency !== 'INR') {
    throw new Refusal('The currency should be INR', { field: 'currency' })
  }
  const amount = amountOf(fields.amount, { currency: 'INR' })
  const mode = modeOf(fields.mode, String(account.account_type), amount)
  if (!PURPOSES.includes(String(fields.purpose))) {
    throw new Refusal('Invalid purpose', { field: 'purpose' })
  }
  const queue = boolOf(fields.queue_if_low_balance, 'queue_if_low_balance')
  const charset = /^[a-zA-Z0-9 ]*$/
  const view = {
    id: world.id('pout'),
    entity: 'payout' as const,
    fund_account_id: account.id,
    amount: fault === 'wrongAmount' ? amount + 1 : amount,
    currency: 'INR',
    notes: notesOf(fields.notes),
    fees: 590,
    tax: 90,
    status: queue ? 'queued' : 'processing',
    utr: null,
    mode,
    purpose: String(fields.purpose),
    reference_id: optionalText(fields.reference_id, 'reference_id', { most: 40 }),
    narration: optionalText(fields.narration, 'narration', { most: 30, charset }),
    batch_id: null,
    status_details: said('low_balance', 'Payout is queued as the balance is low', 'business'),
    created_at: world.now(),
    fee_type: null,
  }
  const next = fault === 'decline' ? ('failed' as const) : ('processed' as const)
  return { view, ours: true, next, held: fault === 'pending' }
}

function modeOf(value: unknown, account: string, amount: number): string {
  const mode = String(value)
  const field = 'mode'
  if (!['NEFT', 'RTGS', 'IMPS', 'UPI', 'card'].includes(mode)) {
    throw new Refusal('Payout mode is invalid', { field })
  }
  if (!MODES[account]?.includes(mode)) {
    throw new Refusal('Payout mode is not supported by the fund account', { field })
  }
  const isOutside =
    (mode === 'IMPS' && amount > 5 * LAKH) ||
    (mode === 'UPI' && amount > LAKH) ||
    (mode === 'RTGS' && amount < 2 * LAKH)
  if (isOutside)
    throw new Refusal(`The amount is outside the limits of ${mode}`, { field: 'amount' })
  return mode
}

const fetchPayout: Operation = (world, { id }) => {
  const found = world.payouts.get(id)
  if (found === undefined) throw unknownId()
  return found.view
}

const listPayouts: Operation = (world, { query }) => {
  assertEnabled(world)
  if (query.get('account_number') !== world.accountNumber) {
    throw new Refusal('The account number is invalid', { field: 'account_number' })
  }
  const [reference, status] = [query.get('reference_id'), query.get('status')]
  const found = [...world.payouts.values()]
    .map(({ view }) => view)
    .filter((view) => reference === null || view.reference_id === reference)
    .filter((view) => status === null || view.status === status)
  return pageOf(found, query)
}

const cancelPayout: Operation = (world, { id }) => {
  const found = world.payouts.get(id)
  if (found === undefined) throw unknownId()
  if (found.view.status !== 'queued') throw new Refusal('Payout is not in queued state')
  found.view.status = 'cancelled'
  found.view.status_details = said('payout_cancelled', 'Payout was cancelled', 'business')
  return found.view
}

export const PAYOUT_OPERATIONS = {
  createContact,
  createFundAccount,
  fetchFundAccount,
  createPayout,
  fetchPayout,
  listPayouts,
  cancelPayout,
}
