/**
 * One purchase: a looker searches and brings quotes, a chooser picks one by index among those that hold, a leaf is
 * made for exactly that quote and pays it. A quote that no longer holds is asked for again, a bounded number of
 * times. Whatever a listing said stays with the looker: only signed, typed fields come out of here.
 */
import { z } from 'zod'
import { ClientError } from '../client/errors.ts'
import type { Candidate, LookerSession, Need, PartOutcome } from '../core/agents.ts'
import { digestSchema, identifierSchema } from '../core/ids.ts'
import { secondsSchema } from '../core/mandate.ts'
import { type Minor, minorSchema, positiveMinorSchema, ZERO } from '../core/money.ts'
import type { NodeRecord } from '../core/records.ts'
import { later, seconds } from '../core/time.ts'
import { BranchEnded, type Walk } from './context.ts'
import { deliver } from './deliver.ts'
import { type LeafEnd, payLeaf } from './leaf.ts'
import { closeNode, connectAs, makeChild, waitWhileFrozen } from './nodes.ts'
import { candidatesOf, cheapestOf, isWanted } from './offers.ts'
import { askAgent, backOff, once, usageNote } from './steps.ts'

export interface Purchase {
  /** Names this purchase among its planner's steps. */
  readonly step: string
  readonly label: string
  readonly need: Need
  readonly ceiling: Minor
}

/** Undefined when it was bought. */
export type PurchaseEnd = PartOutcome | undefined

/** A leaf outlives its quote by this much, so that a late payment is told that the quote expired. */
const LEAF_MARGIN_SECONDS = 60

const foundSchema = z.array(z.strictObject({ quote: z.string(), score: z.number().int() })).max(64)

const offerSchema = z.strictObject({
  quote: z.string(),
  digest: digestSchema,
  merchant: identifierSchema,
  payee: identifierSchema,
  amount: positiveMinorSchema,
  expiresAtSeconds: secondsSchema,
})
type Offer = z.output<typeof offerSchema>

const chosenSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('offer'), offer: offerSchema }),
  z.strictObject({
    kind: z.literal('none'),
    reason: z.enum(['over_budget', 'nothing_found']),
    cheapest: minorSchema.exactOptional(),
  }),
])
type Chosen = z.output<typeof chosenSchema>

export async function purchase(
  walk: Walk,
  planner: NodeRecord,
  what: Purchase,
): Promise<PurchaseEnd> {
  const { label, need } = what
  for (let look = 1; look <= walk.bounds.looks; look += 1) {
    const turn = { ...what, step: `${what.step}-${look}` }
    const chosen = await choose(walk, planner, turn)
    if (chosen.kind === 'none') {
      const { kind: _none, ...why } = chosen
      return { label, need, ...why }
    }
    const end = await payFor(walk, planner, turn, chosen.offer)
    if (end.kind === 'settled') return undefined
    if (end.kind === 'refused') return { label, need, reason: 'refused', code: end.code }
  }
  return { label, need, reason: 'failed', code: 'quotes_did_not_hold' }
}

/** Quotes as a looker brought them; the looker is closed as soon as they are written down. */
async function lookFor(walk: Walk, planner: NodeRecord, what: Purchase) {
  const looker = await makeChild(walk, planner, {
    step: `${what.step}-look`,
    kind: 'looker',
    label: what.label,
    ceiling: ZERO,
    nodes: 0,
  })
  const found = await once(walk, {
    node: looker.id,
    name: 'found',
    schema: foundSchema,
    work: () => look(walk, looker, what),
  })
  await closeNode(walk, looker.id)
  return found
}

async function look(walk: Walk, looker: NodeRecord, { need, ceiling }: Purchase) {
  const session = await sessionOf(walk, looker)
  const merchants = walk.merchants.ids.filter((id) => looker.payees.includes(walk.payeeOf(id)))
  const request = { need, currency: looker.currency, merchants, ceiling }
  for (let tried = 1; ; tried += 1) {
    try {
      const { look, usage, model } = await askAgent(walk, (signal) =>
        walk.agents.look(request, session, signal),
      )
      const data = { ...usageNote(usage, model), quotes: look.found.length }
      return { value: look.found.slice(0, 64), note: { type: 'looked', data } as const }
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      await recover(walk, looker, error, tried)
    }
  }
}

/** The looker's two calls, as its agent sees them. */
async function sessionOf(walk: Walk, looker: NodeRecord): Promise<LookerSession> {
  const client = await connectAs(walk, looker.id)
  return {
    search: async ({ text, merchants, limit }) => {
      const named = merchants === undefined ? {} : { merchants: [...merchants] }
      return (await client.search({ text, limit, ...named })).items
    },
    quote: async (merchant, lines) => (await client.quote({ merchant, lines: [...lines] })).quote,
  }
}

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

/** What to pay, decided once: an offer, or why there is none. */
const choose = (walk: Walk, planner: NodeRecord, what: Purchase): Promise<Chosen> =>
  once(walk, {
    node: planner.id,
    name: `${what.step}-chosen`,
    schema: chosenSchema,
    work: async () => {
      const found = await lookFor(walk, planner, what)
      const offers = candidatesOf(walk, planner, what.need, found).filter((offer) =>
        isWanted(what.need, offer),
      )
      const cheapest = cheapestOf(offers)
      const affordable = offers.filter(({ amount }) => amount <= what.ceiling)
      if (cheapest === undefined) return none('nothing_found')
      if (affordable.length === 0) return none('over_budget', cheapest)
      return chooseAmong(walk, planner, what, affordable)
    },
  })

const none = (reason: 'over_budget' | 'nothing_found', cheapest?: Minor) => ({
  value: { kind: 'none', reason, ...(cheapest === undefined ? {} : { cheapest }) },
})

async function chooseAmong(
  walk: Walk,
  { currency }: NodeRecord,
  { need, ceiling }: Purchase,
  affordable: readonly Candidate[],
) {
  const candidates = affordable.map(({ quote: _text, digest: _digest, ...shown }) => shown)
  const { choice, usage, model } = await askAgent(walk, (signal) =>
    walk.agents.choose({ need, currency, ceiling, candidates }, signal),
  )
  const chosen = choice.index === 'none' ? undefined : affordable[choice.index]
  const among = { ...usageNote(usage, model), among: candidates.length }
  if (chosen === undefined) {
    return { ...none('nothing_found'), note: { type: 'chose', data: among } as const }
  }
  const { lines: _lines, score: _score, ...offer } = chosen
  const data = { ...among, quote: offer.digest, merchant: offer.merchant, amount: offer.amount }
  return { value: { kind: 'offer', offer }, note: { type: 'chose', data } as const }
}

/** Makes the leaf for exactly this offer, pays, and closes it again: what it did not spend is home at once. */
async function payFor(
  walk: Walk,
  planner: NodeRecord,
  what: Purchase,
  offer: Offer,
): Promise<LeafEnd> {
  const lasts = later(offer.expiresAtSeconds, LEAF_MARGIN_SECONDS)
  const leaf = await makeChild(walk, planner, {
    step: `${what.step}-leaf`,
    kind: 'leaf',
    label: what.label,
    ceiling: offer.amount,
    nodes: 0,
    payees: [offer.payee],
    quote: offer.digest,
    expiresAtSeconds: seconds(Math.min(planner.expiresAtSeconds, lasts)),
  })
  try {
    const end = await payLeaf(walk, leaf, offer.quote)
    if (end.kind === 'settled') await deliver(walk, leaf, { ...offer, receipt: end.receipt })
    return end
  } finally {
    if (!walk.signal.aborted) await closeNode(walk, leaf.id)
  }
}

export const needOf = (label: string): Need => ({ text: label, quantity: 1, prefer: [] })
