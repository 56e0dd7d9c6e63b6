/** Payouts v1: a batch is taken at once and paid later, item by item; its name is what keeps it from being paid twice. */
import { oldRefusal, Refusal, type Reply } from './refusals.ts'
import type { Ask, Route } from './routes.ts'
import { at, half, type Money, moneyOf, textAt, valueText, type World } from './world.ts'

interface Item {
  readonly id: string
  readonly batch: Batch
  readonly receiver: string
  readonly recipientType: string
  readonly money: Money
  readonly note: string | undefined
  readonly senderItemId: string | undefined
  transactionId?: string
  status: string
  unclaimedUntilMs?: number
  becomes: string
}

interface Batch {
  readonly id: string
  readonly senderBatchId: string
  readonly atMs: number
  readonly items: Item[]
  /** Stays as it is until the clock is moved. */
  held: boolean
  status: string
}

const DAY = 24 * 3600 * 1000

export class Payouts {
  readonly batches = new Map<string, Batch>()
  readonly #world: World

  constructor(world: World) {
    this.#world = world
    world.due.push(() => this.#happen())
  }

  routes(): readonly Route[] {
    return [
      {
        on: 'payout.create',
        method: 'POST',
        path: '/v1/payments/payouts',
        act: (ask) => this.#create(ask),
      },
      {
        on: 'payout.get',
        method: 'GET',
        path: '/v1/payments/payouts/:id',
        act: ({ id }) => this.#show(id),
      },
      {
        on: 'item.get',
        method: 'GET',
        path: '/v1/payments/payouts-item/:id',
        act: ({ id }) => ok(this.#item(this.#found(id))),
      },
      {
        on: 'item.cancel',
        method: 'POST',
        path: '/v1/payments/payouts-item/:id/cancel',
        act: ({ id }) => this.#cancel(id),
      },
    ]
  }

  /** Lets go of what was held, as when its clock moves. */
  release(): void {
    for (const batch of this.batches.values()) batch.held = false
  }

  comeBack(key: string): boolean {
    const item = [...this.batches.values()].find((b) => b.senderBatchId === key)?.items[0]
    if (item?.status !== 'SUCCESS') return false
    this.#giveBack(item, 'RETURNED')
    return true
  }

  #create({ json, fault }: Ask): Reply {
    const senderBatchId = textAt(json, 256, 'sender_batch_header', 'sender_batch_id')
    if (!senderBatchId)
      throw oldRefusal(400, 'VALIDATION_ERROR', { field: 'sender_batch_header.sender_batch_id' })
    const earlier = [...this.batches.values()].find(
      (b) => b.senderBatchId === senderBatchId && this.#world.nowMs() - b.atMs < 30 * DAY,
    )
    if (earlier) {
      const href = `${this.#world.url}/v1/payments/payouts/${earlier.id}`
      throw oldRefusal(400, 'USER_BUSINESS_ERROR', {
        field: 'SENDER_BATCH_ID',
        issue: 'Batch with given sender_batch_id already exists',
        links: [{ href, rel: 'self', method: 'GET' }],
      })
    }
    const items = at(json, 'items')
    if (!Array.isArray(items) || items.length < 1 || items.length > 15_000) {
      throw oldRefusal(400, 'VALIDATION_ERROR', { field: 'items' })
    }
    textAt(json, 255, 'sender_batch_header', 'email_subject')
    textAt(json, 1000, 'sender_batch_header', 'note')
    if (at(items, 0, 'note') === 'ERRPYO002') throw oldRefusal(403, 'SENDER_EMAIL_UNCONFIRMED')
    const status = 'PENDING'
    const batch: Batch = {
      id: this.#world.id(13),
      senderBatchId,
      atMs: this.#world.nowMs(),
      items: [],
      held: fault === 'pending',
      status,
    }
    for (const one of items) batch.items.push(this.#itemOf(batch, one, json, fault))
    this.batches.set(batch.id, batch)
    this.#world.payments += 1
    return {
      status: 201,
      json: { batch_header: this.#header(batch, false), links: [this.#link(batch)] },
    }
  }

  #itemOf(batch: Batch, one: unknown, json: unknown, fault: Ask['fault']): Item {
    const asked = inOldWords(() =>
      moneyOf(at(one, 'amount', 'value'), at(one, 'amount', 'currency'), 'items'),
    )
    const receiver = textAt(one, 127, 'receiver')
    const type =
      at(one, 'recipient_type') ?? at(json, 'sender_batch_header', 'recipient_type') ?? 'EMAIL'
    if (!receiver || !fits(receiver, type))
      throw oldRefusal(400, 'VALIDATION_ERROR', { field: 'items[0].receiver' })
    const named = /^(unclaimed|blocked|onhold|failed|denied)@/.exec(receiver)?.[1]?.toUpperCase()
    return {
      id: this.#world.id(13),
      batch,
      receiver,
      recipientType: String(type),
      money: fault === 'wrongAmount' ? half(asked) : asked,
      note: textAt(one, 4000, 'note'),
      senderItemId: textAt(one, 63, 'sender_item_id'),
      status: 'PENDING',
      becomes: fault === 'decline' ? 'FAILED' : (named ?? 'SUCCESS'),
    }
  }

  #happen(): void {
    const now = this.#world.nowMs()
    for (const batch of this.batches.values()) {
      if (batch.held) continue
      if (batch.status === 'PENDING') this.#process(batch)
      for (const item of batch.items) {
        const isDue = item.unclaimedUntilMs !== undefined && now >= item.unclaimedUntilMs
        if (item.status === 'UNCLAIMED' && isDue) this.#giveBack(item, 'RETURNED')
      }
    }
  }

  #process(batch: Batch): void {
    const isDenied = batch.items.every(({ becomes }) => becomes === 'DENIED')
    batch.status = isDenied ? 'DENIED' : 'SUCCESS'
    this.#world.tell(`PAYMENT.PAYOUTSBATCH.${batch.status}`, 'payouts', {
      batch_header: this.#header(batch),
    })
    if (isDenied) return
    for (const item of batch.items) {
      item.status = item.becomes
      const hasMoved =
        item.status === 'SUCCESS' || item.status === 'UNCLAIMED' || item.status === 'ONHOLD'
      if (hasMoved) {
        item.transactionId = this.#world.id(17)
        this.#world.move({
          id: item.transactionId,
          code: 'T0001',
          money: { ...item.money, minor: -item.money.minor },
          status: item.status === 'SUCCESS' ? 'S' : 'P',
          ...(item.senderItemId === undefined ? {} : { customField: item.senderItemId }),
        })
      }
      if (item.status === 'UNCLAIMED') item.unclaimedUntilMs = batch.atMs + 30 * DAY
      const word = { SUCCESS: 'SUCCEEDED', ONHOLD: 'HELD' }[item.status] ?? item.status
      this.#world.tell(`PAYMENT.PAYOUTS-ITEM.${word}`, 'payouts_item', this.#item(item))
    }
  }

  #giveBack(item: Item, status: string): void {
    const movement = this.#world.movements.find(({ id }) => id === item.transactionId)
    const hadMoved = movement?.status === 'S'
    item.status = status
    if (movement !== undefined) movement.status = hadMoved ? 'V' : 'D'
    if (hadMoved)
      this.#world.move({
        id: this.#world.id(17),
        code: 'T1115',
        money: item.money,
        status: 'S',
        of: movement.id,
      })
    this.#world.tell(`PAYMENT.PAYOUTS-ITEM.${status}`, 'payouts_item', this.#item(item))
  }

  #cancel(id: string): Reply {
    const item = this.#found(id)
    if (item.status !== 'UNCLAIMED') throw oldRefusal(400, 'ITEM_INCORRECT_STATUS')
    this.#giveBack(item, 'RETURNED')
    return ok(this.#item(item))
  }

  #show(id: string): Reply {
    const batch = this.batches.get(id)
    if (!batch) throw oldRefusal(404, 'RESOURCE_NOT_FOUND')
    const isTaken = batch.status !== 'DENIED'
    const items = isTaken ? batch.items.map((item) => this.#item(item)) : []
    return ok({ batch_header: this.#header(batch), items, links: [this.#link(batch)] })
  }

  #found(id: string): Item {
    const item = [...this.batches.values()].flatMap(({ items }) => items).find((i) => i.id === id)
    if (!item) throw oldRefusal(404, 'RESOURCE_NOT_FOUND')
    return item
  }

  #link = ({ id }: Batch) => ({
    href: `${this.#world.url}/v1/payments/payouts/${id}`,
    rel: 'self',
    method: 'GET',
  })

  #header({ id, status, senderBatchId, atMs, items }: Batch, whole = true) {
    const header = {
      payout_batch_id: id,
      batch_status: status,
      sender_batch_header: { sender_batch_id: senderBatchId },
    }
    const [first] = items
    if (!whole || first === undefined) return header
    const sum = items.reduce((minor, { money }) => minor + money.minor, 0)
    const { currency } = first.money
    return {
      ...header,
      time_created: this.#world.iso(atMs),
      amount: { currency, value: valueText({ currency, minor: sum }) },
      fees: { currency, value: valueText({ currency, minor: 0 }) },
    }
  }

  #item(item: Item) {
    const { id, batch, receiver, recipientType, money, note, senderItemId, status, transactionId } =
      item
    return {
      payout_item_id: id,
      payout_batch_id: batch.id,
      sender_batch_id: batch.senderBatchId,
      ...(transactionId === undefined ? {} : { transaction_id: transactionId }),
      ...(status === 'PENDING' && batch.status === 'PENDING'
        ? {}
        : { transaction_status: status, time_processed: this.#world.iso() }),
      payout_item: {
        recipient_type: recipientType,
        amount: { currency: money.currency, value: valueText(money) },
        receiver,
        note,
        sender_item_id: senderItemId,
      },
      ...(status === 'FAILED'
        ? {
            errors: {
              name: 'RECEIVER_ACCOUNT_LOCKED',
              message: `${receiver} is locked`,
              debug_id: '1',
            },
          }
        : {}),
      links: [
        { href: `${this.#world.url}/v1/payments/payouts-item/${id}`, rel: 'item', method: 'GET' },
      ],
    }
  }
}

const ok = (json: unknown): Reply => ({ status: 200, json })

function fits(receiver: string, type: unknown): boolean {
  if (type === 'EMAIL') return /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(receiver)
  return type === 'PAYPAL_ID' && /^[A-Z0-9]{13}$/.test(receiver)
}

/** Payouts say what is wrong with an amount in words of their own. */
function inOldWords<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const issue = String(at(error.reply.json, 'details', 0, 'issue'))
    throw oldRefusal(400, 'VALIDATION_ERROR', { field: 'items[0].amount', issue })
  }
}
