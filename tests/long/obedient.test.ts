/** What the cases with obedient agents and failing monitors are worth: with a guard taken out of the product they go wrong. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { ROOT } from '../support/source.ts'

const outcome = z.object({
  cases: z.number(),
  wrong: z.array(z.object({ id: z.string(), why: z.string() })),
})

/** The attack runner as a process of its own, with this fault planted in it. */
function attack(only: string, planted?: string): Promise<z.infer<typeof outcome>> {
  const hook = planted && ['--import', join(ROOT, 'tests/eval/planted', planted)]
  const args = [...(hook ?? []), 'eval/attacks/main.ts', '--only', only, '--json']
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: ROOT, timeout: 100_000 }, (error, out, errors) => {
      try {
        resolve(outcome.parse(JSON.parse(out)))
      } catch (cause) {
        reject(new Error(`${error?.message} ${errors}`, { cause }))
      }
    })
  })
}

const OFFERS = 'A11f,A39,A39b'
const ANSWERS = 'M07h,M13,M17'

it('with every guard in place they go as they must', async () => {
  expect((await attack(`${OFFERS},${ANSWERS}`)).wrong).toEqual([])
}, 120_000)

it('without the funnel’s look at offers, money goes for what nobody asked for', async () => {
  const { wrong } = await attack(OFFERS, 'no-offer-checks.mjs')
  expect(wrong.map(({ id }) => id).sort()).toEqual(OFFERS.split(','))
  for (const { why } of wrong) expect(why).toContain('the rail should have moved nothing')
}, 120_000)

it('with a monitor that takes what it cannot read for a yes, money moves', async () => {
  const { wrong } = await attack(ANSWERS, 'believes-anything.mjs')
  expect(wrong.map(({ id }) => id).sort()).toEqual(ANSWERS.split(','))
  for (const { why } of wrong) expect(why).toContain('the rail should have moved nothing')
}, 120_000)
