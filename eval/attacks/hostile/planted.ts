/**
 * Mistakes that an adapter could make, put between it and the gateway: each reads the rail's word as somebody once did. A
 * run over hostile rails has to find every one of them.
 */
import type { Rail, RailLookup, RailOutcome } from '../../../runtime/core/rail.ts'
import type { Exchange, Transport } from '../../../runtime/rails/exchange.ts'

export interface PlantedFault {
  /** What is believed, as a claim that is wrong. */
  readonly belief: string
  readonly plant: (rail: Rail, last: () => Exchange | undefined) => Rail
}

const statusOf = (got: Exchange | undefined): number => (got?.kind === 'answer' ? got.status : 0)

const paysLike =
  (
    judge: (
      outcome: RailOutcome,
      got: Exchange | undefined,
      rail: Rail,
      order: Parameters<Rail['pay']>[0],
    ) => RailOutcome | Promise<RailOutcome>,
  ): PlantedFault['plant'] =>
  (rail, last) => ({
    ...rail,
    pay: async (order) => judge(await rail.pay(order), last(), rail, order),
  })

const looksLike =
  (judge: (found: RailLookup) => RailLookup): PlantedFault['plant'] =>
  (rail) => ({ ...rail, lookup: async (key, known) => judge(await rail.lookup(key, known)) })

const declined = (reason: string): RailOutcome => ({ kind: 'declined', reason })

export const PLANTED = {
  badGatewayIsDeclined: {
    belief: 'a 502 means that nothing was paid',
    plant: paysLike((outcome, got) => (statusOf(got) === 502 ? declined('bad_gateway') : outcome)),
  },
  silenceIsDeclined: {
    belief: 'what was not answered was not done',
    plant: paysLike((outcome, got) => (got?.kind === 'lost' ? declined('no_answer') : outcome)),
  },
  pageIsPaid: {
    belief: 'a 200 is a success, whatever it says',
    plant: paysLike((outcome, got, _rail, { amount, currency }) =>
      outcome.kind === 'unknown' && statusOf(got) >= 200 && statusOf(got) < 500
        ? { kind: 'settled', reference: 'unread', amount, currency }
        : outcome,
    ),
  },
  asksAgainUnderAnotherKey: {
    belief: 'what was not answered may be sent again under a key of its own',
    plant: paysLike((outcome, got, rail, order) =>
      got?.kind === 'lost' ? rail.pay({ ...order, key: `${order.key.slice(0, -1)}Z` }) : outcome,
    ),
  },
  deafIsAbsent: {
    belief: 'a question that was not answered means that there is nothing',
    plant: looksLike((found) => (found.kind === 'unknown' ? { kind: 'absent' } : found)),
  },
  settledIsFinal: {
    belief: 'what has settled never comes back',
    plant: looksLike((found) => {
      if (found.kind !== 'settled') return found
      const { returned: _returned, back: _back, ...settled } = found
      return settled
    }),
  },
} as const satisfies Readonly<Record<string, PlantedFault>>

/** Remembers the last exchange, for a judgement that is planted behind it. */
export function remembering(transport: Transport): {
  readonly transport: Transport
  readonly last: () => Exchange | undefined
} {
  let last: Exchange | undefined
  return {
    last: () => last,
    transport: async (asked) => {
      last = await transport(asked)
      return last
    },
  }
}
