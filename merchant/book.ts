/**
 * The shops' durable book of orders: written before it is answered, one order for one quote and for one receipt. What is sold is
 * counted from the orders, so a shop never says that it has what it has given away.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { identifierSchema } from '../runtime/core/ids.ts'
import { currencySchema, positiveMinorSchema } from '../runtime/core/money.ts'
import { secondsSchema } from '../runtime/core/time.ts'

/** An order as it was fulfilled; `quote` and `receipt` are the `jti`s. */
const orderSchema = z.strictObject({
  id: identifierSchema,
  merchant: identifierSchema,
  quote: identifierSchema,
  quoteDigest: z.string(),
  receipt: identifierSchema,
  payee: identifierSchema,
  amount: positiveMinorSchema,
  currency: currencySchema,
  lines: z.array(
    z.strictObject({
      sku: identifierSchema,
      title: z.string(),
      quantity: z.number().int(),
      unitAmount: positiveMinorSchema,
    }),
  ),
  createdAtSeconds: secondsSchema,
})
export type Order = z.infer<typeof orderSchema>

const SCHEMA = `
CREATE TABLE IF NOT EXISTS shop_order (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  quote TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (merchant, quote)
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS shop_order_receipt ON shop_order (json_extract(body, '$.receipt'));
CREATE TABLE IF NOT EXISTS sold (
  merchant TEXT NOT NULL,
  sku TEXT NOT NULL,
  quantity INTEGER NOT NULL,
  PRIMARY KEY (merchant, sku)
) STRICT;
`

/** Orders that one list shows, newest first. */
const LISTED = 1_000

export class OrderBook {
  readonly #db: DatabaseSync

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    this.#db = new DatabaseSync(join(directory, 'orders.sqlite'), { timeout: 5_000 })
    this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
    const mode = this.#db.prepare('PRAGMA journal_mode').get()?.journal_mode
    const sync = this.#db.prepare('PRAGMA synchronous').get()?.synchronous
    if (mode !== 'wal' || sync !== 2) throw new Error('expected a WAL store with full sync')
    this.#db.exec(SCHEMA)
  }

  /**
   * The order of this quote or of this receipt: the one that was there before, or `order`, which is then durable. A
   * receipt earns one order, whatever it says of quotes.
   */
  add(order: Order): { readonly order: Order; readonly created: boolean } {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const known = this.find(order.merchant, order.quote) ?? this.findByReceipt(order.receipt)
      if (!known) this.#insert(order)
      this.#db.exec('COMMIT')
      return { order: known ?? order, created: !known }
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }

  find(merchant: string, quote: string): Order | undefined {
    const row = this.#db
      .prepare('SELECT body FROM shop_order WHERE merchant = ? AND quote = ?')
      .get(merchant, quote)
    return row ? toOrder(row) : undefined
  }

  findByReceipt(receipt: string): Order | undefined {
    const row = this.#db
      .prepare("SELECT body FROM shop_order WHERE json_extract(body, '$.receipt') = ?")
      .get(receipt)
    return row ? toOrder(row) : undefined
  }

  list(merchant: string): readonly Order[] {
    return this.#db
      .prepare('SELECT body FROM shop_order WHERE merchant = ? ORDER BY rowid DESC LIMIT ?')
      .all(merchant, BigInt(LISTED))
      .map(toOrder)
  }

  sold(merchant: string, sku: string): number {
    const row = this.#db
      .prepare('SELECT quantity FROM sold WHERE merchant = ? AND sku = ?')
      .get(merchant, sku)
    return Number(row?.quantity ?? 0)
  }

  close(): void {
    this.#db.close()
  }

  #insert(order: Order): void {
    this.#db
      .prepare('INSERT INTO shop_order (id, merchant, quote, body) VALUES (?, ?, ?, ?)')
      .run(order.id, order.merchant, order.quote, JSON.stringify(order))
    const count = this.#db.prepare(
      `INSERT INTO sold (merchant, sku, quantity) VALUES (?, ?, ?)
       ON CONFLICT (merchant, sku) DO UPDATE SET quantity = quantity + excluded.quantity`,
    )
    for (const { sku, quantity } of order.lines) {
      count.run(order.merchant, sku, BigInt(quantity))
    }
  }
}

const toOrder = (row: Record<string, unknown>): Order =>
  orderSchema.parse(JSON.parse(String(row.body)))
