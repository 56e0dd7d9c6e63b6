/**
 * The chooser’s role: one of the candidates by its index, or none. It can point, and nothing else. What breaks the need’s
 * own limits is not shown to it, and the order is ours: the same offers in any order are one and the same question.
 */
import type { Choice, ChooseRequest, Model } from '../runtime/core/agents.ts'
import { ModelFault, NO_USAGE } from '../runtime/core/agents.ts'
import { canonicalJson } from '../runtime/core/json.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import { type Asked, ask } from './ask.ts'
import { INSTRUCTIONS } from './instructions.ts'
import { type ChooseInput, choiceSchema } from './shapes.ts'
import { cut } from './words.ts'

type Offer = ChooseRequest['candidates'][number]
type Shown = ChooseInput['candidates'][number]

/** Throws ModelFault for an index outside the list. */
export async function choose(
  model: Model,
  request: ChooseRequest,
  signal: AbortSignal,
): Promise<Asked<Choice>> {
  const { need, currency, ceiling } = request
  const offers = inOrder(request)
  if (offers.length === 0) {
    return { value: { index: 'none' }, usage: NO_USAGE, model: model.engine }
  }
  const answer = await ask<Choice>(model, {
    role: 'chooser',
    instructions: INSTRUCTIONS.chooser,
    input: { need, currency, ceiling, candidates: offers.map(({ shown }) => shown) },
    schema: choiceSchema,
    signal,
  })
  const { index } = answer.value
  if (index === 'none') return answer
  const chosen = offers[index]
  if (chosen === undefined) {
    const { usage, model: by } = answer
    const message = 'the chooser answered an index that is not in the list'
    throw new ModelFault('malformed', message, { usage, model: by })
  }
  return { ...answer, value: { index: chosen.index } }
}

/** The offers within every limit, the cheapest first and equal ones by their text, each with its place in the request. */
function inOrder(request: ChooseRequest): readonly { shown: Shown; index: number }[] {
  return request.candidates
    .map((offer, index) => ({ offer, shown: shownOffer(offer), index }))
    .filter(({ offer }) => isWithin(offer, request))
    .map(({ shown, index }) => ({ shown, index, text: canonicalJson(shown) }))
    .sort((a, b) => a.shown.amount - b.shown.amount || compare(a.text, b.text) || a.index - b.index)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Without its expiry, which the funnel looks after: a question that holds a time is never the same twice. */
const shownOffer = ({ merchant, payee, amount, lines, score }: Offer): Shown => ({
  source: 'quote',
  merchant,
  payee,
  amount,
  lines: lines.map(({ sku, title, quantity, unitAmount }) => ({
    sku,
    title: cut(title, LIMITS.titleChars),
    quantity,
    unitAmount,
  })),
  score,
})

function isWithin(
  { amount, lines }: Offer,
  { need, ceiling }: Pick<ChooseRequest, 'need' | 'ceiling'>,
): boolean {
  const quantity = lines.reduce((sum, line) => sum + line.quantity, 0)
  return (
    quantity === need.quantity &&
    amount <= ceiling &&
    amount <= (need.maxTotal ?? amount) &&
    lines.every(({ unitAmount }) => unitAmount <= (need.maxUnit ?? unitAmount))
  )
}
