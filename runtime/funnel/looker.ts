/**
 * A looker at work: its agent searches and asks for quotes through the gateway, with the looker's own token and key.
 * What was really fetched, of whom and for what, is noted here, so that no agent can bring a quote from elsewhere.
 */
import { z } from 'zod'
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/errors.ts'
import { type LookerSession, type LookRequest, ModelFault, type Usage } from '../core/agents.ts'
import { identifierSchema } from '../core/ids.ts'
import type { NodeRecord } from '../core/records.ts'
import { askAgent, usageNote } from './asking.ts'
import { BranchEnded, type Walk } from './context.ts'
import { connectAs, waitWhileFrozen } from './nodes.ts'
import { backOff } from './steps.ts'

export const foundSchema = z
  .array(
    z.strictObject({
      quote: z.string(),
      score: z.number().int().min(0).max(1000),
      /** Whom it was asked of and for what: by us, whatever the quote says. */
      merchant: identifierSchema,
      lines: z.array(z.strictObject({ sku: identifierSchema, quantity: z.number().int().min(1) })),
    }),
  )
  .max(64)
export type Found = z.output<typeof foundSchema>[number]

const answeredSchema = z.strictObject({
  found: z.array(z.strictObject({ quote: z.string(), score: z.number().int().min(0).max(1000) })),
})

type Fetched = Map<string, Pick<Found, 'merchant' | 'lines'>>

/** Quotes of this look, and the note that says how they came about. Throws BranchEnded when it cannot be had. */
export async function look(
  walk: Walk,
  looker: NodeRecord,
  what: Pick<LookRequest, 'need' | 'ceiling'>,
) {
  const fetched: Fetched = new Map()
  const client = await connectAs(walk, looker.id)
  const merchants = walk.merchants.ids.filter((id) => looker.payees.includes(walk.payeeOf(id)))
  const request = { ...what, currency: looker.currency, merchants }
  for (let tried = 1; ; tried += 1) {
    try {
      const answer = await askAgent(walk, {
        node: looker.id,
        role: 'looker',
        ask: async (signal, { meter }) => {
          const session = { ...sessionOf(walk, client, fetched), meter }
          const { look, ...by } = await walk.agents.look(request, session, signal)
          return { found: reallyFetched(look, fetched, by.usage), ...by }
        },
      })
      const { found } = answer
      const data = { ...usageNote(answer), quotes: found.length }
      return { value: found, note: { type: 'looked', data } as const }
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      await recover(walk, looker, error, tried)
    }
  }
}

function reallyFetched(answer: unknown, fetched: Fetched, usage: Usage): readonly Found[] {
  const read = answeredSchema.safeParse(answer)
  if (!read.success) {
    throw new ModelFault('malformed', 'expected a look of the documented shape', { usage })
  }
  const found = read.data.found.flatMap(({ quote, score }) => {
    const asked = fetched.get(quote)
    return asked === undefined ? [] : [{ quote, score, ...asked }]
  })
  return found.slice(0, 64)
}

/** The looker's three calls, as its agent sees them, and no more of them than one look may make. */
function sessionOf(
  { bounds }: Walk,
  client: Pick<Client, 'search' | 'product' | 'quote'>,
  fetched: Fetched,
): LookerSession {
  let [searches, reads, quotes] = [0, 0, 0]
  return {
    search: async ({ text, merchants, limit }) => {
      searches += 1
      if (searches > bounds.searches) throw tooMany()
      const named = merchants === undefined ? {} : { merchants: [...merchants] }
      return (await client.search({ text, limit, ...named })).items
    },
    read: async (merchant, sku) => {
      reads += 1
      if (reads > bounds.reads) throw tooMany()
      return (await client.product({ merchant, sku })).item
    },
    quote: async (merchant, lines) => {
      quotes += 1
      if (quotes > bounds.quotes) throw tooMany()
      const asked = lines.map(({ sku, quantity }) => ({ sku, quantity }))
      const { quote } = await client.quote({ merchant, lines: asked })
      fetched.set(quote, { merchant, lines: asked })
      return quote
    },
  }
}

const tooMany = () =>
  new ModelFault('tool_call', 'a look asked for more than it may', { retryable: false })

/** A person's stop is waited out, a fault is tried again a few times, a refusal ends the branch. */
async function recover(
  walk: Walk,
  looker: NodeRecord,
  error: ClientError,
  tried: number,
): Promise<void> {
  await waitWhileFrozen(walk, looker)
  if (error.advice === 'wait_for_person') return
  if (error.advice !== 'retry' || tried >= walk.bounds.tries) throw new BranchEnded(error.code)
  await backOff(walk, tried)
}
