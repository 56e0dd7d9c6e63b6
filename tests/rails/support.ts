/** The simulated rail's server and a plain client of its operator routes, for tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freshId, railKeyOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type { RailOrder } from '../../runtime/core/rail.ts'
import { type BookView, bookSchema } from '../../runtime/rails/simulated/wire.ts'

export interface Operator {
  book(): Promise<BookView>
  post(path: string, body: unknown): Promise<Response>
  send(method: string, path: string, body?: string): Promise<Response>
}

export function operatorOf(url: string, apiKey: string): Operator {
  const send = (method: string, path: string, body?: string) =>
    fetch(new URL(path, url), {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    })
  return {
    send,
    post: (path, body) => send('POST', path, JSON.stringify(body)),
    book: async () => bookSchema.parse(await (await send('GET', 'book')).json()),
  }
}

export function temporaryDirectory(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'headgate-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export const orderOf = (change: Partial<RailOrder> = {}): RailOrder => ({
  payment: 'pay_1',
  key: railKeyOf(`pay_${freshId()}`),
  account: 'acct-desk-bazaar',
  amount: minor(5_000),
  currency: 'JPY',
  note: 'two chairs',
  ...change,
})

export const payoutOf = ({ payment: _payment, ...body }: RailOrder) => body
