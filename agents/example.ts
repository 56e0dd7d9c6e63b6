/**
 * An agent of your own, whole. It holds the root token of a run and the key that the mandate names, asks what it may do,
 * buys the cheapest thing that a search finds, and gives back the rest. It ends with 0 if it paid.
 *
 *     npx node agents/example.ts --gateway URL --token root.token --key holder.jwk --want stapler
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ClientError } from '../runtime/client/errors.ts'
import { type HeldNode, openNode, retrying } from '../runtime/client/node.ts'

const word = { type: 'string', default: '' } as const
const { values: asked } = parseArgs({
  options: { gateway: word, token: word, key: word, want: word },
})
const say = (what: object) => void process.stdout.write(`${JSON.stringify(what)}\n`)

/** The answer to the payment; undefined where no shop has such a thing for so little. */
async function buy(root: HeldNode, most: number) {
  // A looker reads what strangers wrote and can pay nothing; only prices are compared here.
  const { client: shops } = await root.splitLooker()
  const { items } = await retrying(() => shops.search({ text: asked.want, limit: 20 }))
  const [best] = items
    .filter(({ unitAmount, stock }) => unitAmount <= most && stock > 0)
    .sort((a, b) => a.unitAmount - b.unitAmount)
  if (best === undefined) return undefined
  const lines = [{ sku: best.sku, quantity: 1 }]
  const { quote } = await retrying(() => shops.quote({ merchant: best.merchant, lines }))
  // A leaf can pay this one quote. If a person must agree, that is waited for.
  const leaf = await root.splitLeaf(quote)
  return leaf.pay(quote, { signal: AbortSignal.timeout(120_000) })
}

try {
  const [token, key] = [readFileSync(asked.token, 'utf8'), readFileSync(asked.key, 'utf8')]
  const root = openNode({ gateway: asked.gateway, token, key })
  try {
    const { state, currency, amount, payees, needsPerson } = await retrying(root.client.ownNode)
    say({ state, currency, amount, payees, needsPerson })
    const answer = await buy(root, amount?.most ?? 0)
    const { available: left, payments } = await retrying(root.client.ownNode)
    const outcome = answer?.verdict ?? 'nothing found'
    say({ outcome, reason: answer?.reason, receipt: answer?.receipt, left, payments })
    process.exitCode = answer?.verdict === 'allow' ? 0 : 1
  } finally {
    // Whatever happened: what was not spent is the principal's again.
    await root.close()
  }
} catch (error) {
  const { message } = error instanceof Error ? error : { message: 'failed' }
  say({ error: message, ...(error instanceof ClientError ? { advice: error.advice } : {}) })
  process.exitCode = 2
}
