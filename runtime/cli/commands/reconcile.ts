/** Commands about the rail's own list: hold it against the ledger, and say what is known of money that moved without us. */
import type { Command } from 'commander'
import type { z } from 'zod'
import { outsideIdSchema } from '../../core/ids.ts'
import { formatMoney, isCurrency } from '../../core/money.ts'
import { isoTime, seconds } from '../../core/time.ts'
import { outsideView, reconcileAnswer } from '../../http/shapes.ts'
import { Failure } from '../failure.ts'
import { type Io, shown, table } from '../io.ts'
import { apiOf, command, emit, type ServerOptions, withServer } from './context.ts'

interface Options extends ServerOptions {
  readonly json?: boolean
}

type Answer = z.infer<typeof reconcileAnswer>
type Statement = NonNullable<Answer['statement']>

/** A rail moves currencies whose minor unit nobody here knows. */
export const anyMoney = (amount: number, currency: string): string =>
  isCurrency(currency) ? formatMoney(amount, currency) : `${currency} ${amount} (minor units)`

export const outsideText = (moved: z.infer<typeof outsideView>): string =>
  `${moved.id}\n${table([
    ['  moved', `${anyMoney(moved.amount, moved.currency)} ${moved.direction} by ${moved.rail}`],
    ['  there', `${shown(moved.object)} (${moved.type}, ${moved.status})`],
    ['  at', isoTime(seconds(moved.atSeconds))],
    ...(moved.payment === undefined ? [] : [['  ours', `${moved.payment}, released before`]]),
    ...(moved.acknowledged === undefined
      ? []
      : [['  known', `${moved.acknowledged.by}: ${shown(moved.acknowledged.evidence)}`]]),
  ])}`

const KINDS: Readonly<Record<Statement['lines'][number]['kind'], string>> = {
  outside: 'moved without us',
  late_settlement: 'settled after we had released it',
  amount: 'another amount than ours',
  missing: 'not in the rail’s list',
  waiting: 'waits for the rail’s word',
}

function statementText({ lines, totals, ...of }: Statement): string {
  const until = isoTime(seconds(of.untilSeconds))
  const head = `${of.objects} moved from ${isoTime(seconds(of.fromSeconds))} until ${until}\n`
  const money = ({ currency }: { currency: string }, amount: number) => anyMoney(amount, currency)
  const unequal = lines.map((line) => [
    isoTime(seconds(line.atSeconds)),
    `${KINDS[line.kind]}${line.acknowledged ? ' (known)' : ''}`,
    money(line, line.ours),
    money(line, line.rail),
    line.outside ?? line.payment ?? '',
    shown(line.object ?? ''),
  ])
  const sums = totals.map((total) => [
    total.currency,
    ...[total.ours, total.acknowledged, total.rail, total.difference].map((n) => money(total, n)),
  ])
  const more = of.unequal - lines.length
  return [
    head,
    table([['at', 'why', 'ours', 'rail', 'id', 'there'], ...unequal].slice(unequal.length ? 0 : 1)),
    ...(more > 0 ? [`and ${more} more\n`] : []),
    table([['sum', 'ours', 'known', 'rail', 'difference'], ...sums].slice(sums.length ? 0 : 1)),
  ].join('')
}

/** Seconds since 1970, or a date of ISO 8601, which is of UTC. */
function fromOf(text: string): number {
  const isDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}Z)?$/.test(text)
  const at = isDate ? Date.parse(text) / 1000 : /^\d{1,12}$/.test(text) ? Number(text) : -1
  if (Number.isSafeInteger(at) && at >= 0) return at
  throw new Failure('usage', 'expected --from as a date such as 2026-11-30, or seconds since 1970')
}

export function reconcileCommand(io: Io): Command {
  const base = command({
    name: 'reconcile',
    summary: 'ask the rail what became of everything, and hold its own list against the ledger',
    examples: [
      'headgate reconcile',
      'headgate reconcile --from 2026-11-01 --json   (exits with 18 where the two differ)',
    ],
  }).option('--from <time>', 'compare from then on; otherwise from where the last one ended')
  return withServer(base).action(async (options: Options & { from?: string }) => {
    const query = options.from === undefined ? '' : `?from=${fromOf(options.from)}`
    const answer = await apiOf(io, options).post(`/internal/reconcile${query}`, {}, reconcileAnswer)
    const { statement } = answer
    emit(io, options, answer, () => {
      const round = `${answer.settled.length} settled, ${answer.released.length} released, ${answer.waiting.length} waiting\n`
      return statement === undefined
        ? `${round}the rail ${shown(answer.rail)} has no list of its own, so only what we asked for was compared\n`
        : round + statementText(statement)
    })
    if (statement?.differs) {
      throw new Failure('differs', 'the rail’s list and the ledger differ')
    }
  })
}

export function acknowledgeCommand(io: Io): Command {
  const base = command({
    name: 'acknowledge',
    summary: 'say that money which moved without us is known, and where the proof is',
    examples: ['headgate payments acknowledge out_9f… --evidence "rent, invoice 12"'],
  })
    .argument('<outside>', 'its id, as `headgate payments alarms` shows it')
    .requiredOption('--evidence <text>', 'where the proof is; the log has only its salted digest')
  return withServer(base).action(
    async (outside: string, options: Options & { evidence: string }) => {
      const id = outsideIdSchema.safeParse(outside)
      if (!id.success) throw new Failure('usage', 'expected an id that begins with out_')
      const { evidence } = options
      const path = `/outside/${id.data}/acknowledge`
      const known = await apiOf(io, options).post(path, { evidence }, outsideView)
      emit(io, options, known, () => outsideText(known))
    },
  )
}
