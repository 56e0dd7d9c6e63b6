/** Operators with bad timing: they stop and resume, decide holds, end what the rail is silent about, and reuse what came back. */
import type { PaymentId, RunId } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import { nowSeconds } from '../../runtime/core/time.ts'
import type { ResolutionWord } from '../../runtime/gateway/operate.ts'
import type { Paid } from './reference.ts'
import type { World } from './world.ts'

const PEOPLE = ['olga', 'omar', 'oda'] as const

const ACTS = [
  ['freeze', 0.15],
  ['resume', 0.15],
  ['gateway', 0.05],
  ['revoke', 0.03],
  ['close', 0.03],
  ['cancel', 0.02],
  ['resolve', 0.1],
  ['regain', 0.15],
  ['refund', 0.2],
  ['erase', 0.02],
] as const

/** One act, on something that exists, at a moment that nobody chose. */
export async function operate(world: World): Promise<void> {
  const { random, claims } = world
  let luck = random.next()
  const name = ACTS.find(([, chance]) => {
    luck -= chance
    return luck < 0
  })?.[0]
  const node = random.pick([...claims.reference.places.keys()])
  if (name === undefined || node === undefined) return decideHolds(world, random.chance(0.8))
  world.trace(`operator ${name} ${node}`)
  if (name === 'resume') return resumeAll(world)
  if (name === 'resolve') return resolveOne(world, random.pick(unknown(world)))
  if (name === 'regain') return regainOne(world, random.pick(cameBack(world)))
  if (name === 'refund') return refundOne(world, random.pick(settled(world)))
  if (name === 'erase') return eraseOne(world, claims.reference.place(node).run)
  await world.outside(async (gateway) => {
    if (name === 'freeze') {
      // A whole run as often as one of its nodes: there are payments below it.
      const top = random.chance(0.5) ? (claims.reference.place(node).path[0] ?? node) : node
      const acked = await gateway.freeze(top, 'olga')
      if (acked.ok) world.frozen.add(top)
      return acked
    }
    if (name === 'gateway') {
      world.frozen.add('gateway')
      return gateway.freeze('gateway', 'olga')
    }
    if (name === 'cancel') return gateway.cancel(claims.reference.place(node).run, 'olga')
    return name === 'revoke' ? gateway.revoke(node, 'olga') : gateway.close(node, 'olga')
  })
}

/** What nobody may leave as it is: stops are lifted, holds refused, silent payments ended, the returned put to use. */
export async function tidyUp(world: World): Promise<void> {
  const { claims } = world
  await resumeAll(world)
  await decideHolds(world, false)
  for (const paid of unknown(world)) {
    // The alarm is what tells people.
    if (!claims.late.alarms.has(paid.id)) continue
    await resolveOne(world, paid)
    await resolveOne(world, paid)
  }
  for (const paid of cameBack(world)) {
    const [root] = claims.reference.place(paid.node).path
    const isOpen = root !== undefined && claims.reference.place(root).state === 'live'
    if (isOpen) await regainOne(world, paid)
  }
}

async function resumeAll(world: World): Promise<void> {
  for (const node of world.frozen) {
    const resumed = await world.outside((gateway) => gateway.resume(node, 'olga'))
    if (resumed !== undefined) world.frozen.delete(node)
  }
}

async function decideHolds(world: World, isYes: boolean): Promise<void> {
  const open = await world.store.ledger.holds({ states: ['open'], limit: 20 })
  for (const hold of open) {
    if (hold.expiresAtSeconds <= nowSeconds({ nowMs: () => world.wallMs() })) continue
    const decision = { hold: hold.id, digest: hold.digest, by: 'olga' }
    await world.outside((gateway) => (isYes ? gateway.approve(decision) : gateway.refuse(decision)))
  }
}

const payments = (world: World, is: (paid: Paid) => boolean): Paid[] =>
  [...world.claims.reference.payments.values()].filter(is)

const unknown = (world: World) => payments(world, ({ state }) => state === 'unknown')

const settled = (world: World) => payments(world, ({ state }) => state === 'settled')

const cameBack = (world: World) => payments(world, ({ reversed, regained }) => reversed > regained)

/** Some operator's word: mostly what the rail's statement says, sometimes the contrary, sometimes said by the same again. */
async function resolveOne(world: World, paid: Paid | undefined): Promise<void> {
  if (paid === undefined) return
  const { random, claims } = world
  const by = random.pick(PEOPLE) ?? 'olga'
  const result = await world.outside((gateway) => gateway.resolve({ ...wordOf(world, paid), by }))
  if (result?.ok && claims.late.byPeople.has(paid.id)) world.count('resolved')
}

function wordOf(world: World, { id, amount, railKey }: Paid): Omit<ResolutionWord, 'by'> {
  const moved = world.rail.moved(railKey)
  const isRight = !isMistaken(id)
  const isSettled = (moved !== undefined) === isRight
  return {
    payment: id,
    outcome: isSettled ? 'settled' : 'released',
    amount: minor(isSettled ? Math.min(moved ?? amount, amount) : amount),
    evidence: `statement of ${id}`,
  }
}

/** One in eight, and then everybody reads the same wrong line. */
const isMistaken = (id: PaymentId): boolean => id.charCodeAt(id.length - 1) % 8 === 0

async function regainOne(world: World, paid: Paid | undefined): Promise<void> {
  if (paid === undefined) return
  const { id: payment, reversed } = paid
  const word = { payment, reversedAmount: minor(reversed), evidence: 'statement', by: 'olga' }
  const result = await world.outside((gateway) => gateway.regain(word))
  if (result?.ok) world.count('regained')
}

/** A part or all of it, by one of two keys or both at once: so one refund is asked for again, and two meet. */
async function refundOne(world: World, paid: Paid | undefined): Promise<void> {
  if (paid === undefined) return
  const { random } = world
  const amount = random.chance(0.5) ? paid.settled : random.between(1, paid.settled + 1)
  const word = { payment: paid.id, amount: minor(amount), by: random.pick(PEOPLE) ?? 'olga' }
  const keys = random.chance(0.4) ? ['first', 'second'] : [random.pick(['first', 'second']) ?? '']
  await Promise.all(
    keys.map(async (idempotencyKey) => {
      const result = await world.outside((gateway) => gateway.refund({ ...word, idempotencyKey }))
      if (result?.ok && result.refund.state === 'made') world.count('refunded')
    }),
  )
}

/** The log and the books are compared with some runs that nobody can read any more. */
export async function eraseSome(world: World): Promise<void> {
  for (const run of world.runs) if (world.random.chance(0.3)) await eraseOne(world, run)
}

async function eraseOne(world: World, run: RunId): Promise<void> {
  const result = await world.outside((gateway) => gateway.erase(run, 'olga'))
  if (result?.ok) world.count('erased')
}
