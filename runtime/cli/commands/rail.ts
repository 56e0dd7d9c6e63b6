/**
 * `rail`: what an operator does at the rail's own desk before a gateway serves over it: ask whether it can be used, make
 * a payee known to it, save a payer's instrument. Configuration and credentials are those of `serve`. It moves no money.
 */
import { Command, Option } from 'commander'
import { Fault } from '../../core/errors.ts'
import { assertPayable } from '../../gateway/bindings.ts'
import { askReady } from '../../gateway/ready.ts'
import { openRail } from '../../rails/open.ts'
import { type RazorpayPayee, razorpayPayeeSchema } from '../../rails/razorpay/payees.ts'
import { registerRazorpayPayee } from '../../rails/razorpay.ts'
import { inWords, type Place } from '../../secrets/catalogue.ts'
import { revealed } from '../../secrets/resolve.ts'
import { Failure } from '../failure.ts'
import type { Io } from '../io.ts'
import { limitsOf } from '../rail-limits.ts'
import { command, emit } from './context.ts'
import { saveInstrumentCommand } from './rail-instrument.ts'
import {
  type AtRail,
  atRail,
  needed,
  otherRail,
  type RailOptions,
  withPlace,
} from './rail-place.ts'

export function railCommand(io: Io): Command {
  return new Command('rail')
    .description('set up the configured rail')
    .addCommand(checkCommand(io))
    .addCommand(registerCommand(io))
    .addCommand(saveInstrumentCommand(io))
}

function checkCommand(io: Io): Command {
  const base = command({
    name: 'check',
    summary: 'ask the configured rail whether it can be used, and say what it cannot do',
    examples: [
      'headgate rail check --data acme',
      'headgate rail check --config headgate.json --json',
    ],
  })
  return withPlace(base).action((options: RailOptions) =>
    atRail(io, options, (at) => check(io, options, at)),
  )
}

async function check(
  io: Io,
  options: RailOptions,
  { config, credentials, place }: AtRail,
): Promise<void> {
  const credential = (name: string) => revealed(credentials, name)
  const rail = openRail(config.rail, { credential, clock: io.clock })
  assertPayable(config.payees, rail)
  let limit: string | undefined
  let problem: Fault | undefined
  try {
    limit = await askReady(rail)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    problem = error
  }
  const cannot = [...(limit === undefined ? [] : [limit]), ...limitsOf(config, rail, credentials)]
  const ready = problem === undefined
  const said = { rail: rail.name, ...pick(place), ready, cannot }
  emit(io, options, said, () =>
    [
      `${rail.name} at ${inWords(place)} ${ready ? 'can be used' : 'cannot be used now'}`,
      ...cannot.map((sentence) => `  ${sentence}`),
      '',
    ].join('\n'),
  )
  if (problem !== undefined) throw problem
}

const pick = ({ host, environment }: Place): Place => ({ host, environment })

interface PayeeOptions extends RailOptions {
  name: string
  vpa?: string
  ifsc?: string
  accountNumber?: string
}

function registerCommand(io: Io): Command {
  const base = command({
    name: 'register-payee',
    summary:
      'make a payee known to Razorpay: prints the account (fa_…) to write into headgate.json',
    examples: [
      'headgate rail register-payee --data acme --name "Paper Lane" --vpa paper.lane@upi',
      'headgate rail register-payee --data acme --name "Paper Lane" --ifsc HDFC0000053 \\\n' +
        '  --account-number 765432123456789',
    ],
  })
  return withPlace(base)
    .requiredOption('--name <words>', 'of the payee, as their bank has it')
    .addOption(new Option('--vpa <address>', 'of UPI').conflicts(['ifsc', 'accountNumber']))
    .option('--ifsc <code>', 'of the bank’s branch; with --account-number')
    .option('--account-number <number>', 'at that bank')
    .action((options: PayeeOptions) => {
      const payee = payeeOf(options)
      return atRail(io, options, (at) => register(io, options, payee, at))
    })
}

const PAYEE_HINTS: Readonly<Record<string, string>> = {
  name: 'expected --name of 3 to 50 letters, digits, spaces and - _ / ( ) . ’',
  address: 'expected --vpa as an address of UPI, such as paper.lane@upi',
  ifsc: 'expected --ifsc, four letters, a zero and six letters or digits, such as HDFC0000053',
  accountNumber: 'expected --account-number of 5 to 35 letters and digits',
}

function payeeOf({ name, vpa, ifsc, accountNumber }: PayeeOptions): RazorpayPayee {
  if (vpa === undefined && (ifsc === undefined || accountNumber === undefined)) {
    throw new Failure('usage', 'expected --vpa, or --ifsc and --account-number')
  }
  const parsed = razorpayPayeeSchema.safeParse(
    vpa === undefined
      ? { kind: 'bank', name, ifsc, accountNumber }
      : { kind: 'vpa', name, address: vpa },
  )
  if (parsed.success) return parsed.data
  const wrong = parsed.error.issues.map(
    ({ path }) => PAYEE_HINTS[String(path[0])] ?? 'expected a payee',
  )
  throw new Failure('usage', [...new Set(wrong)].join('\nheadgate: '))
}

async function register(
  io: Io,
  options: RailOptions,
  payee: RazorpayPayee,
  { config, credentials }: AtRail,
): Promise<void> {
  const { rail } = config
  if (rail.name !== 'razorpay') throw otherRail('razorpay')
  try {
    const account = await registerRazorpayPayee(
      {
        mode: rail.mode,
        keyId: needed(credentials, 'RAZORPAY_KEY_ID'),
        keySecret: needed(credentials, 'RAZORPAY_KEY_SECRET'),
        ...(rail.url === undefined ? {} : { url: rail.url }),
      },
      payee,
    )
    emit(io, options, { account }, () => `${account}\n`)
  } catch (error) {
    if (!(error instanceof Fault) || error.retryable) throw error
    throw new Failure('refused', error.message, { cause: error })
  }
}
