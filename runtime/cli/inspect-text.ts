/** An explained token as lines for a person: the chain from the root down, what it may do at most, and what would come of it now. */
import { formatMoney, type Minor } from '../core/money.ts'
import { isoTime, type Seconds } from '../core/time.ts'
import type { InspectedBlock, Inspection, RecordedNow } from './inspect.ts'
import { type Io, shown, table, tint } from './io.ts'
import { stateText } from './tree.ts'

type Style = Pick<Io, 'colour'>

const money = ({ ceiling, currency }: Pick<InspectedBlock, 'ceiling' | 'currency'>) =>
  formatMoney(ceiling, currency)

/** Enough of a key or digest to tell it from its neighbours. */
const short = (text: string): string => `${text.slice(0, 10)}…`

const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const

/** `2 d 3 h`, `59 min`: the two largest units, and a rest under one of them is dropped. */
export function span(secondsLong: number): string {
  const at = UNITS.findIndex(([unit]) => secondsLong >= unit)
  if (at === -1) return '0 s'
  let rest = secondsLong
  const parts = UNITS.slice(at, at + 2).map(([unit, name]) => {
    const count = Math.floor(rest / unit)
    rest -= count * unit
    return count === 0 ? '' : `${count} ${name}`
  })
  return parts.filter((part) => part !== '').join(' ')
}

function until(style: Style, at: Seconds, now: Seconds): string {
  const left =
    now < at ? `${span(at - now)} left` : tint(style, 'refused', `expired ${span(now - at)} ago`)
  return `${isoTime(at)}, ${left}`
}

/** All lines, each ended. */
export function inspectionText(style: Style, inspection: Inspection, now: Seconds): string {
  const { blocks, now: recorded, lookedUp, notLookedUp } = inspection
  const parts = [
    `${headline(inspection, now)}\n`,
    ...blocks.map((block, i) => blockText(style, block, blocks[i - 1], i, now)),
    ...(blocks.length > 0 ? [`at most: ${atMost(blocks)}\n`] : []),
    ...(recorded ? [nowText(style, recorded)] : []),
    ...(lookedUp.length > 0 ? [listText('looked up', lookedUp)] : []),
    ...(notLookedUp.length > 0 ? [listText('left to the gateway', notLookedUp)] : []),
    `${verdictText(style, inspection)}\n`,
  ]
  return parts.join('\n')
}

const listText = (title: string, items: readonly string[]): string =>
  `${title}:\n${items.map((item) => `  ${shown(item, 300)}\n`).join('')}`

function headline(inspection: Inspection, now: Seconds): string {
  const { verifies, characters, sealed, blocks, unproved, rootKey } = inspection
  const count = verifies ? blocks.length : unproved.blocks
  const size = [
    count === undefined ? 'a text' : `a token of ${count} ${count === 1 ? 'block' : 'blocks'}`,
    `${characters.toLocaleString('en-US')} characters`,
  ].join(', ')
  if (!verifies) return `${size}; it does not verify, so nothing that it says is shown`
  const depth = `depth ${blocks.length - 1}`
  const end = sealed ? 'sealed: nobody can add to it' : 'open: its holder can add a block'
  const { id, retiresAt } = rootKey ?? {}
  const force =
    retiresAt === undefined
      ? 'in force'
      : `in force until ${isoTime(retiresAt)}, ${span(retiresAt - now)} more`
  return `${size}, ${depth}, ${end}\nroot key ${id}, ${force}`
}

function blockText(
  style: Style,
  block: InspectedBlock,
  parent: InspectedBlock | undefined,
  index: number,
  now: Seconds,
): string {
  const from = parent
    ? `${parent.kind} ${parent.node}, whose holder signed this block`
    : `mandate ${short(block.mandate ?? '')} for ${block.run}, signed by ${block.signedBy}`
  const rows = [
    ['given by', from],
    ['ceiling', block.kind === 'looker' ? `${money(block)}: it cannot spend` : money(block)],
    ['payees', block.payees.join(', ')],
    ...(block.quote === undefined ? [] : [['quote', `only ${short(block.quote)}`]]),
    ['until', until(style, block.expiresAtSeconds, now)],
    ['holder', short(block.holder)],
    ...(parent ? [['narrower', narrowing(style, parent, block)]] : []),
  ]
  const title = `${index}  ${tint(style, 'strong', `${block.kind} ${block.node}`)}\n`
  return title + table(rows.map((row) => ['  ', ...row]))
}

/** What a block took away of the one above it. */
function narrowing(style: Style, parent: InspectedBlock, block: InspectedBlock): string {
  if (block.widened !== undefined) {
    const name = block.widened === 'expiresAtSeconds' ? 'until' : block.widened
    return tint(style, 'refused', `no: its ${name} is more than the block above allows`)
  }
  const sooner = parent.expiresAtSeconds - block.expiresAtSeconds
  const fewer = parent.payees.length - block.payees.length
  const parts = [
    ...(block.ceiling < parent.ceiling ? [`${lessMoney(parent, block)} less`] : []),
    ...(fewer > 0 ? [`${fewer} ${fewer === 1 ? 'payee' : 'payees'} fewer`] : []),
    ...(sooner > 0 ? [`ends ${span(sooner)} sooner`] : []),
    ...(block.quote === undefined ? [] : ['one quote only']),
  ]
  return parts.length === 0 ? 'by nothing' : parts.join(', ')
}

const lessMoney = (parent: InspectedBlock, block: InspectedBlock): string =>
  formatMoney(parent.ceiling - block.ceiling, block.currency)

/** In one sentence, what the last block lets its holder do. */
export function atMost(blocks: readonly InspectedBlock[]): string {
  const last = blocks.at(-1)
  if (last === undefined) return 'nothing'
  if (blocks.some(({ widened }) => widened !== undefined)) {
    return 'nothing, because a block claims more than the one above it.'
  }
  const payees = listed(last.payees)
  const end = `before ${isoTime(last.expiresAtSeconds)}`
  switch (last.kind) {
    case 'planner':
      return `its holder may hand out ${money(last)} in all, to be paid to ${payees}, ${end}; it pays nobody itself.`
    case 'looker':
      return `its holder may search and ask ${payees} for quotes ${end}; it spends nothing.`
    case 'leaf':
      return `its holder may pay ${payees} once, ${money(last)} or less, for one quote, ${end}.`
  }
}

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

function nowText(style: Style, { run, nodes, chain, isGatewayFrozen }: RecordedNow): string {
  const amount = (of: Minor) => formatMoney(of, run.currency)
  const gateway = isGatewayFrozen ? `   the gateway: ${stateText(style, 'frozen')}` : ''
  const rows = nodes.map((node) => [
    `  ${node.depth}`,
    `${node.kind} ${shown(node.label, 32)}`,
    stateText(style, node.standing),
    `available ${amount(node.available)}`,
    `given on ${amount(node.allotted)}`,
    `reserved ${amount(node.reserved)}`,
    `spent ${amount(node.spent)}`,
  ])
  const payment = nodes.at(-1)?.payment
  const paid =
    payment === undefined
      ? ''
      : `  its payment of ${amount(payment.amount)} to ${shown(payment.payee)}: ${stateText(style, payment.state)}\n`
  return `now, at the gateway: ${run.id}  ${stateText(style, run.state)}${gateway}\n${table(rows)}${paid}  the chain is ${chainWords[chain]}\n`
}

const chainWords = {
  'the recorded one': 'the one that was recorded, block by block',
  'another one': 'not the one that was recorded',
  'not recorded': 'not recorded: the gateway does not know all of its nodes',
  'not compared': 'not compared: this gateway does not tell',
} as const

/** The last line: what would come of presenting it. */
export function verdictText(style: Style, { would, refusal, verifies, now }: Inspection): string {
  if (refusal) {
    const { code, because } = refusal
    return tint(style, 'refused', `✗ would be refused now: ${code}, because ${because}`)
  }
  switch (would) {
    case 'unopposed':
      return tint(
        style,
        'good',
        '✓ nothing that was looked up speaks against it; the gateway judges the rest when its holder asks',
      )
    case 'repeat':
      return `✓ would be told the outcome of its payment again (${now?.nodes.at(-1)?.payment?.state}); no money would move`
    default:
      return verifies
        ? '? verifies and has not expired; whether it would be accepted now was not looked up'
        : '? not known'
  }
}
