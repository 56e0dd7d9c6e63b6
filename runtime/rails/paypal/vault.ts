/**
 * Saving an instrument of a payer's: they agree once, on PayPal's own site, and what is kept afterwards charges them
 * without being asked. Its id is a credential, as the client's secret is.
 */
import { z } from 'zod'
import { notSent } from '../words.ts'
import { isKey } from './accounts.ts'
import { noAnswer, type Refused, read, refusedBy, textSchema } from './answers.ts'
import type { PaypalClient } from './client.ts'
import { approveUrlIn } from './orders.ts'
import { deletePaymentTokenRequest, paymentTokenRequest, setupTokenRequest } from './requests.ts'

const tokenIdSchema = z.string().regex(/^[A-Za-z0-9_-]{4,255}$/)

const setupSchema = z.object({
  id: tokenIdSchema,
  links: z
    .array(z.object({ href: textSchema, rel: textSchema }))
    .max(100)
    .default([]),
})

const savedSchema = z.object({ id: tokenIdSchema })

export interface PaypalVault {
  /** Asks for a payer's agreement, which is given at `approveUrl`. `key` is new for each attempt. */
  begin(of: {
    readonly key: string
    readonly returnUrl: string
    readonly cancelUrl: string
  }): Promise<{ kind: 'begun'; setupToken: string; approveUrl: string } | Refused>
  /** Once the payer has agreed. `instrument` is a credential: it goes where secrets are kept and nowhere else. */
  save(of: {
    readonly key: string
    readonly setupToken: string
  }): Promise<{ kind: 'saved'; instrument: string } | Refused>
  /** Afterwards it charges nobody any more. */
  forget(instrument: string): Promise<{ kind: 'forgotten' } | Refused>
}

export const createVault = (client: PaypalClient, base: URL): PaypalVault => ({
  async begin(of) {
    if (!isKey(of.key)) return notSent('order_not_expressible')
    const said = await client.call(setupTokenRequest(of), client.deadline())
    const made = read(setupSchema, said)
    if (made === undefined) return refusedBy(said)
    const approveUrl = approveUrlIn(made.links, base)
    return approveUrl === undefined
      ? noAnswer(said)
      : { kind: 'begun', setupToken: made.id, approveUrl }
  },

  async save(of) {
    if (!isKey(of.key) || !tokenIdSchema.safeParse(of.setupToken).success) {
      return notSent('order_not_expressible')
    }
    const said = await client.call(paymentTokenRequest(of), client.deadline())
    const saved = read(savedSchema, said)
    return saved === undefined ? refusedBy(said) : { kind: 'saved', instrument: saved.id }
  },

  async forget(instrument) {
    if (!tokenIdSchema.safeParse(instrument).success) return notSent('order_not_expressible')
    const said = await client.call(deletePaymentTokenRequest(instrument), client.deadline())
    return said.kind === 'said' && said.status === 204 ? { kind: 'forgotten' } : refusedBy(said)
  },
})
