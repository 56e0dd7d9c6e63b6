/**
 * A planner of your own, in a process of its own: it was given the root token of a run, holds the key that the mandate
 * names, and shares nothing else with the gateway. It buys the cheapest thing that a search finds, by a looker that
 * cannot pay and a leaf that can pay one quote only, and sends back what it did not spend.
 *
 *     node agents/examples/outside-planner.ts --gateway URL --holder key.jwk --token root.token --want stapler
 *
 * It prints one JSON document. It ends with 0 if it paid, 1 if not, 2 if it could not begin.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ClientError } from '../../runtime/client/errors.ts'
import { HeldNode, retrying } from '../../runtime/client/node.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { Rejected } from '../../runtime/core/errors.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { parseJson } from '../../runtime/core/json.ts'
import { privateJwkSchema } from '../../runtime/core/keys.ts'
import { ZERO } from '../../runtime/core/money.ts'
import { readQuote } from '../../runtime/core/quote.ts'
import type { PaymentAnswer } from '../../runtime/core/wire.ts'

const QUOTES = 3
const POLL_MS = 500

const USAGE = `Usage: node agents/examples/outside-planner.ts [options]

Buys the cheapest thing that a search finds, with the root token of a run and the key that its mandate names. Prints one
JSON document. Ends with 0 if it paid, 1 if not, 2 if it could not begin.

  --gateway URL   http://headgate.localhost:8080 unless given
  --holder FILE   the key that the mandate names, holder.jwk unless given
  --token FILE    the root token, root.token unless given
  --want WORDS    what to search for, stapler unless given
  --patience N    how many seconds a person may take to approve a payment, 120 unless given
  --help
`

const FLAGS = {
  gateway: { type: 'string', default: 'http://headgate.localhost:8080' },
  // Secrets come as files: arguments are read by everybody on the machine.
  holder: { type: 'string', default: 'holder.jwk' },
  token: { type: 'string', default: 'root.token' },
  want: { type: 'string', default: 'stapler' },
  patience: { type: 'string', default: '120' },
  help: { type: 'boolean', default: false },
} as const

type Asked = ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>['values']

const complain = (text: string): void => void process.stderr.write(`outside-planner: ${text}\n`)

/** What the arguments ask for; undefined, and said why, where they cannot be understood. */
function readArguments(): Asked | undefined {
  try {
    const { values } = parseArgs({ options: FLAGS })
    if (!/^[0-9]{1,6}$/.test(values.patience))
      throw new TypeError('--patience takes a whole number of seconds')
    return values
  } catch (error) {
    complain(`${error instanceof Error ? error.message : 'failed'}\n\n${USAGE}`.trimEnd())
    return undefined
  }
}

type Outcome = 'paid' | 'nothing_found' | 'ask_parent' | 'wait_for_person' | 'stop' | 'requote'

/** What was done, for whoever started this. */
const report: { nodes: object[]; payments: object[]; outcome?: Outcome } = {
  nodes: [],
  payments: [],
}

const note = (node: HeldNode): HeldNode => {
  const { node: id, kind, ceiling } = node.claims
  report.nodes.push({ id, kind, ceiling })
  return node
}

/** Pays, and while a person has to decide asks again: the same quote is the same payment, however often it is sent. */
async function pay(leaf: HeldNode, quote: string, patience: number): Promise<PaymentAnswer> {
  const until = performance.now() + patience * 1000
  for (let isSaid = false; ; ) {
    const answer = await retrying(() => leaf.client.pay(quote))
    const isOnItsWay = answer.verdict === 'allow' && answer.state !== 'settled'
    const isWaiting = isOnItsWay || answer.reason?.advice === 'wait_for_person'
    if (!isWaiting || performance.now() > until) return answer
    if (!isOnItsWay && !isSaid) complain(`a person must decide; waiting for ${patience} seconds`)
    isSaid ||= !isOnItsWay
    await sleep(POLL_MS)
  }
}

/** One offer, from its quote to the answer of the gateway. */
async function buy(planner: HeldNode, looker: HeldNode, asked: Asked): Promise<Outcome> {
  const found = await retrying(() => looker.client.search({ text: asked.want, limit: 20 }))
  // Titles and descriptions are an outsider's words: prices are compared, and nothing is read.
  const { currency, ceiling } = planner.claims
  const [best] = found.items
    .filter((item) => item.currency === currency && item.unitAmount <= ceiling && item.stock > 0)
    .sort((a, b) => a.unitAmount - b.unitAmount)
  if (best === undefined) return 'nothing_found'
  const lines = [{ sku: best.sku, quantity: 1 }]
  const { quote } = await retrying(() => looker.client.quote({ merchant: best.merchant, lines }))
  const { claims } = readQuote(quote)
  if (claims === undefined) return 'requote'
  const { amount, payee } = claims
  const leaf = note(
    await planner.split({ kind: 'leaf', ceiling: amount, payees: [payee], quote: sha256(quote) }),
  )
  const { paymentId, verdict, state, reason } = await pay(leaf, quote, Number(asked.patience))
  report.payments.push({ paymentId, verdict, state, code: reason?.code, amount, currency, payee })
  if (verdict === 'allow') return 'paid'
  // The leaf is good for this quote alone; what it was given comes back.
  await planner.close(leaf)
  return reason === undefined || reason.advice === 'retry' ? 'stop' : reason.advice
}

/** A branch of its own below the root, so that all it holds comes home by one closing. */
async function plan(root: HeldNode, asked: Asked): Promise<Outcome> {
  let planner: HeldNode | undefined
  try {
    const ceiling = await root.left()
    planner = note(await root.split({ kind: 'planner', ceiling, nodes: 1 + QUOTES }))
    const looker = note(await planner.split({ kind: 'looker', ceiling: ZERO }))
    let outcome: Outcome = 'requote'
    for (let i = 0; i < QUOTES && outcome === 'requote'; i += 1)
      outcome = await buy(planner, looker, asked)
    return outcome
  } catch (error) {
    // Refusals say what makes sense next; whoever gave us the task is the one to ask.
    if (error instanceof ClientError && error.advice && error.advice !== 'retry')
      return error.advice
    throw error
  } finally {
    await planner?.close()
  }
}

/** The exit code. */
async function main(asked: Asked): Promise<number> {
  try {
    const holder = privateJwkSchema.parse(parseJson(readFileSync(asked.holder)))
    const token = readFileSync(asked.token, 'utf8').trim()
    const root = new HeldNode({ gateway: asked.gateway, token, holder, clock: systemClock() })
    report.outcome = await plan(root, asked)
    process.stdout.write(`${JSON.stringify({ run: root.run, ...report })}\n`)
    return report.outcome === 'paid' ? 0 : 1
  } catch (error) {
    const isSaid = error instanceof ClientError || error instanceof Rejected
    complain(isSaid ? error.message : 'expected a key file and a token file')
    return 2
  }
}

const asked = readArguments()
if (asked?.help) process.stdout.write(USAGE)
else process.exitCode = asked === undefined ? 2 : await main(asked)
