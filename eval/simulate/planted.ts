/** Faults put in on purpose, each in a wrapper around a port or a rule, so that the simulation shows that it would see them. */
import type { CheckpointFile } from '../../runtime/audit/checkpoint-file.ts'
import type { NodeId } from '../../runtime/core/ids.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { type Minor, minor } from '../../runtime/core/money.ts'
import type { Rail } from '../../runtime/core/rail.ts'
import type { PaymentRecord } from '../../runtime/core/records.ts'
import { type Clock, nowSeconds } from '../../runtime/core/time.ts'
import type { Gateway } from '../../runtime/gateway/gateway.ts'
import type { Draft, Key, Steps } from '../../runtime/ledger/draft.ts'
import { TRANSITIONS, type Transitions } from '../../runtime/ledger/transitions.ts'
import type { World } from './world.ts'

export interface Planted {
  readonly transitions?: Transitions
  readonly store?: (store: Ledger, world: World) => Ledger
  readonly rail?: (rail: Rail, world: World) => Rail
  readonly checkpoints?: (file: CheckpointFile) => CheckpointFile
  readonly sweep?: (store: Ledger, gateway: Gateway, clock: Clock) => Promise<unknown>
}

type Call = (...args: never[]) => unknown
type Twist = (draft: Draft) => Partial<Record<keyof Draft, Call>>

/** The rules over a draft that lies in the given methods. */
function lying(names: readonly (keyof Transitions)[], twist: Twist): Planted {
  const wrapped = Object.fromEntries(
    names.map((name) => {
      const rule = TRANSITIONS[name] as (input: unknown, draft: Draft) => Steps<unknown>
      return [name, (input: unknown, draft: Draft) => rule(input, twisted(draft, twist(draft)))]
    }),
  )
  return { transitions: { ...TRANSITIONS, ...wrapped } }
}

function twisted(draft: Draft, lies: Partial<Record<keyof Draft, Call>>): Draft {
  return new Proxy(draft, {
    get: (target, name) => {
      const lie = lies[name as keyof Draft]
      if (lie !== undefined) return lie
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const forgets =
  (kind: Key['doc']): Twist =>
  (draft) => ({
    get: (of: Key) => (of.doc === kind ? undefined : draft.get(of)),
  })

/** The rules over a payment's record that is read as `change` makes it. */
const misreads = (
  name: 'resolve' | 'regain' | 'lease',
  change: (payment: PaymentRecord) => { readonly [field in keyof PaymentRecord]?: unknown },
): Planted =>
  lying([name], (draft) => ({
    get: (of: Key<'payment'>) => {
      const found = draft.get(of)
      return found === undefined || of.doc !== 'payment' ? found : { ...found, ...change(found) }
    },
  }))

/** A store whose snapshots leave this out. */
const notTold =
  (field: 'payment' | 'claimedBy') =>
  (store: Ledger): Ledger => ({
    ...store,
    snapshot: async (request) => {
      const found = await store.snapshot(request)
      if (found === undefined) return undefined
      const { [field]: _left, ...rest } = found
      return rest
    },
  })

export const PLANTED: { readonly [name: string]: Planted } = {
  'the rail is called before the money is set aside': {
    store: (store, world) => ({
      ...store,
      execute: async (name, input) => {
        if (name === 'reserve') {
          const { payment } = input as Parameters<typeof store.execute<'reserve'>>[1]
          const { id, railKey: key, account, amount, currency } = payment
          await world.rail
            .port(world.process)
            .pay({ payment: id, key, account, amount, currency, note: '' })
        }
        return store.execute(name, input)
      },
    }),
  },
  'a silent rail is taken for a no': {
    store: (store) => ({
      ...store,
      execute: async (name, input) => {
        if (name !== 'markUnknown') return store.execute(name, input)
        const { payment, now } = input as Parameters<typeof store.execute<'markUnknown'>>[1]
        const result = await store.execute('release', {
          payment,
          from: 'submitted',
          reason: 'late',
          now,
        })
        return result as Awaited<ReturnType<typeof store.execute<typeof name>>>
      },
    }),
  },
  'a payment is not looked up before it is made again': {
    ...lying(['reserve'], forgets('payment')),
    store: notTold('payment'),
  },
  'standing is not judged again when money moves': lying(['reserve', 'submit'], (draft) => ({
    standing: (node: never) => ({ ...draft.standing(node), state: 'live' }),
  })),
  'a sum above what was asked is clipped': {
    rail: (rail) => {
      const asked = new Map<string, number>()
      const clip = <T extends { readonly kind: string; readonly amount?: number }>(
        key: string,
        outcome: T,
      ): T =>
        outcome.amount === undefined
          ? outcome
          : { ...outcome, amount: minor(Math.min(outcome.amount, asked.get(key) ?? 0)) }
      return {
        ...rail,
        pay: async (order) => {
          asked.set(order.key, order.amount)
          return clip(order.key, await rail.pay(order))
        },
      }
    },
  },
  'a close forgets what is reserved': lying(['close'], (draft) => ({
    need: (of: Key) => {
      const found = draft.need(of)
      return of.doc === 'account' && typeof found === 'object' ? { ...found, reserved: 0 } : found
    },
  })),
  'a split takes nothing from its parent': lying(['split'], (draft) => ({
    move: (
      node: never,
      { available: _kept, allotted: _more, ...rest }: { available?: number; allotted?: number },
    ) => draft.move(node, rest),
  })),
  'the rail’s key is made up at each call': {
    rail: (rail, world) => ({
      ...rail,
      pay: (order) => rail.pay({ ...order, key: `made-up-${world.fresh()}` }),
    }),
  },
  'the sweeper releases what is unknown': {
    sweep: async (store, gateway, clock) => {
      for (const { id: payment } of await store.payments({ states: ['unknown'], limit: 50 })) {
        await store.execute('release', {
          payment,
          from: 'submitted',
          reason: 'swept',
          now: nowSeconds(clock),
        })
      }
      return gateway.sweep()
    },
  },
  'a proof is good more than once': lying(
    ['reserve', 'refuse', 'note', 'saveStep'],
    forgets('proof'),
  ),
  'two payments may hold one quote': {
    ...lying(['reserve'], forgets('claim')),
    store: notTold('claimedBy'),
  },
  'an approval is never used up': lying(['reserve'], (draft) => ({
    put: (of: Key, value: never) => (of.doc === 'hold' ? undefined : draft.put(of as never, value)),
  })),
  'a window is not counted': lying(['reserve'], forgets('counter')),
  'a settlement is not written to the log': lying(['settle'], (draft) => ({
    append: (node: never) => draft.need({ doc: 'account', id: [node] }).head,
  })),
  'what came back is put to use at once': lying(['reverse'], (draft) => ({
    move: (node: NodeId, change: { readonly reversed: Minor }) => {
      const { available, spent, reversed } = draft.need({ doc: 'account', id: [node] } as const)
      const amount = change.reversed - reversed
      return draft.move(node, {
        available: minor(available + amount),
        spent: minor(spent - amount),
      })
    },
  })),
  'what came back is put to use twice': misreads('regain', () => ({ regained: undefined })),
  'what came back is put to use in a run that has ended': lying(['regain'], (draft) => ({
    standing: (node: NodeId) => ({ ...draft.standing(node), state: 'live' }),
    need: (of: Key) => {
      const found = draft.need(of)
      return of.doc === 'run' && typeof found === 'object' ? { ...found, state: 'running' } : found
    },
  })),
  'a reversal is noted each time that the rail tells of it': lying(['reverse'], (draft) => ({
    get: (of: Key<'payment'>) => {
      const found = draft.get(of)
      return found && { ...found, reversals: [] }
    },
  })),
  'a refund that the rail is silent about has failed': {
    rail: (rail) => ({
      ...rail,
      ...(rail.refunds && {
        refunds: {
          ...rail.refunds,
          make: async (order) => {
            const outcome = await rail.refunds?.make(order)
            return outcome?.kind === 'refunded' ? outcome : { kind: 'declined', reason: 'silent' }
          },
        },
      }),
    }),
  },
  'refunds on their way are not counted': lying(['refund'], (draft) => ({
    get: (of: Key<'payment'>) => {
      const found = draft.get(of)
      const refunds = found?.refunds?.map((each) => ({ ...each, state: 'failed' }))
      return found && { ...found, refunds }
    },
  })),
  'a refund that the rail told of before is noted again': lying(['refunded'], (draft) => ({
    get: (of: Key<'payment'>) => {
      const found = draft.get(of)
      return found && { ...found, reversals: [] }
    },
  })),
  'one operator is enough to end a payment': misreads('resolve', ({ resolution }) => ({
    resolution: resolution && { ...resolution, by: 'nobody' },
  })),
  'a payment is leased to whoever asks': misreads('lease', () => ({ lease: undefined })),
  'an alarm is raised at every round': {
    store: (store) => ({
      ...store,
      payments: async (query) =>
        (await store.payments(query)).map(({ overdue: _raised, ...payment }) => payment),
    }),
    ...lying(['markOverdue'], (draft) => ({
      get: (of: Key<'payment'>) => {
        const { overdue: _raised, ...payment } = draft.need(of)
        return payment
      },
    })),
  },
  'a start does not look at the checkpoint': {
    checkpoints: (file) => ({ ...file, last: async () => undefined }),
  },
  'an unfinished close gives nothing back': lying(['close', 'release', 'settle'], (draft) => ({
    standing: (node: never) => {
      const found = draft.standing(node)
      return found.state === 'closed' ? { ...found, state: 'live' } : found
    },
  })),
  'what the rail calls pending is taken for settled': {
    rail: (rail) => ({
      ...rail,
      pay: async (order) => {
        const outcome = await rail.pay(order)
        if (outcome.kind !== 'pending') return outcome
        const { reference } = outcome
        const { amount, currency } = order
        return { kind: 'settled', reference, amount, currency }
      },
    }),
  },
  'what a payer agreed to is taken whatever has been stopped since': lying(
    ['complete'],
    (draft) => ({
      standing: (node: never) => ({ ...draft.standing(node), state: 'live' }),
      need: (of: Key) => {
        const found = draft.need(of)
        return of.doc === 'run' && typeof found === 'object'
          ? { ...found, state: 'running' }
          : found
      },
    }),
  ),
  'an authorisation is placed by whoever asks': lying(
    ['askAuthorisation'],
    forgets('authorisation'),
  ),
  'what was drawn before is not counted': lying(['draw'], (draft) => ({
    get: (of: Key) => {
      const found = draft.get(of)
      return of.doc === 'authorisation' && typeof found === 'object'
        ? { ...found, drawn: 0 }
        : found
    },
  })),
  'what the rail holds is forgotten with its run': {
    store: (store) => ({
      ...store,
      authorisations: async (query) =>
        (await store.authorisations(query)).filter(({ state }) => state === 'placing'),
    }),
  },
  'a policy returns a budget to what was stopped': lying(['refunded'], (draft) => ({
    standing: (node: never) => ({ ...draft.standing(node), state: 'live' }),
    need: (of: Key) => {
      const found = draft.need(of)
      return of.doc === 'run' && typeof found === 'object' ? { ...found, state: 'running' } : found
    },
  })),
}
