/**
 * What the Firestore store answers: which documents each read needs, all as of one instant. `readFrom` puts the answer
 * together as for every other store.
 */
import type { Firestore } from '@google-cloud/firestore'
import { keys } from './draft.ts'
import type { Place } from './firestore-documents.ts'
import { Gathering } from './firestore-gathering.ts'
import { sourceOf } from './firestore-instant.ts'
import { nameText } from './rail-names.ts'
import type { ReadArgs, ReadName, Rows } from './reads.ts'

/** Gathers the rows of one read. */
export type Gather = <K extends ReadName>(name: K, args: ReadArgs<K>) => Promise<Rows>

export function gatherFrom(db: Firestore, place: Place): Gather {
  return (name, args) => {
    const gather = GATHER[name] as (from: Gathering, ...args: readonly unknown[]) => Promise<Rows>
    return gather(new Gathering(sourceOf(db), place), ...args)
  }
}

type Gatherers = {
  readonly [K in ReadName]: (from: Gathering, ...args: ReadArgs<K>) => Promise<Rows>
}

const GATHER: Gatherers = {
  snapshot: async (from, request) => {
    const { node: id, payment, claim, counters = [], seen } = request
    await from.load([
      keys.node(id),
      keys.account(id),
      keys.standing('gateway'),
      ...(payment ? [keys.payment(payment)] : []),
      ...(claim ? [keys.claim(claim.issuer, claim.jti)] : []),
      ...counters.map(keys.counter),
    ])
    const node = from.value(keys.node(id))
    if (node === undefined) return from.rows({})
    await from.load([
      keys.run(node.run),
      ...(seen ? [keys.sighting(node.run, seen)] : []),
      ...node.path.flatMap((above) => [keys.node(above), keys.standing(above)]),
    ])
    const holds = payment ? await from.holdsOf(payment) : []
    return from.rows({ holdsOf: () => holds })
  },
  run: (from, id) => from.one(keys.run(id)),
  runByMandate: async (from, principal, jti) => {
    await from.load([keys.mandate(principal, jti)])
    const id = from.value(keys.mandate(principal, jti))
    return id === undefined ? from.rows({}) : from.one(keys.run(id))
  },
  runs: async (from, page) => {
    const runs = await from.runs(page)
    return from.rows({ runs: () => runs })
  },
  node: (from, id) => from.one(keys.node(id)),
  account: (from, id) => from.one(keys.account(id)),
  standing: (from, id) => from.one(keys.standing(id)),
  token: (from, id) => from.one(keys.token(id)),
  tree: (from, run) => from.states('run', run),
  children: (from, node) => from.states('parent', node),
  payment: (from, id) => from.one(keys.payment(id)),
  payments: async (from, query) => {
    const payments = await from.payments(query)
    return from.rows({ payments: () => payments })
  },
  refunding: async (from, limit) => {
    const payments = await from.refunding(limit)
    return from.rows({ refunding: () => payments })
  },
  hold: (from, id) => from.one(keys.hold(id)),
  holds: async (from, query) => {
    const holds = await from.holds(query)
    return from.rows({ holds: () => holds })
  },
  step: (from, node, name) => from.one(keys.step(node, name)),
  steps: async (from, node) => {
    const names = await from.steps(node)
    return from.rows({ steps: () => names })
  },
  events: async (from, stream, after, limit) => {
    const events = await from.events(stream, after, limit)
    return from.rows({ events: () => events })
  },
  feed: async (from, run, after, limit) => {
    const entries = await from.feed(run, after, limit)
    return from.rows({ feed: () => entries })
  },
  heads: async (from, of) => {
    const heads = await from.heads(of)
    return from.rows({ heads: () => heads })
  },
  authorisation: (from, id) => from.one(keys.authorisation(id)),
  authorisations: async (from, query) => {
    const authorisations = await from.authorisations(query)
    return from.rows({ authorisations: () => authorisations })
  },
  paymentNamed: async (from, name) => {
    const found = await from.named(nameText(name))
    return from.rows({ named: () => found })
  },
  message: (from, key) => from.one(keys.message(key)),
  parked: async (from, limit) => {
    const parked = await from.parked(limit)
    return from.rows({ parked: () => parked })
  },
  outside: (from, id) => from.one(keys.outside(id)),
  unacknowledged: async (from, limit) => {
    const open = await from.unacknowledged(limit)
    return from.rows({ unacknowledged: () => open })
  },
  walk: (from, rail) => from.one(keys.walk(rail)),
}
