import { expect, it } from 'vitest'
import { sha256 } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import { digestAt, saltOf } from '../../runtime/core/personal.ts'
import { seconds } from '../../runtime/core/time.ts'
import { bindingsOf } from '../../runtime/gateway/bindings.ts'
import { type Card, cardDigest } from '../../runtime/gateway/cards.ts'

const card: Card = {
  payment: 'pay_1',
  payee: 'shop',
  payeeName: 'Shop',
  account: sha256('account'),
  merchant: 'shop',
  amount: minor(500),
  currency: 'INR',
  lines: [{ sku: 'a', title: 'A lamp', quantity: 1, unitAmount: minor(500) }],
  path: [{ id: 'nd_1', label: 'leaf' }],
  quote: sha256('quote'),
  policy: sha256('policy'),
}
const question = { code: 'approval_required', expiresAtSeconds: seconds(1_800_000_000) } as const

it('a card’s digest cannot be found from all that is on it without its leaf’s secret', () => {
  const digest = cardDigest({ ...card, salt: 'one' }, question)
  expect(digest).not.toBe(cardDigest(card, question))
  expect(digest).not.toBe(cardDigest({ ...card, salt: 'another' }, question))
  expect(digest).toBe(cardDigest({ ...card, salt: 'one' }, question))
})

it('an account’s binding differs with each secret and with each account, and holds with the same', () => {
  const bound = (account: string) =>
    bindingsOf([{ id: 'shop', name: 'Shop', accounts: { rail: account } }], 'rail').get('shop')
  expect(bound('a')?.digest('one')).toBe(bound('a')?.digest('one'))
  expect(bound('a')?.digest('one')).not.toBe(bound('a')?.digest('another'))
  expect(bound('a')?.digest('one')).not.toBe(bound('b')?.digest('one'))
  expect(bound('a')?.digest('one')).not.toBe(bound('a')?.digest(undefined))
})

it('the salt of one value opens no other value of the same node', () => {
  expect(saltOf('secret', 'label')).not.toBe(saltOf('secret', 'account'))
  expect(digestAt({ salt: 'secret' }, 'label', 'x')).not.toBe(
    digestAt({ salt: 'secret' }, 'account', 'x'),
  )
})
