/**
 * One purchase: a looker searches and brings quotes, a chooser picks one by index among those that hold, a leaf is
 * made for exactly that quote and pays it. A quote that no longer holds is asked for again, a bounded number of
 * times. Whatever a listing said stays with the looker: only signed, typed fields come out of here.
 */
import { z } from 'zod'
import type { Candidate, Need } from '../core/agents.ts'
import { digestSchema, identifierSchema } from '../core/ids.ts'
import { type Minor, minorSchema, positiveMinorSchema, ZERO } from '../core/money.ts'
import type { NodeRecord } from '../core/records.ts'
import { later, seconds, secondsSchema } from '../core/time.ts'
import { askAgent, usageNote } from './asking.ts'
import { BranchEnded, type Walk } from './context.ts'
import { deliver } from './deliver.ts'
import { type LeafEnd, leafEndSchema, payLeaf, paymentOf } from './leaf.ts'
import { foundSchema, look } from './looker.ts'
import { closeNode, makeChild, waitWhileFrozen } from './nodes.ts'
import { candidatesOf, cheapestOf, isWanted } from './offers.ts'
import { NOTHING, type Unmet, type Unsure, type WalkResult } from './results.ts'
import { once } from './steps.ts'

export interface Purchase {
  /** Names this purchase among its planner's steps. */
  readonly step: string
  readonly label: string
  readonly need: Need
  readonly ceiling: Minor
}

/** A leaf outlives its quote by this much, so that a late payment is told that the quote expired. */
const LEAF_MARGIN_SECONDS = 60

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

const endedSchema = z.strictObject({ code: z.string().max(80) })

/**
 * What became of it: one bought, or one part unmet or unsure with the reason. Throws Fault. A purchase that was given up
 * is written down as that: its planner may plan anew for it, and then nobody may take the old one up again.
 */
export async function purchase(
  walk: Walk,
  planner: NodeRecord,
  what: Purchase,
): Promise<WalkResult> {
  const { label, need } = what
  const step = { node: planner.id, name: `${what.step}-ended`, schema: endedSchema }
  const failed = ({ code }: z.output<typeof endedSchema>) =>
    unmet({ label, need, reason: 'failed', code })
  const before = await walk.ledger.step(step.node, step.name)
  if (before !== undefined) return failed(endedSchema.parse(before))
  try {
    return await buy(walk, planner, what)
  } catch (error) {
    walk.signal.throwIfAborted()
    if (!(error instanceof BranchEnded)) throw error
    return failed(
      await once(walk, { ...step, work: async () => ({ value: { code: error.reason } }) }),
    )
  }
}

async function buy(walk: Walk, planner: NodeRecord, what: Purchase): Promise<WalkResult> {
  const { label, need } = what
  for (let turn = 1; turn <= walk.bounds.looks; turn += 1) {
    const now = { ...what, step: `${what.step}-${turn}` }
    const chosen = await choose(walk, planner, now)
    if (chosen.kind === 'none') {
      const { kind: _none, ...why } = chosen
      return unmet({ label, need, ...why })
    }
    const end = await payFor(walk, planner, now, chosen.offer)
    if (end.kind === 'settled') return { ...NOTHING, bought: 1 }
    if (end.kind === 'unsure') return { ...NOTHING, unsure: [end.unsure] }
    if (end.kind === 'refused') return unmet({ label, need, reason: 'refused', code: end.code })
    if (end.kind === 'ended') return unmet({ label, need, reason: 'failed', code: end.code })
  }
  return unmet({ label, need, reason: 'failed', code: 'quotes_did_not_hold' })
}

const unmet = (part: Unmet): WalkResult => ({ ...NOTHING, unmet: [part] })

/** Quotes as a looker brought them; the looker is closed as soon as they are written down. */
async function lookFor(walk: Walk, planner: NodeRecord, what: Purchase) {
  await waitWhileFrozen(walk, planner)
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
    work: () => look(walk, looker, { need: what.need, ceiling: what.ceiling }),
  })
  await closeNode(walk, looker.id)
  return found
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
  { id: node, currency }: NodeRecord,
  { need, ceiling }: Purchase,
  affordable: readonly Candidate[],
) {
  const candidates = affordable.map(({ quote: _text, digest: _digest, ...shown }) => shown)
  const answer = await askAgent(walk, {
    node,
    role: 'chooser',
    ask: (signal) => walk.agents.choose({ need, currency, ceiling, candidates }, signal),
  })
  const { index } = answer.choice
  const chosen = index === 'none' ? undefined : affordable[index]
  const among = { ...usageNote(answer), among: candidates.length }
  if (chosen === undefined) {
    return { ...none('nothing_found'), note: { type: 'chose', data: among } as const }
  }
  const { lines: _lines, score: _score, ...offer } = chosen
  const data = { ...among, quote: offer.digest, merchant: offer.merchant, amount: offer.amount }
  return { value: { kind: 'offer', offer }, note: { type: 'chose', data } as const }
}

type Paid =
  | LeafEnd
  /** The branch ended before this payment could. */
  | { readonly kind: 'ended'; readonly code: string }
  | { readonly kind: 'unsure'; readonly unsure: Unsure }
type Unpaid = Exclude<Paid, { kind: 'settled' | 'unsure' }>

/**
 * Makes the leaf for exactly this offer, pays, and closes it again: what it did not spend is home at once. A closed
 * leaf pays nothing more, so what its payment's record says then is what became of it, whatever an answer was.
 */
async function payFor(
  walk: Walk,
  planner: NodeRecord,
  what: Purchase,
  offer: Offer,
): Promise<Paid> {
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
  const end = await endOf(walk, leaf, offer)
  if (end.kind === 'settled') {
    const delivery = { ...offer, receipt: end.receipt }
    await walk.places.lend(() => deliver(walk, leaf, delivery))
  }
  await closeNode(walk, leaf.id)
  return end.kind === 'settled' ? end : asRecorded(walk, leaf, what, end)
}

/** How the leaf's payment went, written down once it is certain. */
async function endOf(
  walk: Walk,
  leaf: NodeRecord,
  { quote }: Offer,
): Promise<Exclude<Paid, { kind: 'unsure' }>> {
  try {
    return await once(walk, {
      node: leaf.id,
      name: 'end',
      schema: leafEndSchema,
      work: async () => ({ value: await payLeaf(walk, leaf, quote) }),
    })
  } catch (error) {
    walk.signal.throwIfAborted()
    if (error instanceof BranchEnded) return { kind: 'ended', code: error.reason }
    throw error
  }
}

async function asRecorded(
  walk: Walk,
  leaf: NodeRecord,
  { label, need }: Purchase,
  end: Unpaid,
): Promise<Paid> {
  const payment = await paymentOf(walk, leaf)
  if (payment === undefined || payment.state === 'released') return end
  if (payment.state === 'settled') return { kind: 'settled' }
  const code = end.kind === 'requote' ? 'outcome_unknown' : end.code
  const part: Unmet = { label, need, reason: 'failed', code }
  return { kind: 'unsure', unsure: { payment: payment.id, unmet: part } }
}
