/** Registering whom a payout can go to: a contact and a fund account of RazorpayX, the same again for the same person. */
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { unconfigured } from '../words.ts'
import type { Client } from './client.ts'
import { contactSchema, fundAccountSchema, type NoWord, saidIn } from './wire.ts'

const NAME = /^[A-Za-z0-9 '\-_/().]{3,50}$/

export const razorpayPayeeSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('vpa'),
    name: z.string().regex(NAME),
    /** Of UPI, such as `desk.bazaar@upi`. */
    address: z
      .string()
      .max(100)
      .regex(/^[A-Za-z0-9.-]{1,80}@[A-Za-z0-9]{1,40}$/),
  }),
  z.strictObject({
    kind: z.literal('bank'),
    name: z.string().regex(NAME),
    ifsc: z.string().regex(/^[A-Z]{4}0[A-Z0-9]{6}$/),
    accountNumber: z.string().regex(/^[A-Za-z0-9]{5,35}$/),
  }),
])

export type RazorpayPayee = z.infer<typeof razorpayPayeeSchema>

/** Answers the `fa_…` that a payee's account is written as. Razorpay gives the existing one for the same details. */
export async function registerWith(client: Client, payee: RazorpayPayee): Promise<string> {
  const of = razorpayPayeeSchema.parse(payee)
  const ask = client.begin()
  const contact = saidIn(
    contactSchema,
    await ask(({ rq }) => rq.post('/v1/contacts', { name: of.name, type: 'vendor' })),
  )
  if (contact.kind !== 'said') throw failed(contact)
  const account =
    of.kind === 'vpa'
      ? { account_type: 'vpa', vpa: { address: of.address } }
      : {
          account_type: 'bank_account',
          bank_account: { name: of.name, ifsc: of.ifsc, account_number: of.accountNumber },
        }
  const body = { contact_id: contact.value.id, ...account }
  const made = saidIn(fundAccountSchema, await ask(({ rq }) => rq.post('/v1/fund_accounts', body)))
  if (made.kind !== 'said') throw failed(made)
  return made.value.id
}

const failed = (said: NoWord | { readonly kind: 'refused' }) =>
  said.kind === 'refused'
    ? unconfigured('the rail refused these details of a payee')
    : new Fault('rail_unconfigured', `the rail registered nobody: ${said.reason}`)
