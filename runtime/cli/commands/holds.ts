/** Commands about held payments: see the card, then approve or refuse exactly what it shows. */
import type { Command } from 'commander'
import { type HoldId, holdIdSchema } from '../../core/ids.ts'
import { formatMoney } from '../../core/money.ts'
import { isoTime, seconds } from '../../core/time.ts'
import { type HoldView, holdViewSchema } from '../../core/wire.ts'
import { holdsAnswer } from '../../http/shapes.ts'
import { Failure } from '../failure.ts'
import { type Io, shown, table } from '../io.ts'
import { stateText } from '../tree.ts'
import { apiOf, command, confirm, emit, type ServerOptions, withServer } from './context.ts'

type Options = ServerOptions & { json?: boolean }

/** Everything that the person decides about, on a card. Titles are the merchant’s words and shown as such. */
export function holdCard(io: Pick<Io, 'colour'>, hold: HoldView): string {
  const money = (amount: number) => formatMoney(amount, hold.currency)
  const rows = [
    ['payment', `${hold.payment}  ${stateText(io, hold.state === 'open' ? 'held' : hold.state)}`],
    ['pay', `${money(hold.amount)} to ${shown(hold.payeeName)} (${hold.payee})`],
    ...hold.lines.map((line) => [
      '',
      `${line.quantity} × ${shown(line.title, 60)} (${line.sku}) at ${money(line.unitAmount)}`,
    ]),
    ['sold by', hold.merchant],
    ...(hold.trail ?? []).map((line, i) => [i === 0 ? 'from' : '', shown(line, 240)]),
    ['drawn on', hold.path.map(({ label }) => shown(label, 40)).join(' › ')],
    ['why', hold.rule === undefined ? hold.code : `${hold.code} (${shown(hold.rule)})`],
    ['until', isoTime(seconds(hold.expiresAtSeconds))],
    ['digest', hold.digest],
  ]
  return `${hold.id}\n${table(rows.map((row) => ['  ' + (row[0] ?? ''), row[1] ?? '']))}`
}

export function holdsCommand(io: Io): Command {
  const base = command({
    name: 'holds',
    summary: 'list what waits for a person, the earliest deadline first',
    examples: ['headgate holds', 'headgate holds --json'],
  })
  return withServer(base).action(async (options: Options) => {
    const { holds } = await apiOf(io, options).get('/holds', holdsAnswer)
    emit(io, options, { holds }, () =>
      holds.length === 0
        ? 'nothing waits for you\n'
        : holds.map((hold) => holdCard(io, hold)).join('\n'),
    )
  })
}

const VERBS = {
  approve: 'approve one held payment, once, exactly as its card shows it',
  refuse: 'refuse one held payment for good',
} as const

export function decideCommand(io: Io, verb: keyof typeof VERBS): Command {
  const base = command({
    name: verb,
    summary: VERBS[verb],
    examples: [`headgate ${verb} hold_9f…`, `headgate ${verb} hold_9f… --digest 3Qx… --json`],
  })
    .argument('<hold>', 'the hold’s id')
    .option(
      '--digest <digest>',
      'of the card that was seen; without it the card is shown and you are asked',
    )
  return withServer(base).action(async (hold: string, options: Options & { digest?: string }) => {
    const api = apiOf(io, options)
    const id = holdId(hold)
    const digest =
      options.digest ?? (await ask(io, verb, await api.get(`/holds/${id}`, holdViewSchema)))
    const decided = await api.post(`/holds/${id}/${verb}`, { digest }, holdViewSchema)
    emit(io, options, decided, () => holdCard(io, decided))
  })
}

function holdId(text: string): HoldId {
  const parsed = holdIdSchema.safeParse(text)
  if (parsed.success) return parsed.data
  throw new Failure('usage', 'expected a hold’s id, which begins with hold_')
}

async function ask(io: Io, verb: string, hold: HoldView): Promise<string> {
  io.err(holdCard(io, hold))
  await confirm(io, `${verb} exactly this`, {
    otherwise: 'nothing was decided',
    instead: '--digest',
  })
  return hold.digest
}
