/**
 * What a task may ask for and nobody here does: moving money, doing without a person’s approval, setting a limit aside. None
 * of it could happen anyway. It is refused in a sentence, because a task that asks for it wants something else than it would
 * get, and because half of such a sentence would be read as the name of a thing. Words in quotes are names and ask for nothing.
 */
import { plainText } from './tokens.ts'

interface Forbidden {
  readonly asks: readonly RegExp[]
  readonly sentence: string
}

const words = (text: string): string => text.trim().split(/\s+/).join('|')

const MOVE = words('send transfer wire remit pay refund move give deposit withdraw')
const MONEY =
  '(?:money|funds|cash)\\b(?! (?:box|boxes|register|registers|drawer|drawers|bag|bags|book|books|on delivery))'
const UNITS = words('rupees rs inr usd dollars bucks yen jpy dinars kwd eur euros k lakh')
/** `500`, `$5`, `5 dollars`, `INR 5`; a bare `5` may be of anything. */
const SUM = `(?:(?:${UNITS})\\.? ?\\d[\\d.,]*|[$₹¥€£] ?\\d[\\d.,]*|\\d[\\d.,]* ?(?:${UNITS})\\b|\\d[\\d.,]{2,})`
const PERSON = '(?:me|myself|us|him|her|them|(?:my|our) [a-z]+)'
const LIMIT = words(
  'limit limits ceiling ceilings budget budgets mandate mandates rule rules policy policies checks instructions approval approvals restrictions',
)

/** Some words of the same sentence, and no more of them than make one thought. */
const near = (most: number): string => `[^.;!?\\n]{0,${most}}?`

const any = (...sources: readonly string[]): readonly RegExp[] =>
  sources.map((source) => new RegExp(source, 'gim'))

const FORBIDDEN: readonly Forbidden[] = [
  {
    asks: any(
      `\\b(?:${MOVE})\\b${near(40)}\\b${MONEY}`,
      `\\b(?:${MOVE}) (?:all |about )?${SUM} (?:to|into|in cash)\\b`,
      `\\bpay ${PERSON} ${near(20)}\\d`,
    ),
    sentence:
      'the task asks to move money, and only what shops sell can be bought: take that part out',
  },
  {
    asks: any(
      `\\bapprov(?:e|es|ing)\\b${near(30)}\\b(?:yourself|your own|automatically)\\b`,
      `(?:^|[.;:,!?\\n] ?|\\b(?:and|then|also|please|may|can|to) )approve\\b${near(15)}\\b(?:payments?|purchases?|holds?)\\b`,
      `\\b(?:nobody|no one|nothing)\\b${near(30)}\\bapprov(?:e|es|ed|al)\\b`,
      `\\b(?:skip|bypass|avoid|evade|without)(?:ping|ing)?\\b${near(20)}\\b(?:approvals?|being approved|asking)\\b`,
    ),
    sentence:
      'the task asks for payments that no person approves, and that is not a task’s to say: take that part out',
  },
  {
    asks: any(
      `\\b(?:ignore|disregard|bypass|override|circumvent|evade|exceed|forget)\\b${near(25)}\\b(?:${LIMIT})\\b`,
      `\\bgo (?:over|past|beyond)\\b${near(15)}\\b(?:${LIMIT})\\b`,
    ),
    sentence:
      'the task asks to set a limit aside, and limits are in the mandate: take that part out, or sign a mandate with another',
  },
]

/** `do not exceed the budget` asks for the opposite. */
const NEGATED = /(?:\b(?:not|never|no|nor|without|cannot)|n't)(?: [a-z]+){0,3} $/i

/** A sentence for the task’s author; undefined for a task that asks for purchases only. */
export function forbiddenIn(task: string): string | undefined {
  const said = plainText(task)
    .replace(/"[^"\n]*"/g, '""')
    .replace(/[ \t]+/g, ' ')
  const isAsked = (pattern: RegExp) =>
    [...said.matchAll(pattern)].some(
      ({ index }) => !NEGATED.test(said.slice(Math.max(0, index - 60), index)),
    )
  return FORBIDDEN.find(({ asks }) => asks.some(isAsked))?.sentence
}
