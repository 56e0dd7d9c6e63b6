/** The words around a wish: `please`, `we also need to buy`, `do not order`; what is left is the thing itself. */
import { phraseAt, phrases } from './phrases.ts'
import type { Token } from './tokens.ts'

const FILLERS = phrases(
  `please, also, and, then, so, well, ok, okay, kindly, first, next, finally, lastly, additionally, in addition, further, furthermore,
  plus, as well as, along with, together with, besides that, besides, moreover, but, oh, hi, hello, hi all, hi team, hello team,
  hello there, hi there, dear team, hey, to start, for now, as usual, maybe, perhaps, if you can, can you, could you, would you,
  can we, could we, shall we, let us, let's, the following, the following things, the following items, these, following, us, me,
  for us, for me, we are moving and, in total`,
)
const SUBJECTS = phrases(
  "we, i, you, they, it, us, we'd, i'd, we'll, i'll, we're, i'm, you'll, everyone, everybody, the team, our team, the office, our office, the company, the kitchen, the new office, the room, there",
)
const AUXILIARIES = phrases(
  "also, will, would, 'd, should, could, can, must, still, really, now, do, are, am, have, going, be, is, has, just, then, urgently, all",
)
const VERBS = phrases(
  `need, needs, needed, want, wants, require, requires, required, would like, like, buy, order, get, purchase, procure, source, find, look for,
  looking for, pick up, add, include, including, restock, stock up on, stock, bring, provide, supply, grab, fetch, acquire, wanted, shop for,
  get hold of, need some more, is missing, are missing, missing, short of, running out of, out of, run out of`,
)
const AFTER_VERB = phrases('us, me, them, everyone, for us, for me, also, as well')
const TO_VERB = phrases(
  'to buy, to order, to get, to purchase, to procure, to source, to have, to find, to add, to pick up, to acquire, to replace',
)
const NEGATIONS = phrases(
  `no, not, do not, don't, dont, never, skip, exclude, excluding, except, except for, avoid, leave out, nothing like, no need for, no more,
  we don't need, we do not need, we don't want, we do not want, not any, neither, nor, please no, drop, omit, no new, no longer need,
  need no, we need no, want no, we want no`,
)
const NEGATED_VERBS = phrases(
  'buy, order, get, purchase, need, want, include, add, procure, bring, send, require',
)
const NEGATED_ARTICLES = phrases('any, any more, any new, the, a, an, more, us any, us')

export interface Lead {
  readonly next: number
  /** A verb of buying was there, so what follows is wanted. */
  readonly isAsked: boolean
  readonly isNegated: boolean
  /** It reads like a sentence about somebody doing something else. */
  readonly hasSubject: boolean
}

/** Fillers in a row: nobody says more of them before a thing. */
const MOST_FILLERS = 12

function pass(tokens: readonly Token[], at: number, list: readonly (readonly string[])[]): number {
  let next = at
  for (let i = 0; i < MOST_FILLERS; i += 1) {
    const found = phraseAt(tokens, next, list)
    if (found === undefined) return next
    next = found
  }
  return next
}

/** Everything at `at` that leads in to a thing. */
export function leadAt(tokens: readonly Token[], at: number): Lead {
  const start = pass(tokens, at, FILLERS)
  const negated = negationAt(tokens, start)
  if (negated !== undefined) {
    return { next: negated, isAsked: false, isNegated: true, hasSubject: false }
  }
  const subject = phraseAt(tokens, start, SUBJECTS)
  const before = pass(tokens, subject ?? start, AUXILIARIES)
  const verb = phraseAt(tokens, subject === undefined ? start : before, VERBS)
  if (verb === undefined) {
    const late = subject === undefined ? undefined : negationAt(tokens, before)
    const isNegated = late !== undefined
    const next = late ?? start
    return { next, isAsked: false, isNegated, hasSubject: subject !== undefined && !isNegated }
  }
  return afterVerb(tokens, verb)
}

function afterVerb(tokens: readonly Token[], verb: number): Lead {
  const next = pass(tokens, verb, AFTER_VERB)
  const toVerb = phraseAt(tokens, next, TO_VERB)
  const isOther = toVerb === undefined && tokens[next]?.low === 'to'
  const inner = negationAt(tokens, toVerb ?? next)
  if (inner !== undefined && tokens[toVerb ?? next]?.low === 'no') {
    return { next: inner, isAsked: false, isNegated: true, hasSubject: false }
  }
  const done = pass(tokens, toVerb ?? next, FILLERS)
  return { next: done, isAsked: !isOther, isNegated: false, hasSubject: isOther }
}

/** Past `do not buy any`, or undefined. `no more than` was read as a limit before this is asked. */
export function negationAt(tokens: readonly Token[], at: number): number | undefined {
  const negation = phraseAt(tokens, at, NEGATIONS)
  if (negation === undefined) return undefined
  const verb = phraseAt(tokens, negation, NEGATED_VERBS) ?? negation
  return phraseAt(tokens, verb, NEGATED_ARTICLES) ?? verb
}

const FINITE = new Set(
  "is are was were has have had will would might must could does did am isn't aren't won't doesn't moved".split(
    ' ',
  ),
)
const NOISE = [
  /^(?:hi|hello|hey|dear|thanks|thank|regards|cheers|sincerely|greetings)\b/,
  /^(?:good (?:morning|afternoon|evening|day)|best (?:regards|wishes)|kind regards|many thanks)\b/,
  /^(?:ship|deliver|delivery|send|call|contact|remember|ensure|see you|let me|let us|make sure|looking forward)\b/,
  /^(?:this|that|these|those|there|here|everything|anything|nothing|all|it|he|she|they|we|i|you|if|because|since|when|while|as)\b/,
  /^(?:note|notes|ps|p\.s|fyi|deadline|urgent|asap|attached|subject|rush|hurry|worries|need|later|problem|invoice|questions?)$/,
  /^(?:note that|please note|no rush|no hurry|not urgent|per our|as discussed|as agreed|kindly)\b/,
  /^(?:our|my|the) (?:office|team|company|address|budget|deadline|new office|move|floor)\b/,
  /^(?:shopping list|list|order|purchase order|requirements|items?|things|stuff|quantity|qty|price|description|product|name)$/,
  /\b(?:quotes|quotations|people|persons|employees|colleagues|guests|visitors|floors|days|weeks|months|years)$/,
  /^(?:any|whatever|either)\b/,
  /^(?:office|kitchen|it|team|weekly|monthly)? ?(?:shopping list|order list|wish list|wishlist|supplies list)$/,
  /^(?:one|two|\d+) (?:of us|people)\b/,
]

/** Words that name nothing to buy: greetings, dates, sentences about something else. */
export function isNoise(words: readonly Token[]): boolean {
  if (words.length === 0) return true
  if (words.some((word) => word.kind === 'quoted')) return false
  const text = words.map((word) => word.low).join(' ')
  if (!/\p{L}/u.test(text)) return true
  return words.some((word) => FINITE.has(word.low)) || NOISE.some((pattern) => pattern.test(text))
}
