/**
 * What models have used of a run's budgets, and whether they may be asked once more. A call counts from before it is
 * made, and as long as it is under way it is taken to use as much as the largest one so far: of two at the same time
 * only one is the last.
 */
import {
  addUsage,
  type Budget,
  type Budgets,
  type Meter,
  NO_USAGE,
  type Usage,
} from '../core/agents.ts'
import type { NodeId } from '../core/ids.ts'

/** The word for a budget that is used up, as a branch ends with it. */
export type Spent = 'model_calls' | 'model_tokens' | 'model_cost'

/** Where nobody says otherwise; the same stands in the configuration. */
export const BUDGETS: Budgets = {
  run: { calls: 2_000, tokens: 5_000_000, costMicros: 5_000_000 },
  node: { calls: 200, tokens: 1_000_000, costMicros: 1_000_000 },
}

interface Tally {
  calls: number
  tokens: number
  costMicros: number
  /** Calls under way. */
  open: number
}

const noTally = (): Tally => ({ calls: 0, tokens: 0, costMicros: 0, open: 0 })

export class RunMeter {
  readonly #budgets: Budgets
  readonly #run = noTally()
  readonly #nodes = new Map<NodeId, Tally>()
  readonly #numbers = new Map<NodeId, number>()
  readonly #largest = { tokens: 0, costMicros: 0 }

  constructor(budgets: Budgets = BUDGETS) {
    this.#budgets = budgets
  }

  /** What was used before this process: what the log says of it. */
  recall(node: NodeId, usage: Usage): void {
    for (const tally of this.#of(node)) add(tally, usage)
    this.#measure(usage)
  }

  /** The budget that has no room for another call of this node; undefined where one was admitted, and counts now. */
  admit(node: NodeId): Spent | undefined {
    const [run, own] = this.#of(node)
    const spent = this.#spentOf(run, this.#budgets.run) ?? this.#spentOf(own, this.#budgets.node)
    if (spent !== undefined) return spent
    for (const tally of [run, own]) {
      tally.calls += 1
      tally.open += 1
    }
    return undefined
  }

  /** Ends `admitted` calls, which have used this much. */
  settle(node: NodeId, admitted: number, usage: Usage): void {
    for (const tally of this.#of(node)) {
      tally.open -= admitted
      tally.calls -= admitted
      add(tally, usage)
    }
    this.#measure(usage)
  }

  /** The number of a node's next question, or the highest that there was before this process. */
  number(node: NodeId, is = (this.#numbers.get(node) ?? 0) + 1): number {
    this.#numbers.set(node, is)
    return is
  }

  #of(node: NodeId): readonly [Tally, Tally] {
    const own = this.#nodes.get(node) ?? noTally()
    this.#nodes.set(node, own)
    return [this.#run, own]
  }

  #spentOf({ calls, tokens, costMicros, open }: Tally, budget: Budget): Spent | undefined {
    const largest = this.#largest
    if (calls >= budget.calls) return 'model_calls'
    if (tokens + open * largest.tokens >= budget.tokens) return 'model_tokens'
    if (costMicros + open * largest.costMicros >= budget.costMicros) return 'model_cost'
    return undefined
  }

  #measure({ calls, inputTokens, outputTokens, costMicros }: Usage): void {
    const each = (sum: number) => Math.ceil(sum / Math.max(1, calls))
    this.#largest.tokens = Math.max(this.#largest.tokens, each(inputTokens + outputTokens))
    this.#largest.costMicros = Math.max(this.#largest.costMicros, each(costMicros))
  }
}

function add(tally: Tally, { calls, inputTokens, outputTokens, costMicros }: Usage): void {
  tally.calls += calls
  tally.tokens += inputTokens + outputTokens
  tally.costMicros += costMicros
}

const whole = (value: number): number =>
  Number.isFinite(value) ? Math.max(0, Math.ceil(value)) : 0

/** An agent's own word on what it used, as numbers that can be added up; a question is at least one call. */
const counted = (usage: Usage): Usage => ({
  calls: Math.max(1, whole(usage.calls)),
  inputTokens: whole(usage.inputTokens),
  outputTokens: whole(usage.outputTokens),
  costMicros: whole(usage.costMicros),
})

/** One question to an agent: its first call is admitted already; further ones are asked for through `meter`. */
export class Question {
  readonly meter: Meter
  readonly #budget: RunMeter
  readonly #node: NodeId
  #asked = 0
  #open = 1
  #told: Usage = NO_USAGE

  /** `refuse` throws for a further call that a budget has no room for. */
  constructor(budget: RunMeter, node: NodeId, refuse: (spent: Spent) => never) {
    this.#budget = budget
    this.#node = node
    this.meter = {
      before: () => {
        this.#asked += 1
        if (this.#asked === 1) return
        const spent = budget.admit(node)
        if (spent !== undefined) refuse(spent)
        this.#open += 1
      },
      after: (usage) => {
        const used = counted(usage)
        this.#told = addUsage(this.#told, used)
        const ended = Math.min(1, this.#open)
        this.#open -= ended
        budget.settle(node, ended, used)
      },
    }
  }

  /** Whether a call is known to have been made. */
  get isAsked(): boolean {
    return this.#asked > 0
  }

  /** It is not asked after all. */
  drop(): void {
    this.#budget.settle(this.#node, this.#open, NO_USAGE)
    this.#open = 0
  }

  /** What the question used, all in all: what was told call by call, or its end's word where that is more. */
  end(said: Usage): Usage {
    const told = this.#told
    const word = counted(said)
    const used: Usage = {
      calls: Math.max(told.calls, word.calls),
      inputTokens: Math.max(told.inputTokens, word.inputTokens),
      outputTokens: Math.max(told.outputTokens, word.outputTokens),
      costMicros: Math.max(told.costMicros, word.costMicros),
    }
    this.#budget.settle(this.#node, this.#open, {
      calls: used.calls - told.calls,
      inputTokens: used.inputTokens - told.inputTokens,
      outputTokens: used.outputTokens - told.outputTokens,
      costMicros: used.costMicros - told.costMicros,
    })
    this.#open = 0
    return used
  }
}
