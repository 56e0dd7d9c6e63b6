/** Times, addresses and links in a task: nothing to buy, so they are taken out before it is read. */

const WEEKDAY = '(?:mon|tues|wednes|thurs|fri|satur|sun)day'
const MONTH =
  '(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|apr|jun|jul|aug|sept|sep|oct|nov|dec)'
const DAY = '\\d{1,2}(?:st|nd|rd|th)?'
const WHEN = [
  '\\d{4}-\\d{2}-\\d{2}',
  '\\d{1,2}[/.]\\d{1,2}[/.](?:\\d{4}|\\d{2})',
  `${DAY} (?:of )?${MONTH}(?:,? \\d{4})?`,
  `${MONTH} ${DAY}(?:,? \\d{4})?`,
  `(?:next |this |coming )?${WEEKDAY}(?: morning| afternoon| evening| next week)?`,
  '(?:tomorrow|today|tonight|next week|next month|this week|this month|the weekend)',
  `(?:the )?end of (?:the |this |next )?(?:week|month|year|quarter|day|${MONTH})`,
  '(?:eod|cob|asap|as soon as possible)',
  '\\d{1,2}:\\d{2}(?: ?[ap]\\.?m\\.?)?',
  '\\d{1,2} ?[ap]\\.?m\\.?',
].join('|')
const BEFORE =
  '(?:no later than|not later than|latest by|at the latest by|starting|as of|by|before|until|till|on|from|for|in|at|after)'
const DATE = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${BEFORE} )?(?:the )?(?:${WHEN})(?![\\p{L}\\p{N}])`,
  'giu',
)
const SPAN =
  /(?<![\p{L}\p{N}])(?:within|in) (?:the next )?(?:\d{1,3}|a|one|two|three|four|five|six|seven|ten) (?:working |business )?(?:day|week|month|hour)s?(?: time)?(?![\p{L}\p{N}])/giu
const ADDRESS = /(?:https?:\/\/|www\.)\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+/giu

const clean = (text: string): string =>
  text.replace(ADDRESS, ' ').replace(SPAN, ' ').replace(DATE, ' ')

/** The text without dates, times, links and e-mail addresses; what stands in quotes is left as it is. */
export const withoutDates = (text: string): string =>
  text
    .split(/("[^"\n]*")/)
    .map((part, i) => (i % 2 === 1 ? part : clean(part)))
    .join('')
