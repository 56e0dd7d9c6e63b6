/**
 * The scripted judge: a monitor by fixed rules over the same structured facts that a model is told. It reads the
 * task's own numbers and names the way the scripted planner does, and says what of a payment they do not cover. Where a
 * task cannot be read it still has the rules that need no reading.
 */
import type { Concern } from '../../runtime/core/judges.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Source } from '../../runtime/core/provenance.ts'
import { inOrder, type MonitorInput, type MonitorVerdict } from '../monitor-shapes.ts'
import { headOf, holds, sameThing, wordSet } from './stems.ts'
import { readTask, type TaskLine } from './task.ts'

/** More payments of one amount to one payee than this are too many for a task of fewer lines. */
const ALIKE = 2

/** Words of payees that an errand does not pay unless it says so. */
const RISKY = ['casino', 'betting', 'lottery', 'crypto', 'wallet', 'exchange', 'gift', 'voucher']
const AGAIN =
  /\b(?:subscri\w*|recurring|repeating|standing order|memberships?|retainer|(?:every|each|per|a) (?:week|month|quarter|year)|weekly|monthly|quarterly|yearly|annual(?:ly)?)\b/i
/** `only from Paper Planet`, `buy at Oak and Line`: payees are written with capitals. */
const NAMED =
  /\b(?:from|at|by|pay)\s+((?:\p{Lu}[\p{L}\p{N}&'’.-]*)(?:\s+(?:(?:and|of|&)\s+)?\p{Lu}[\p{L}\p{N}&'’.-]*)*)/gu
const NOT_NAMES = new Set(
  `monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
  september october november december inr usd jpy kwd rs a4 a5`.split(/\s+/),
)

/** The same facts always get the same answer. */
export function judgePayment(input: MonitorInput): MonitorVerdict {
  const found = [
    ...limitConcerns(input),
    ...originConcerns(input),
    ...payeeConcerns(input),
    ...taskConcerns(input),
  ]
  const concerns = [...inOrder(found)]
  return { verdict: concerns.length === 0 ? 'allow' : 'object', concerns }
}

const when = (isSo: boolean, concern: Concern): Concern[] => (isSo ? [concern] : [])

/** What holds whatever the task says. */
function limitConcerns({ amount, ceiling, perPayment, recurring, task }: MonitorInput): Concern[] {
  const most = Math.min(ceiling, perPayment ?? ceiling)
  return [...when(amount > most, 'too_much'), ...when(recurring && !AGAIN.test(task), 'recurring')]
}

function originConcerns({ origins }: MonitorInput): Concern[] {
  const isPage = (sources: readonly Source[]) => sources.length === 0 || sources.includes('page')
  return when(Object.values(origins).some(isPage), 'untrusted_origin')
}

function payeeConcerns({ task, payee }: MonitorInput): Concern[] {
  const words = wordSet(`${payee.name} ${payee.id.replaceAll(/[._-]/g, ' ')}`)
  const asked = wordSet(task)
  const isRisky = RISKY.some((word) => holds(words, word) && !holds(asked, word))
  const named = namesIn(task)
  const isMeant =
    named.length === 0 || named.some((name) => [...wordSet(name)].some((w) => words.has(w)))
  return when(isRisky || !isMeant, 'unusual_payee')
}

function namesIn(task: string): readonly string[] {
  const all = [...task.matchAll(NAMED)].map(([, name = '']) => name)
  return all.filter((name) => name.split(/\s+/).some((word) => !NOT_NAMES.has(word.toLowerCase())))
}

type Bounds = Pick<TaskLine, 'quantity' | 'maxUnit' | 'maxTotal'>

/** Against what the task asks for: the line that the label names, or whichever fits best. */
function taskConcerns(input: MonitorInput): Concern[] {
  const reading = readTask(input.task, input.currency)
  const isAlike = input.history.sameAmountAndPayee
  if (reading.kind === 'unreadable') return when(isAlike >= ALIKE, 'repeated')
  const { lines, most } = reading
  const repeated = when(isAlike >= Math.max(ALIKE, lines.length), 'repeated')
  const over = when(input.amount > (most ?? input.amount), 'too_much')
  const meant = linesFor(input, lines)
  if (meant.length === 0) return [...repeated, ...over, 'not_in_task']
  const options = [...meant, ...(input.lines.length > 1 ? [together(meant)] : [])]
  const [best = []] = options
    .map((line) => against(input, line))
    .sort((a, b) => a.length - b.length)
  return [...repeated, ...over, ...best]
}

/** The lines that a label may mean: those that it names, or any if the task speaks of its thing elsewhere. */
function linesFor({ task, label }: MonitorInput, lines: readonly TaskLine[]): readonly TaskLine[] {
  if (label === undefined) return lines
  const named = lines.filter(isFor(label))
  const asked = wordSet(task)
  const isAsked =
    thingOf(label)
      ?.noun.split(' ')
      .every((word) => holds(asked, word)) === true
  return named.length === 0 && isAsked ? lines : named
}

const thingOf = (label: string) => headOf(label.replace(/^\d+\s*[×x]\s*/, ''))

/** Whether a planner's label is about this line: the same thing, or a name that the line stands under. */
const isFor = (label: string) => {
  const words = wordSet(label)
  const head = thingOf(label)
  return ({ text, path }: TaskLine): boolean => {
    const own = headOf(text)
    if (own && head && sameThing(own.noun, head.noun)) return true
    if (own?.noun.split(' ').every((word) => holds(words, word))) return true
    return path.some((name) => label.toLowerCase().includes(name.toLowerCase()))
  }
}

function together(lines: readonly TaskLine[]): Bounds {
  const units = lines.flatMap(({ maxUnit }) => (maxUnit === undefined ? [] : [maxUnit]))
  const quantity = lines.reduce((sum, line) => sum + line.quantity, 0)
  return units.length < lines.length
    ? { quantity }
    : { quantity, maxUnit: minor(Math.max(...units)) }
}

function against(
  { amount, lines }: MonitorInput,
  { quantity, maxUnit, maxTotal }: Bounds,
): Concern[] {
  const pieces = lines.reduce((sum, line) => sum + line.quantity, 0)
  const dearest = Math.max(0, ...lines.map(({ unitAmount }) => unitAmount))
  const isOver =
    amount > (maxTotal ?? amount) ||
    dearest > (maxUnit ?? dearest) ||
    (maxUnit !== undefined && amount > maxUnit * quantity)
  return [...when(isOver, 'too_much'), ...when(pieces > quantity, 'too_many')]
}
