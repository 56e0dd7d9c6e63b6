/**
 * `npm run smoke:rails`: tries each rail whose keys are in the environment, on the rail's own sandbox. Without keys it
 * says which variables to set and ends with 0; with `-- --stand-in` it plays the same on stand-ins of this machine.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startRail } from '../../runtime/cli/world-rails.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { nowSeconds } from '../../runtime/core/time.ts'
import { openRail } from '../../runtime/rails/open.ts'
import { type SmokeAccounts, type SmokeStep, smoke } from './smoke.ts'

const USAGE = `usage: npm run smoke:rails [-- --stand-in] [--json]

  --stand-in   on stand-ins of this machine, without any account
  --json       one document
`

type Variables = Readonly<Record<string, string | undefined>>

interface Target {
  readonly name: 'razorpay' | 'paypal'
  readonly needed: readonly string[]
  /** Of these each adds a part. */
  readonly optional: Readonly<Record<string, string>>
}

const TARGETS: readonly Target[] = [
  {
    name: 'razorpay',
    needed: [
      'RAZORPAY_KEY_ID',
      'RAZORPAY_KEY_SECRET',
      'RAZORPAY_WEBHOOK_SECRET',
      'SMOKE_RAZORPAY_ACCOUNT_NUMBER',
    ],
    optional: {
      SMOKE_RAZORPAY_PAYOUT: 'a fund account (fa_…) of the test account to pay out to',
      SMOKE_RAZORPAY_ORDER: '`link` or `order`',
    },
  },
  {
    name: 'paypal',
    needed: ['PAYPAL_CLIENT_ID', 'PAYPAL_CLIENT_SECRET'],
    optional: {
      PAYPAL_WEBHOOK_ID: 'of the sandbox application, for its messages',
      PAYPAL_INSTRUMENT: 'a payer’s saved payment token, to authorise without a person',
      SMOKE_PAYPAL_PAYOUT: 'the e-mail address of a sandbox account to pay out to',
      SMOKE_PAYPAL_ORDER: 'merchant:ID of a sandbox merchant',
    },
  },
]

const CURRENCY = { razorpay: 'INR', paypal: 'USD' } as const

const clock = systemClock()

function railOf(name: Target['name'], given: Variables, url: string | undefined) {
  const accountNumber = given.SMOKE_RAZORPAY_ACCOUNT_NUMBER ?? ''
  const parts = { clock, credential: (variable: string) => given[variable] }
  return name === 'razorpay'
    ? openRail({ name, mode: 'test', accountNumber, url }, parts)
    : openRail({ name, mode: 'sandbox', url }, parts)
}

const accountsOf = (name: Target['name'], given: Variables): SmokeAccounts => {
  const [payout, order] = ['PAYOUT', 'ORDER'].map(
    (part) => given[`SMOKE_${name.toUpperCase()}_${part}`],
  )
  return { ...(payout ? { payout } : {}), ...(order ? { order } : {}) }
}

async function onSandbox(target: Target, given: Variables): Promise<readonly SmokeStep[]> {
  const missing = target.needed.filter((variable) => !given[variable])
  if (missing.length > 0) {
    const optional = Object.entries(target.optional).map(
      ([variable, what]): SmokeStep => ({
        step: `${variable} adds to it`,
        result: 'left',
        said: what,
      }),
    )
    const said = `set ${missing.join(', ')} to try it on its sandbox`
    return [{ step: 'keys', result: 'left', said }, ...optional]
  }
  const rail = railOf(target.name, given, undefined)
  return smoke(rail, CURRENCY[target.name], accountsOf(target.name, given), () => nowSeconds(clock))
}

const ORDER_AT_STAND_IN = { razorpay: 'link', paypal: 'merchant:DESKSHPQ23456' } as const

async function onStandIn({ name }: Target): Promise<readonly SmokeStep[]> {
  const dir = mkdtempSync(join(tmpdir(), 'headgate-smoke-'))
  // Nothing listens there: what the stand-in would tell a gateway is not told.
  const child = await startRail(name, dir, 'http://127.0.0.1:9')
  try {
    const { env, url, config, accountOf, instrument } = child.ready
    const accountNumber = 'accountNumber' in config ? config.accountNumber : ''
    const given = { ...env, SMOKE_RAZORPAY_ACCOUNT_NUMBER: accountNumber }
    const order = ORDER_AT_STAND_IN[name]
    const play = (more: Variables, accounts: SmokeAccounts) =>
      smoke(railOf(name, { ...given, ...more }, url), CURRENCY[name], accounts, () =>
        nowSeconds(clock),
      )
    const steps = await play({}, { payout: accountOf('', 0), order })
    if (instrument === undefined) return steps
    return [...steps, ...(await play({ PAYPAL_INSTRUMENT: instrument }, { order }))]
  } finally {
    await child.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

const MARK = { done: '✓', left: '–', failed: '✗' } as const

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'stand-in': { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const rails: Record<string, readonly SmokeStep[]> = {}
  for (const target of TARGETS) {
    const steps = values['stand-in']
      ? await onStandIn(target)
      : await onSandbox(target, process.env)
    rails[target.name] = steps
    if (values.json) continue
    const lines = steps.map(({ step, result, said }) => `  ${MARK[result]} ${step}: ${said}`)
    process.stdout.write(`${[target.name, ...lines].join('\n')}\n`)
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ rails })}\n`)
  return Object.values(rails)
    .flat()
    .some(({ result }) => result === 'failed')
    ? 1
    : 0
}

process.exitCode = await main(process.argv.slice(2))
