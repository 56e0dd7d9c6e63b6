import { describe, expect, it } from 'vitest'
import { worstCase } from '../../runtime/cli/worst-case.ts'
import { mandateSchema } from '../../runtime/core/mandate.ts'

const mandate = (claims: object) =>
  mandateSchema.parse({
    jti: 'mandate-of-many-letters-1',
    iss: 'alice',
    aud: 'headgate.acme',
    iat: 1_800_000_000,
    exp: 1_800_003_600,
    task: 'paper',
    currency: 'INR',
    ceiling: 5_000_00,
    payees: ['paper-lane'],
    limits: { depth: 5, fanOut: 16, nodes: 200 },
    ...claims,
  })

describe('what a mandate can cost at worst', () => {
  it('names each limit below the ceiling', () => {
    const said = worstCase(
      mandate({
        perPayment: 50_00,
        window: { zone: 'Asia/Kolkata', perHour: 100_00, perDay: 200_00 },
      }),
    )
    expect(said).toMatch(
      /^at worst INR 5,000\.00 in all, INR 50\.00 in one payment, INR 100\.00 in an hour, INR 200\.00 in a day of Asia\/Kolkata goes to paper-lane /,
    )
  })

  it('names no limit that is over it, because more than the ceiling cannot go', () => {
    const said = worstCase(
      mandate({ perPayment: 5_000_01, window: { zone: 'Asia/Kolkata', perDay: 9_000_00 } }),
    )
    expect(said).toMatch(/^at worst INR 5,000\.00 in all goes to paper-lane /)
  })
})
