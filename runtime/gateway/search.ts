/**
 * What a looker may do: search the merchants that its token allows, read one product, ask for a quote. What comes back
 * is a stranger's data; its digest is in the looker's log before anyone is given it. The proof is used up before any
 * shop is asked, with a note of what is asked for: a second write, because one write before would not know the answer,
 * and one after would let a replayed proof reach the shops.
 */
import type { Operation } from '../core/block.ts'
import { Fault } from '../core/errors.ts'
import { type Digest, type MerchantId, sha256 } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import type { Note } from '../core/ledger.ts'
import type { Item } from '../core/merchants.ts'
import { ZERO } from '../core/money.ts'
import { digestAt } from '../core/personal.ts'
import type { Sighting } from '../core/records.ts'
import { nowSeconds } from '../core/time.ts'
import { productBody, quoteBody, searchBody } from '../core/wire.ts'
import { type Answer, json } from './answers.ts'
import type { Parsed, RawRequest } from './attempt.ts'
import { type Gate, payeeOf } from './gate.ts'
import { type Caller, identify, unauthenticated } from './identify.ts'
import { parseRequest } from './parse.ts'
import { withPermission } from './permission.ts'
import { refuseRequest } from './refuse.ts'
import { spendProof } from './spend.ts'
import { unexpected } from './unexpected.ts'

/** `POST /search`: items of the allowed merchants, or of those that are named. */
export async function search(gate: Gate, raw: RawRequest): Promise<Answer> {
  const parsed = parseRequest(raw, searchBody, gate.facts.gatewayUrl)
  const looker = await admit(gate, 'search', parsed, (caller) => {
    const { payees } = caller.node
    const allowed = gate.merchants.ids.filter((id) => payees.includes(payeeOf(id)))
    return caller.request.body.merchants ?? allowed
  })
  if ('answer' in looker) return looker.answer
  const { caller, merchants } = looker
  if (!(await mayAsk(gate, caller, merchants))) return unauthenticated(gate, 'proof_replayed')
  const { items: found, silent } = await searchAll(gate, caller, merchants)
  const items = found.slice(0, caller.request.body.limit)
  const digest = excerptDigest(caller, items)
  await wasRead(gate, caller, { act: 'search', merchants, silent, items: items.length, digest })
  return json(200, { items })
}

/** `POST /products`: one product of one merchant, with the whole of its description. */
export async function product(gate: Gate, raw: RawRequest): Promise<Answer> {
  const parsed = parseRequest(raw, productBody, gate.facts.gatewayUrl)
  const looker = await admit(gate, 'search', parsed, ({ request }) => [request.body.merchant])
  if ('answer' in looker) return looker.answer
  const { caller, merchants } = looker
  if (!(await mayAsk(gate, caller, merchants))) return unauthenticated(gate, 'proof_replayed')
  const { merchant, sku } = caller.request.body
  const item = await gate.merchants.product(merchant, caller.node.currency, sku)
  const digest = excerptDigest(caller, item)
  await wasRead(gate, caller, { act: 'product', merchant, digest })
  return json(200, { item })
}

/** `POST /quotes`: a merchant's signed offer for these lines. It is handed on as it came; check 6 judges it when it is paid. */
export async function quote(gate: Gate, raw: RawRequest): Promise<Answer> {
  const parsed = parseRequest(raw, quoteBody, gate.facts.gatewayUrl)
  const looker = await admit(gate, 'quote', parsed, ({ request }) => [request.body.merchant])
  if ('answer' in looker) return looker.answer
  const { caller, merchants } = looker
  if (!(await mayAsk(gate, caller, merchants))) return unauthenticated(gate, 'proof_replayed')
  const { merchant, lines } = caller.request.body
  const text = await gate.merchants.quote(merchant, caller.node.currency, lines)
  const digest = sha256(text)
  const data = { act: 'quote', merchant, lines: lines.length, digest }
  // Written with the event: a leaf of this run that presents exactly this text is known to have it from here.
  await wasRead(gate, caller, data, { quote: digest, merchant })
  return json(200, { quote: text })
}

/** A shelf can be read again by anyone: salted, the digest tells nobody what was shown. */
function excerptDigest({ snapshot }: Caller<unknown>, shown: Item | readonly Item[]): Digest {
  const text = canonicalJson(shown)
  const looked = snapshot.path.at(-1)
  return (looked && digestAt(looked, 'excerpt', text)) ?? sha256(text)
}

/** Uses the proof up with a note of who will be asked; false for a replay, of which no shop hears. */
const mayAsk = (gate: Gate, caller: Caller<unknown>, merchants: readonly MerchantId[]) =>
  spendProof(gate, caller, {
    stream: caller.node.node,
    type: 'read',
    data: { act: 'ask', merchants, attempt: caller.proof.attempt },
  })

/** Records what came back; `attempt` ties it to its question, and tells two equal answers apart. */
async function wasRead(
  gate: Gate,
  { proof, node: { node }, snapshot }: Caller<unknown>,
  read: Note['data'],
  quoted?: Pick<Sighting, 'quote' | 'merchant'>,
): Promise<void> {
  const data = { ...read, attempt: proof.attempt }
  const now = nowSeconds(gate.clock)
  const seen = quoted && { ...quoted, run: snapshot.run.id, node, atSeconds: now }
  const note = { stream: node, type: 'read', data, ...(seen && { seen }), now } as const
  const result = await gate.ledger.execute('note', note)
  if (!result.ok) throw unexpected('note', result.code)
}

type Admitted<Body> =
  | { readonly caller: Caller<Body>; readonly merchants: readonly MerchantId[] }
  | { readonly answer: Answer }

/** Checks 1 to 5 for a looker; the others do not apply where nothing is paid. */
async function admit<Body>(
  gate: Gate,
  operation: Extract<Operation, 'search' | 'quote'>,
  parsed: Parsed<Body>,
  wanted: (caller: Caller<Body>) => readonly MerchantId[],
): Promise<Admitted<Body>> {
  const identified = await identify(gate, { operation, parsed })
  if (!identified.ok) return { answer: unauthenticated(gate, identified.code) }
  const { caller } = identified
  const { attempt, trial } = caller
  const early = trial.judge('depth', attempt, caller.facts)
  if (early) return { answer: await refuseRequest(gate, caller, early) }
  const merchants = [...new Set(wanted(caller))]
  const isKnown = merchants.every((id) => gate.merchants.ids.includes(id))
  const payees = isKnown && caller.node.kind === 'looker' ? merchants.map(payeeOf) : []
  const facts = await withPermission(gate, caller, { operation, amount: ZERO, payees })
  const denial = trial.judge('monitor', attempt, facts)
  return denial ? { answer: await refuseRequest(gate, caller, denial) } : { caller, merchants }
}

/** One merchant that is down does not silence the others; if all are, that is a fault and not an empty shelf. */
async function searchAll(
  gate: Gate,
  { request, node }: Caller<{ readonly text: string; readonly limit: number }>,
  merchants: readonly MerchantId[],
): Promise<{ readonly items: readonly Item[]; readonly silent: readonly MerchantId[] }> {
  const { text, limit } = request.body
  const { currency } = node
  const answers = await Promise.allSettled(
    merchants.map((merchant) => gate.merchants.search(merchant, { text, currency, limit })),
  )
  const silent = merchants.filter((_, i) => answers[i]?.status === 'rejected')
  const [failed] = answers.filter((answer) => answer.status === 'rejected')
  if (failed !== undefined && silent.length === merchants.length) {
    throw failed.reason instanceof Fault
      ? failed.reason
      : new Fault('merchant_unavailable', 'no merchant answered', { cause: failed.reason })
  }
  const shelves = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  return { items: alternating(shelves).filter((item) => item.currency === currency), silent }
}

/** The first of each, then the second of each: a limit cuts all merchants alike. */
function alternating<T>(shelves: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...shelves.map((shelf) => shelf.length))
  return Array.from({ length: longest }, (_, i) =>
    shelves.flatMap((shelf) => shelf.slice(i, i + 1)),
  ).flat()
}
