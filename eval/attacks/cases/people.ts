/** What a person does about a held payment, as the operator's interface has it. */
import { type HoldView, holdViewSchema } from '../../../runtime/core/wire.ts'
import { Wrong } from '../types.ts'
import type { Answer, Bench, Held } from '../world/bench.ts'

/** Posts a payment that must be held, and reads its card. */
export async function holdOf(bench: Bench, leaf: Held, quote: string): Promise<HoldView> {
  const { body } = bench.must(await bench.pay(leaf, quote), 202)
  return readHold(bench, String(body.holdId))
}

export async function readHold(bench: Bench, id: string): Promise<HoldView> {
  const card = await bench.operator(`/holds/${id}`)
  const parsed = holdViewSchema.safeParse(card.json)
  if (!parsed.success) throw new Wrong(`expected a card, got ${card.status}`)
  return parsed.data
}

export const decide = (
  bench: Bench,
  { id, digest }: Pick<HoldView, 'id' | 'digest'>,
  verb: 'approve' | 'refuse',
): Promise<Answer> => bench.operator(`/holds/${id}/${verb}`, { method: 'POST', body: { digest } })

export async function approve(bench: Bench, hold: HoldView): Promise<void> {
  bench.must(await decide(bench, hold, 'approve'), 200)
}
