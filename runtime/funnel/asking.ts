/**
 * Asking agents: within the run's budgets and its bounds, and with a note of each question that brought no decision.
 * An agent that fails is asked again a few times; what it used up counts, whatever it said.
 */
import { type AnsweredBy, ModelFault, NO_USAGE, type Usage } from '../core/agents.ts'
import { Fault } from '../core/errors.ts'
import { freshId, type NodeId } from '../core/ids.ts'
import { isAgentNamed } from '../core/mandate.ts'
import { nowSeconds } from '../core/time.ts'
import { recordedUses } from '../ledger/model-use.ts'
import { BranchEnded, NoDecision, type Role, type Unanswered, type Walk } from './context.ts'
import { Question, type Spent } from './meter.ts'
import { backOff, unlessAborted } from './steps.ts'

export interface ToAsk<T> {
  /** Whose budget it is, beside the run's, and whose log says what came of it. */
  readonly node: NodeId
  readonly role: Role
  readonly ask: (signal: AbortSignal, question: Question) => Promise<T>
}

/** Throws NoDecision once no try or no budget is left, and BranchEnded where a fault is nothing that a model could mend. */
export async function askAgent<T extends AnsweredBy>(walk: Walk, what: ToAsk<T>): Promise<T> {
  const { mandate, agent } = walk
  const isAnother = agent !== undefined && !isAgentNamed(mandate.agent, agent)
  if (isAnother) throw new BranchEnded('another_agent')
  for (let tried = 1; ; tried += 1) {
    const answer = await askOnce(walk, what)
    if ('answer' in answer) return answer.answer
    const { error } = answer
    const isLast = !error.retryable || tried >= walk.bounds.tries
    if (isLast && error.code === 'model_failed') throw new NoDecision('model_failed')
    if (isLast) throw new BranchEnded(error.code)
    await backOff(walk, tried)
  }
}

/** Where a question that costs something is announced, by number: a step without a word of its own in the log. */
const ASKING = 'asking-'

/**
 * What was used before this process took the run up: what the log says, and a call for each question that a process
 * announced and then died over.
 */
export async function recallUse(walk: Walk): Promise<void> {
  const { ledger, run, meter } = walk
  const noted = new Map<NodeId, Usage[]>()
  for await (const { stream, use } of recordedUses(ledger, run.id)) {
    if (stream !== 'gateway') noted.set(stream, [...(noted.get(stream) ?? []), use])
  }
  const announced = new Map<NodeId, readonly number[]>()
  for (const { stream } of isPaid(walk) ? await ledger.heads(run.id) : []) {
    if (stream === 'gateway') continue
    const names = (await ledger.steps(stream)).filter((name) => name.startsWith(ASKING))
    announced.set(
      stream,
      names.map((name) => Number(name.slice(ASKING.length))),
    )
  }
  for (const [node, uses] of noted) for (const usage of uses) meter.recall(node, usage)
  for (const [node, numbers] of announced) {
    const answered = (noted.get(node) ?? []).filter(({ calls }) => calls > 0).length
    meter.recall(node, { ...NO_USAGE, calls: Math.max(0, numbers.length - answered) })
    meter.number(node, Math.max(0, ...numbers))
  }
}

const isPaid = ({ fallback }: Walk): boolean => fallback !== undefined

/** Before a question that costs something, so that a process that dies over each one is bounded as well. */
async function announce(walk: Walk, node: NodeId, question: Question): Promise<void> {
  if (!isPaid(walk)) return
  const name = `${ASKING}${walk.meter.number(node)}`
  try {
    const step = { node, name, value: null, now: nowSeconds(walk.clock) }
    const saved = await walk.ledger.execute('saveStep', step)
    if (!saved.ok) throw new BranchEnded(saved.code)
  } catch (error) {
    question.drop()
    throw error
  }
}

async function askOnce<T extends AnsweredBy>(
  walk: Walk,
  { node, role, ask }: ToAsk<T>,
): Promise<{ readonly answer: T } | { readonly error: Fault }> {
  const spent = walk.meter.admit(node)
  if (spent !== undefined) throw new NoDecision(spent)
  const question = new Question(walk.meter, node, refuseMore)
  await announce(walk, node, question)
  const late = new AbortController()
  const { modelMs, lookMs } = walk.bounds
  const callOff = walk.timers.after(role === 'looker' ? lookMs : modelMs, () => late.abort())
  const deadline = AbortSignal.any([walk.signal, late.signal])
  try {
    const answer = await unlessAborted(ask(deadline, question), deadline)
    const usage = question.end(answer.usage)
    walk.onAsked?.({ role, usage })
    return { answer: { ...answer, usage } }
  } catch (caught) {
    const error = deadline.aborted ? tooLate() : caught
    const usage = question.end(error instanceof ModelFault ? error.usage : NO_USAGE)
    walk.signal.throwIfAborted()
    const model = error instanceof ModelFault ? error.model : undefined
    const failed = { node, role, usage, model }
    if (error instanceof Fault) {
      if (!(error instanceof NotAdmitted)) walk.onFault?.(error)
      await unanswered(walk, { ...failed, failure: failureOf(error) })
      if (error instanceof NotAdmitted) throw new NoDecision(error.spent)
      return { error }
    }
    if (question.isAsked) await unanswered(walk, { ...failed, failure: 'interrupted' })
    throw error
  } finally {
    callOff()
  }
}

/** A further call within one question that no budget has room for. An agent may make of it what it likes. */
class NotAdmitted extends ModelFault {
  readonly spent: Spent

  constructor(spent: Spent) {
    super('quota', 'no budget has room for another call', { retryable: false })
    this.spent = spent
  }
}

function refuseMore(spent: Spent): never {
  throw new NotAdmitted(spent)
}

const tooLate = () => new ModelFault('late', 'an agent gave no answer in time')

const failureOf = (error: Fault): Unanswered => {
  if (error instanceof ModelFault) return error.failure
  // An answer of the right shape was what we asked for.
  return error.code === 'model_failed' ? 'malformed' : error.code
}

export interface NotAnswered {
  readonly node: NodeId
  readonly role: Role
  readonly failure: Unanswered
  readonly usage: Usage
  readonly model?: string | undefined
}

/** Writes down that there was no decision: with a closed word, and nothing of what a provider said. */
export async function unanswered(walk: Walk, what: NotAnswered): Promise<void> {
  const { node, role, failure, usage, model } = what
  walk.onAsked?.({ role, usage, failure })
  const noted = await walk.ledger.execute('note', {
    stream: node,
    type: 'unanswered',
    // The same failure again in the same second is another one.
    data: { role, failure, attempt: freshId(), ...usageNote({ usage, model }) },
    now: nowSeconds(walk.clock),
  })
  if (!noted.ok) throw new Fault('internal', `a note was refused: ${noted.code}`)
}

/** How an answer of a model stands in the log. */
export const usageNote = (by: {
  readonly usage: Usage
  readonly model?: string | undefined
  readonly prompt?: string | undefined
}) => ({
  ...(by.model === undefined ? {} : { model: by.model }),
  ...(by.prompt === undefined ? {} : { prompt: by.prompt }),
  calls: by.usage.calls,
  inputTokens: by.usage.inputTokens,
  outputTokens: by.usage.outputTokens,
  costMicros: by.usage.costMicros,
})
