import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ABLATED, ablate } from '../../eval/attacks/ablate.ts'
import { type Scene, startScene } from '../../eval/attacks/world/start.ts'
import { CHECKS, type CheckName } from '../../runtime/core/codes.ts'

/** Without these, money is on the rail's book that must not be there; the others are backed by what comes after them. */
const MOVES_MONEY: ReadonlySet<CheckName> = new Set([
  'authenticity',
  'standing',
  'depth',
  'quote',
  'policy',
  'monitor',
])

describe('each of the nine checks', () => {
  let scene: Scene

  beforeAll(async () => {
    scene = await startScene()
  }, 60_000)

  afterAll(async () => {
    await scene?.close()
  })

  it('is taken away once', () => {
    expect(ABLATED).toEqual(CHECKS.map(({ name }) => name))
  })

  it.each(ABLATED)(
    '%s: without it a case goes wrong, or what else stops them all is written down and true',
    async (check) => {
      const { ok, cases, wrong, stoppedAnyway } = await ablate(check, scene)
      expect({ ok, wrong: wrong.map(({ id }) => id), stoppedAnyway }).toMatchObject({ ok: true })
      expect(cases).toBeGreaterThanOrEqual(2)
      if (!MOVES_MONEY.has(check)) return
      expect(wrong.some(({ moneyMoved }) => moneyMoved)).toBe(true)
    },
    120_000,
  )
})
