/** The scripted chooser: among offers within every limit the best score, then the lower amount, then the issuer. */
import type { ChooseInput } from '../shapes.ts'
import { limitOf } from './budget.ts'

type Offer = ChooseInput['candidates'][number]

/** An index into the candidates, or none of them. */
export function chooseOffer({ need, ceiling, candidates }: ChooseInput): {
  index: number | 'none'
} {
  const isCheapest = need.prefer.includes('cheapest')
  const byAmount = (a: Offer, b: Offer) => a.amount - b.amount
  const byScore = (a: Offer, b: Offer) => b.score - a.score
  const byIssuer = (a: Offer, b: Offer) => (a.merchant < b.merchant ? -1 : 1)
  const [first, second] = isCheapest ? [byAmount, byScore] : [byScore, byAmount]
  const [best] = candidates
    .map((offer, index) => ({ offer, index }))
    .filter(({ offer }) => fits(offer, need, ceiling))
    .sort(
      (a, b) =>
        first(a.offer, b.offer) ||
        second(a.offer, b.offer) ||
        byIssuer(a.offer, b.offer) ||
        a.index - b.index,
    )
  return { index: best?.index ?? 'none' }
}

function fits(offer: Offer, need: ChooseInput['need'], ceiling: number): boolean {
  const quantity = offer.lines.reduce((sum, line) => sum + line.quantity, 0)
  const dearest = Math.max(...offer.lines.map((line) => line.unitAmount))
  return (
    quantity === need.quantity &&
    offer.amount <= ceiling &&
    offer.amount <= (limitOf(need) ?? Number.MAX_SAFE_INTEGER) &&
    dearest <= (need.maxUnit ?? Number.MAX_SAFE_INTEGER) &&
    offer.score > 0
  )
}
