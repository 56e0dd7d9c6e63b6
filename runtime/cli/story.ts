/** Facts of a feed as sentences for people, with the labels that events themselves do not hold. */
import { type LedgerEvent, parseEvent } from '../core/events.ts'
import { formatMoney } from '../core/money.ts'
import type { RunState } from '../core/records.ts'
import type { Fact, RunDetail } from '../core/wire.ts'
import { type Io, shown, type Tone, tint } from './io.ts'

type Style = Pick<Io, 'colour'>

/** One line about a fact, or nothing where a person would learn nothing. */
export function storyLine(style: Style, fact: Fact, detail: RunDetail): string | undefined {
  const event = parseEvent(fact.body)
  const told = tell(event, detail)
  if (told === undefined) return undefined
  const [tone, mark, text] = told
  return `${tint(style, tone, `${mark} ${text[0]}`)} ${text.slice(1).join(' ')}`.trimEnd()
}

/** How a run ended, as a sentence. */
export const endedText = (state: RunState): string =>
  `the run ${state === 'cancelled' ? 'was cancelled' : state}`

type Told = readonly [Tone, string, readonly string[]]

function tell(event: LedgerEvent, { run, nodes }: RunDetail): Told | undefined {
  const money = (amount: number) => formatMoney(amount, run.currency)
  const labelOf = (id: string) => {
    const node = nodes.find((each) => each.id === id)
    return node === undefined ? id : `“${shown(node.label, 60)}”`
  }
  const here = labelOf(event.stream)
  switch (event.type) {
    case 'run_created':
      return ['good', '●', ['run', `${run.id}, at most ${money(event.data.ceiling)}`]]
    case 'opened':
      if (event.data.kind !== 'planner' || event.data.parent === undefined) return undefined
      return ['good', '├', ['branch', here, `may spend ${money(event.data.ceiling)}`]]
    case 'settled':
      return ['good', '✓', ['paid', money(event.data.amount), `for ${here}`]]
    case 'held':
      return [
        'held',
        '◆',
        ['held', here, `waits for a person: ${event.data.code} (${event.data.hold})`],
      ]
    case 'approved':
      return ['good', '✓', ['approved', here, `by ${event.data.by}`]]
    case 'hold_refused':
      return ['refused', '✗', ['refused', here, `by ${event.data.by}`]]
    case 'refused':
      return ['refused', '✗', ['refused', here, `by check: ${event.data.code}`]]
    case 'released':
      return [
        'idle',
        '⊘',
        ['released', money(event.data.amount), `of ${here}: ${event.data.reason}`],
      ]
    case 'unknown':
      if (event.data.reason.startsWith('awaits_')) {
        return ['held', '…', ['on its way', `the rail has the payment for ${here}`]]
      }
      return ['held', '?', ['unknown', `what became of the payment for ${here}`]]
    case 'rail_word':
      if (event.data.awaits !== 'payer') return undefined
      return [
        'held',
        '◆',
        ['payer', `must agree at the rail to the payment for ${here} (${event.data.payment})`],
      ]
    case 'reversed':
      return ['held', '↩', ['reversed', money(event.data.amount), `of ${here} came back`]]
    case 'refunded':
      return ['held', '↩', ['refunded', money(event.data.amount), `of ${here}`]]
    case 'regained':
      return ['good', '↑', ['regained', money(event.data.amount), `of ${here}`]]
    case 'overdue':
      return ['refused', '!', ['overdue', `the rail has no word on the payment for ${here}`]]
    case 'returned':
      return ['idle', '↑', ['home', `${money(event.data.amount)} from ${here}`]]
    case 'frozen':
    case 'revoked':
      return ['frozen', '❄', [event.type, here, `by ${event.data.by}`]]
    case 'resumed':
      return ['good', '●', ['resumed', here, `by ${event.data.by}`]]
    case 'erased':
      return ['idle', '■', ['erased', `what is personal in this run, by ${event.data.by}`]]
    case 'sealed':
      return ['good', '■', ['sealed', `${endedText(event.data.state)}; its last hash is signed`]]
    default:
      return tellAgents(event, here, money)
  }
}

/** What agents did and said. */
function tellAgents(
  event: LedgerEvent,
  here: string,
  money: (amount: number) => string,
): Told | undefined {
  switch (event.type) {
    case 'read':
      if (event.data.act !== 'search') return undefined
      return ['idle', '·', ['read', `${event.data.items} listings for ${here}`]]
    case 'planned':
      if (event.data.fallback === undefined) return undefined
      return ['held', '◆', ['planned', here, `by the scripted planner: ${event.data.fallback}`]]
    case 'unanswered':
      return [
        'idle',
        '·',
        ['no answer', `of the ${event.data.role} of ${here}: ${event.data.failure}`],
      ]
    case 'chose':
      if (event.data.amount === undefined) return ['idle', '·', ['chose', `nothing for ${here}`]]
      return ['idle', '·', ['chose', `an offer of ${money(Number(event.data.amount))} for ${here}`]]
    case 'unmet':
      return ['held', '◆', ['unmet', here]]
    default:
      return undefined
  }
}
