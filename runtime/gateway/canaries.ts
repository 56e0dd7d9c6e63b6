/**
 * Whether the monitor is believed. One question in so many is a payment that is known to be bad; the places are drawn by a
 * keyed hash, so they come at a fixed rate and nobody outside can tell which. Of the last ones the monitor has to object to
 * so many; below that it counts as down, and is asked about nothing else until it has caught enough of them again. A
 * monitor that has not caught any yet is not believed either: the first question brings a few along.
 */
import { createHmac } from 'node:crypto'
import { freshId } from '../core/ids.ts'
import type { CanaryTerms, MonitorAnswer, MonitorFacts } from '../core/judges.ts'
import { CANARY_KINDS, canaryPayment } from './canary-payments.ts'

/** Put to it beside the first question of a process. */
const STARTERS = 3

export interface CanaryTotals {
  /** Canaries that it answered: what it did not answer says nothing of its judgement. */
  readonly put: number
  readonly caught: number
  /** Of the last `window`, from 0 to 1; undefined before the first. */
  readonly rate: number | undefined
  readonly believed: boolean
}

export interface Canaries {
  /** The answer to a real question, or why there is none; `below_floor` for one that is not believed. `ask` does not throw. */
  around(real: MonitorFacts, ask: Ask): Promise<MonitorAnswer>
  totals(): CanaryTotals
}

type Ask = (facts: MonitorFacts) => Promise<MonitorAnswer>

const BELOW_FLOOR: MonitorAnswer = { kind: 'unavailable', why: 'below_floor' }

/** `key` decides where canaries stand and which they are. */
export function createCanaries(terms: CanaryTerms, key = terms.key ?? freshId()): Canaries {
  const { every, window, floorPercent } = terms
  const last: boolean[] = []
  let [questions, made, put, caught] = [0, 0, 0, 0]
  let proving: Promise<unknown> | undefined

  const drawn = (what: string, below: number): number =>
    createHmac('sha256', key).update(what).digest().readUInt32BE() % below

  const isDue = (n: number): boolean => drawn(`place ${Math.floor(n / every)}`, every) === n % every

  const tryOne = async (real: MonitorFacts, ask: Ask): Promise<void> => {
    const n = made++
    const kind = kindOf(n, real, drawn)
    const answer = await ask(canaryPayment(kind, real, drawn(`seed ${n}`, 10_007)))
    if (answer.kind === 'unavailable') return
    put += 1
    if (answer.kind === 'object') caught += 1
    last.push(answer.kind === 'object')
    if (last.length > window) last.shift()
  }

  const rate = (): number | undefined =>
    last.length === 0 ? undefined : last.filter((isCaught) => isCaught).length / last.length

  const isBelieved = (): boolean => {
    if (floorPercent === 0) return true
    const share = rate()
    return share !== undefined && share * 100 >= floorPercent
  }

  return {
    async around(real, ask) {
      const n = questions++
      const isDown = last.length > 0 && !isBelieved()
      if (isDown) {
        await tryOne(real, ask)
        return BELOW_FLOOR
      }
      if (last.length === 0) proving ??= prove(real, ask)
      const answers = [ask(real), proving, isDue(n) ? tryOne(real, ask) : undefined] as const
      const [answer] = await Promise.all(answers)
      // No answer needs no belief, and why there is none is what an operator can mend.
      return isBelieved() || answer.kind === 'unavailable' ? answer : BELOW_FLOOR
    },
    totals: () => ({ put, caught, rate: rate(), believed: isBelieved() }),
  }

  async function prove(real: MonitorFacts, ask: Ask): Promise<void> {
    try {
      await Promise.all(Array.from({ length: STARTERS }, () => tryOne(real, ask)))
    } finally {
      proving = undefined
    }
  }
}

/** Every kind in its turn, each round in another order. */
function kindOf(
  n: number,
  { label }: MonitorFacts,
  drawn: (what: string, below: number) => number,
): (typeof CANARY_KINDS)[number] {
  // What a label says can only be wrong where there is one.
  const kinds = CANARY_KINDS.filter((kind) => label !== undefined || kind !== 'another_thing')
  const round = Math.floor(n / kinds.length)
  const order = kinds
    .map((kind) => ({ kind, at: drawn(`order ${round} ${kind}`, 2 ** 31) }))
    .sort((a, b) => a.at - b.at)
  return order[n % kinds.length]?.kind ?? 'dear_piece'
}
