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

const { values } = parseArgs({
  options: {
    gateway: { type: 'string', default: 'http://headgate.localhost:8080' },
    // Secrets come as files: arguments are read by everybody on the machine.
    holder: { type: 'string', default: 'holder.jwk' },
    token: { type: 'string', default: 'root.token' },
    want: { type: 'string', default: 'stapler' },
    // How long a person may take to answer.
    patience: { type: 'string', default: '120' },
  },
})

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
async function pay(leaf: HeldNode, quote: string): Promise<PaymentAnswer> {
  const until = performance.now() + Number(values.patience) * 1000
  for (;;) {
    const answer = await retrying(() => leaf.client.pay(quote))
    const isOnItsWay = answer.verdict === 'allow' && answer.state !== 'settled'
    const isWaiting = isOnItsWay || answer.reason?.advice === 'wait_for_person'
    if (!isWaiting || performance.now() > until) return answer
    await sleep(POLL_MS)
  }
}

/** One offer, from its quote to the answer of the gateway. */
async function buy(planner: HeldNode, looker: HeldNode): Promise<Outcome> {
  const found = await retrying(() => looker.client.search({ text: values.want, limit: 20 }))
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
  const { paymentId, verdict, state, reason } = await pay(leaf, quote)
  report.payments.push({ paymentId, verdict, state, code: reason?.code, amount, currency, payee })
  if (verdict === 'allow') return 'paid'
  // The leaf is good for this quote alone; what it was given comes back.
  await planner.close(leaf)
  return reason === undefined || reason.advice === 'retry' ? 'stop' : reason.advice
}

/** A branch of its own below the root, so that all it holds comes home by one closing. */
async function plan(root: HeldNode): Promise<Outcome> {
  let planner: HeldNode | undefined
  try {
    const ceiling = await root.left()
    planner = note(await root.split({ kind: 'planner', ceiling, nodes: 1 + QUOTES }))
    const looker = note(await planner.split({ kind: 'looker', ceiling: ZERO }))
    let outcome: Outcome = 'requote'
    for (let i = 0; i < QUOTES && outcome === 'requote'; i += 1)
      outcome = await buy(planner, looker)
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

try {
  const holder = privateJwkSchema.parse(parseJson(readFileSync(values.holder)))
  const token = readFileSync(values.token, 'utf8').trim()
  const root = new HeldNode({ gateway: values.gateway, token, holder, clock: systemClock() })
  report.outcome = await plan(root)
  process.stdout.write(`${JSON.stringify({ run: root.run, ...report })}\n`)
  process.exitCode = report.outcome === 'paid' ? 0 : 1
} catch (error) {
  const isSaid = error instanceof ClientError || error instanceof Rejected
  const said = isSaid ? error.message : 'expected a key file and a token file'
  process.stderr.write(`outside-planner: ${said}\n`)
  process.exitCode = 2
}
