/** Commands about payments that the rail has no word on, or has taken back: see them, and say what became of one. */
import { Command, Option } from 'commander'
import type { z } from 'zod'
import { freshId, type PaymentId, paymentIdSchema } from '../../core/ids.ts'
import { formatMoney } from '../../core/money.ts'
import { isoTime, seconds } from '../../core/time.ts'
import { alarmsAnswer, paymentView, refundAnswer } from '../../http/shapes.ts'
import type { Api } from '../api.ts'
import { Failure } from '../failure.ts'
import { type Io, shown, table } from '../io.ts'
import { stateText } from '../tree.ts'
import { apiOf, command, confirm, emit, type ServerOptions, withServer } from './context.ts'
import { acknowledgeCommand, outsideText } from './reconcile.ts'

type View = z.infer<typeof paymentView>
type Options = ServerOptions & { json?: boolean }

interface ToConfirm extends Options {
  readonly yes?: boolean
}

const timeText = (at: number | undefined): string =>
  at === undefined ? 'not yet' : isoTime(seconds(at))

/** States in which the rail may still have no word when the time for one is over. */
const OPEN = new Set<View['state']>(['submitted', 'unknown'])

function settlementCommand(io: Io): Command {
  const base = command({
    name: 'settlement',
    summary: 'ask the rail about one payment now',
    examples: [
      'headgate payments settlement pay_9f…',
      'headgate payments settlement pay_9f… --json',
    ],
  }).argument('<payment>', 'the payment’s id')
  return withServer(base).action(async (payment: string, options: Options) => {
    const path = `/payments/${paymentId(payment)}/settlement`
    const after = await apiOf(io, options).post(path, {}, paymentView)
    emit(io, options, after, () => paymentCard(io, after))
  })
}

/** What is known of one payment, and what operators have said of it. Their words are shown as such. */
export function paymentCard(io: Pick<Io, 'colour'>, payment: View): string {
  const money = (amount: number) => formatMoney(amount, payment.currency)
  const { resolution: said } = payment
  const rows = [
    ['pay', `${money(payment.amount)} to ${payment.payee}  ${stateText(io, payment.state)}`],
    ...(payment.railStatus === undefined ? [] : [['rail', payment.railStatus]]),
    ...(payment.approveUrl === undefined ? [] : [['agree at', shown(payment.approveUrl, 2_000)]]),
    ['submitted', timeText(payment.submittedAtSeconds)],
    ...(payment.overdueAtSeconds === undefined && !OPEN.has(payment.state)
      ? []
      : [['alarm', timeText(payment.overdueAtSeconds)]]),
    ...(payment.reversedAmount === undefined
      ? []
      : [['came back', `${money(payment.reversedAmount)} (${payment.reversedAmount})`]]),
    ...(payment.regainedAmount === undefined
      ? []
      : [['used again', money(payment.regainedAmount)]]),
    ...(payment.refunds ?? []).map(({ amount, state, by }) => [
      'refund',
      `${money(amount)} ${state}, asked for by ${by}`,
    ]),
    ...(said === undefined
      ? []
      : [
          ['said', `${said.outcome} ${money(said.amount)} (${said.amount}) by ${said.by}`],
          ['evidence', shown(said.evidence)],
          ['confirmed', said.confirmedBy ?? 'by nobody yet'],
        ]),
  ]
  return `${payment.id}\n${table(rows.map(([name = '', text = '']) => [`  ${name}`, text]))}`
}

export function paymentsCommand(io: Io): Command {
  return new Command('payments')
    .description('payments that the rail has no word on, or has taken back')
    .addCommand(alarmsCommand(io))
    .addCommand(resolveCommand(io))
    .addCommand(returnCommand(io))
    .addCommand(refundCommand(io))
    .addCommand(settlementCommand(io))
    .addCommand(acknowledgeCommand(io))
}

function alarmsCommand(io: Io): Command {
  const base = command({
    name: 'alarms',
    summary: 'list payments that the rail has no word on, and what it moved without us',
    examples: ['headgate payments alarms', 'headgate payments alarms --json'],
  })
  return withServer(base).action(async (options: Options) => {
    const answer = await apiOf(io, options).get('/alarms', alarmsAnswer)
    const { alarms, halted, outside, stuck } = answer
    emit(io, options, answer, () => {
      const stopped = halted.map(
        ({ run, stream }) =>
          `${run} is halted: the account of ${stream} is not what its log says\n`,
      )
      const waiting =
        alarms.length === 0
          ? 'the rail has a word on everything\n'
          : alarms.map((payment) => paymentCard(io, payment)).join('\n')
      const moved = outside.map((each) => `moved without us: ${outsideText(each)}`)
      const unheard = stuck.map(
        ({ rail, id, attempts }) =>
          `${rail} sent ${shown(id)}, and ${attempts} attempts have not found out what it means\n`,
      )
      return [...stopped, ...moved, ...unheard, waiting].join('')
    })
  })
}

interface ResolveOptions extends ToConfirm {
  readonly outcome: 'settled' | 'released'
  readonly amount: number
  readonly evidence: string
}

function resolveCommand(io: Io): Command {
  const base = command({
    name: 'resolve',
    summary: 'say what became of an unknown payment; another operator must say exactly the same',
    examples: [
      'headgate payments resolve pay_9f… --outcome settled --amount 250000 \\\n--evidence "statement 44, line 7"',
      'HEADGATE_OPERATOR_TOKEN_FILE=asha.token headgate payments resolve …   (as Asha)',
    ],
  })
    .argument('<payment>', 'the payment’s id')
    .addOption(
      new Option('--outcome <outcome>', 'what became of it')
        .choices(['settled', 'released'])
        .makeOptionMandatory(),
    )
    .requiredOption(
      '--amount <n>',
      'in minor units: what moved, or the whole that did not',
      wholeNumber,
    )
    .requiredOption('--evidence <text>', 'where the proof is; the log has only its salted digest')
    .option('--yes', 'do not show the payment and ask')
  return withServer(base).action(async (payment: string, options: ResolveOptions) => {
    const { outcome, amount, evidence } = options
    const { api, path } = await agreed(io, payment, options, ({ currency }) => {
      return `say that it was ${outcome} ${formatMoney(amount, currency)}`
    })
    const after = await api.post(`${path}/resolve`, { outcome, amount, evidence }, paymentView)
    emit(io, options, after, () => paymentCard(io, after))
  })
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,15}$/.test(text) || !Number.isSafeInteger(Number(text))) {
    throw new Failure('usage', 'expected a whole number of minor units, at least 1')
  }
  return Number(text)
}

function paymentId(text: string): PaymentId {
  const parsed = paymentIdSchema.safeParse(text)
  if (parsed.success) return parsed.data
  throw new Failure('usage', 'expected a payment’s id, which begins with pay_')
}

interface RefundOptions extends ToConfirm {
  readonly amount?: number
  readonly key?: string
}

function refundCommand(io: Io): Command {
  const base = command({
    name: 'refund',
    summary: 'give back a part of a settled payment, to where it was paid from',
    examples: [
      'headgate payments refund pay_9f… --amount 250000',
      'headgate payments refund pay_9f… --amount 250000 --key return-44',
    ],
  })
    .argument('<payment>', 'the payment’s id')
    .option('--amount <n>', 'in minor units; left out, it is only told what could be', wholeNumber)
    .option('--key <key>', 'your word for this refund: sent again with the same it is the same one')
    .option('--yes', 'do not show the payment and ask')
  return withServer(base).action(async (payment: string, options: RefundOptions) => {
    const { amount, key: idempotencyKey = freshId() } = options
    // Without an amount nothing can move, so nobody is asked.
    const asked = amount === undefined ? { ...options, yes: true } : options
    const { api, path } = await agreed(io, payment, asked, ({ currency }) => {
      return `refund ${formatMoney(amount ?? 0, currency)}`
    })
    // Said before it is sent: whoever gets no answer can ask again for the same refund.
    if (options.key === undefined && amount !== undefined)
      io.err(`the key of this refund is ${idempotencyKey}\n`)
    const after = await api.post(`${path}/refunds`, { amount, idempotencyKey }, refundAnswer)
    emit(io, options, after, () => `${after.refund.state}\n${paymentCard(io, after.payment)}`)
    if (after.refund.state === 'failed') {
      throw new Failure('no', `the rail made no refund: ${after.refund.reason ?? 'no reason'}`)
    }
  })
}

interface ReturnOptions extends ToConfirm {
  readonly reversed: number
  readonly evidence: string
}

function returnCommand(io: Io): Command {
  const base = command({
    name: 'return',
    summary: 'put to use again what came back of a settled payment',
    examples: ['headgate payments return pay_9f… --reversed 250000 --evidence "statement 51"'],
  })
    .argument('<payment>', 'the payment’s id')
    .requiredOption('--reversed <n>', 'all that has come back, in minor units', wholeNumber)
    .requiredOption('--evidence <text>', 'where the proof is; the log has only its salted digest')
    .option('--yes', 'do not show the payment and ask')
  return withServer(base).action(async (payment: string, options: ReturnOptions) => {
    const { reversed: reversedAmount, evidence } = options
    const { api, path } = await agreed(io, payment, options, ({ currency }) => {
      return `use ${formatMoney(reversedAmount, currency)} again`
    })
    const after = await api.post(`${path}/return`, { reversedAmount, evidence }, paymentView)
    emit(io, options, after, () => paymentCard(io, after))
  })
}

/** The payment's address, once the operator has seen its card and agreed, or wants to see none. */
async function agreed(
  io: Io,
  payment: string,
  options: ToConfirm,
  question: (payment: View) => string,
): Promise<{ readonly api: Api; readonly path: string }> {
  const api = apiOf(io, options)
  const path = `/payments/${paymentId(payment)}`
  if (!options.yes) {
    const view = await api.get(path, paymentView)
    io.err(paymentCard(io, view))
    await confirm(io, question(view), { otherwise: 'nothing was said' })
  }
  return { api, path }
}
