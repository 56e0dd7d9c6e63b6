/**
 * The first answer to a question about a payment stands. A yes or a no is written down before it is acted on, and whoever
 * asks the same again finds it, after a restart and from two attempts at once: asking again is never another throw of
 * the dice. No answer is not written down and may be asked for again.
 */
import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import { type Digest, type NodeId, sha256 } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import {
  CONCERNS,
  type Concern,
  type Monitor,
  type MonitorAnswer,
  type MonitorFacts,
} from '../core/judges.ts'
import { nowSeconds } from '../core/time.ts'
import type { Gate } from './gate.ts'
import { unexpected } from './unexpected.ts'

export interface Question {
  readonly facts: MonitorFacts
  /** Over everything that the monitor is told, who it is, how it is asked, and the rules in force. */
  readonly whole: Digest
  /** The same without counts of other payments, which whoever makes payments can change. */
  readonly subject: Digest
}

const NO_COUNTS = { payeeCount: 0, hourCount: 0, duplicateCount: 0 } as const

export function questionOf(gate: Gate, monitor: Monitor, facts: MonitorFacts): Question {
  const digestOf = (told: MonitorFacts): Digest =>
    sha256(
      canonicalJson({
        told: monitor.told === undefined ? { ...told } : monitor.told(told),
        by: monitor.identity ?? null,
        policy: gate.policy.version,
      }),
    )
  return { facts, whole: digestOf(facts), subject: digestOf({ ...facts, ...NO_COUNTS }) }
}

export interface Places {
  readonly leaf: NodeId
  /** Where objections of the whole run stand. */
  readonly root: NodeId
}

const ANSWER = 'monitor-answer-'
const OBJECTION = 'monitor-objection-'

const firstSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('allow') }),
  z.strictObject({
    kind: z.literal('object'),
    concerns: z.array(z.enum(CONCERNS)).readonly().exactOptional(),
  }),
])
type First = z.output<typeof firstSchema>

/** A yes is for exactly what was told; a no is for the payment, in this run, by whichever leaf and quote it comes again. */
export async function standingAnswer(
  gate: Gate,
  places: Places,
  question: Question,
): Promise<First | undefined> {
  const [answer, objection] = await Promise.all([
    gate.ledger.step(places.leaf, ANSWER + question.whole),
    objectionOf(gate, places, question),
  ])
  if (objection !== undefined || answer === undefined) return objection
  const first = readFirst(answer)
  // A process may have died between the two writes.
  await keepForAll(gate, places, question, first)
  return first
}

async function objectionOf(
  { ledger }: Gate,
  { root }: Places,
  { subject }: Question,
): Promise<First | undefined> {
  const objection = await ledger.step(root, OBJECTION + subject)
  return objection === undefined ? undefined : readFirst(objection)
}

/** An objection to the payment itself is the whole run's. */
async function keepForAll(
  { ledger, clock }: Gate,
  { root }: Places,
  { subject }: Question,
  first: First,
): Promise<void> {
  if (first.kind !== 'object' || isOfCounts(first.concerns)) return
  const step = { node: root, name: OBJECTION + subject, value: first, now: nowSeconds(clock) }
  const kept = await ledger.execute('saveStep', step)
  if (!kept.ok) throw unexpected('saveStep', kept.code)
}

function readFirst(value: unknown): First {
  const read = firstSchema.safeParse(value)
  if (!read.success)
    throw new Fault('ledger_corrupt', 'a monitor’s answer is not as it was written')
  return read.data
}

interface Answered {
  readonly question: Question
  readonly answer: Exclude<MonitorAnswer, { kind: 'unavailable' }>
  readonly monitor: Monitor
}

/** Written before it is acted on; what was there before wins. */
export async function firstAnswer(
  gate: Gate,
  places: Places,
  { question, answer, monitor }: Answered,
): Promise<MonitorAnswer> {
  const { concerns } = answer.kind === 'object' ? answer : {}
  const value: First =
    answer.kind === 'allow'
      ? { kind: 'allow' }
      : { kind: 'object', ...(concerns === undefined ? {} : { concerns }) }
  const { identity } = monitor
  const data = {
    verdict: answer.kind,
    concerns: concerns ?? [],
    question: question.whole,
    ...(identity === undefined ? {} : { ...identity }),
    ...(answer.usage === undefined ? {} : { ...answer.usage }),
  }
  const now = nowSeconds(gate.clock)
  const name = ANSWER + question.whole
  const saved = await gate.ledger.execute('saveStep', {
    ...{ node: places.leaf, name, value, now },
    note: { type: 'judged', data },
  })
  if (!saved.ok) throw unexpected('saveStep', saved.code)
  const first = readFirst(saved.value)
  await keepForAll(gate, places, question, first)
  // Another leaf's no may have come while this one was asked.
  return first.kind === 'object' ? first : ((await objectionOf(gate, places, question)) ?? first)
}

/** An objection to how often alone is about the counts of that moment. */
const isOfCounts = (concerns: readonly Concern[] | undefined): boolean =>
  concerns !== undefined && concerns.length > 0 && concerns.every((one) => one === 'repeated')
