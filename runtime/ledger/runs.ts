/** Transitions about a run as a whole, and about events and steps that move no money. */
import { EVENT_WORD, type EventData, eventWord, parseEvent } from '../core/events.ts'
import { chainDigest, type NodeId, sha256 } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import { parseJws } from '../core/jws.ts'
import type { Commands, CreateRun, FinishRun, Note, SaveStep } from '../core/ledger.ts'
import { ZERO } from '../core/money.ts'
import { digestAt } from '../core/personal.ts'
import { sealSchema } from '../core/receipt.ts'
import type { Head, NodeRecord, RunState, Sighting } from '../core/records.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { consumeProof, isOwnProof, proofKeys, refused } from './rules.ts'

/** Opens a node: its record, account, standing and first event, chained to `anchor`. */
export function openNode(
  draft: Draft,
  node: NodeRecord,
  { nodes, anchor, token }: { nodes: number; anchor: string; token: string | undefined },
): void {
  const { id, run, ceiling, parent, quote } = node
  const label = digestAt(node, 'label', node.label)
  draft.put(keys.node(id), node)
  draft.put(keys.standing(id), { node: id, state: 'live', version: 1 })
  if (token !== undefined) draft.put(keys.token(id), token)
  draft.put(keys.account(id), {
    node: id,
    run,
    ceiling,
    available: ceiling,
    reserved: ZERO,
    spent: ZERO,
    allotted: ZERO,
    reversed: ZERO,
    nodesLeft: nodes,
    children: 0,
    openChildren: 0,
    head: { seq: 0, hash: anchor },
  })
  draft.append(id, 'opened', {
    ...(parent === undefined ? {} : { parent }),
    kind: node.kind,
    currency: node.currency,
    ceiling,
    nodes,
    expires: node.expiresAtSeconds,
    holder: node.holder,
    payees: [...node.payees],
    ...(quote === undefined ? {} : { quote }),
    chain: chainDigest(node.revocationIds),
    custody: node.custody,
    ...(label === undefined ? {} : { label }),
  })
}

export function* createRun(input: CreateRun, draft: Draft): Steps<Commands['createRun']['result']> {
  const { run, root } = input
  yield [keys.run(run.id), keys.mandate(run.principal, run.jti), keys.node(root.id)]
  const recorded = draft.get(keys.mandate(run.principal, run.jti))
  if (recorded !== undefined) {
    yield [keys.run(recorded)]
    const existing = draft.need(keys.run(recorded))
    const isSame = existing.mandateDigest === run.mandateDigest
    return isSame ? { ok: true, run: existing, created: false } : refused('conflict')
  }
  if (draft.get(keys.run(run.id)) ?? draft.get(keys.node(root.id))) return refused('conflict')
  if (!isRootOf(input)) return refused('conflict')
  yield [keys.standing('gateway'), keys.gatewayHead()]
  if (draft.standing('gateway').state !== 'live') return refused('frozen')
  if (run.expiresAtSeconds <= input.now) return refused('expired')
  draft.put(keys.run(run.id), run)
  draft.put(keys.mandate(run.principal, run.jti), run.id)
  draft.appendGateway(
    'run_created',
    {
      root: root.id,
      principal: run.principal,
      mandate: run.mandateDigest,
      currency: run.currency,
      ceiling: run.ceiling,
      expires: run.expiresAtSeconds,
    },
    run.id,
  )
  openNode(draft, root, { nodes: input.nodes, anchor: run.mandateDigest, token: input.token })
  return { ok: true, run, created: true }
}

const isRootOf = ({ run, root }: CreateRun): boolean =>
  run.root === root.id &&
  root.run === run.id &&
  root.parent === undefined &&
  root.path.length === 1 &&
  root.path[0] === root.id &&
  root.kind === 'planner' &&
  root.ceiling === run.ceiling &&
  root.currency === run.currency &&
  root.expiresAtSeconds <= run.expiresAtSeconds &&
  run.state === 'running'

/** How a run may end. */
export const TERMINAL: ReadonlySet<RunState> = new Set(['completed', 'failed', 'cancelled'])

export function* finishRun(input: FinishRun, draft: Draft): Steps<Commands['finishRun']['result']> {
  const { state, reason, seal, now } = input
  yield [keys.run(input.run)]
  const run = draft.get(keys.run(input.run))
  if (run === undefined) return refused('not_found')
  const isFinished = TERMINAL.has(run.state)
  if (isFinished && run.state !== state) return refused('conflict')
  if (run.state === 'cancelling' && state === 'running') return refused('conflict')
  const isNewSeal = seal !== undefined && run.seal === undefined
  if (run.state === state && !isNewSeal) return { ok: true, run }
  if (isNewSeal) {
    yield [keys.account(run.root), keys.standing(run.root), keys.gatewayHead()]
    if (draft.standing(run.root).state !== 'closed') return refused('conflict')
    const { head } = draft.need(keys.account(run.root))
    if (!isSealOver(seal, run.root, head)) return refused('stale')
    draft.appendGateway('sealed', { root: run.root, state, ...head, seal: sha256(seal) }, run.id)
  }
  const finished = {
    ...run,
    state,
    ...(isNewSeal ? { seal } : {}),
    ...(isFinished || reason === undefined ? {} : { reason }),
    ...(!isFinished && TERMINAL.has(state) ? { finishedAtSeconds: now } : {}),
  }
  draft.put(keys.run(run.id), finished)
  return { ok: true, run: finished }
}

/** Written without a word in any stream of the run: those are what cannot be trusted. */
export function* haltRun(
  input: Commands['haltRun']['input'],
  draft: Draft,
): Steps<Commands['haltRun']['result']> {
  const { run: id, stream, now } = input
  yield [keys.run(id), keys.gatewayHead()]
  const run = draft.get(keys.run(id))
  if (run === undefined) return refused('not_found')
  if (run.halted !== undefined) return { ok: true, run, halted: false }
  const halted = { ...run, halted: { stream, atSeconds: now } }
  draft.put(keys.run(id), halted)
  if (draft.isGatewayIntact) {
    draft.appendGateway('operator', { act: 'run_halted', by: 'ledger', run: id, stream })
  }
  return { ok: true, run: halted, halted: true }
}

/** A seal is over the root's head as it is now; whoever signed an older head must sign again. */
function isSealOver(seal: string, root: NodeId, head: Head): boolean {
  const claims = sealSchema.safeParse(parseJws(seal, 'seal+jwt')?.claims)
  if (!claims.success) return false
  const { stream, seq, hash } = claims.data.head
  return stream === root && seq === head.seq && hash === head.hash
}

export function* note(input: Note, draft: Draft): Steps<Commands['note']['result']> {
  const { stream, type, proof, seen } = input
  yield [
    stream === 'gateway' ? keys.gatewayHead() : keys.account(stream),
    ...proofKeys(proof, input.now),
    ...(seen ? [keys.sighting(seen.run, seen.quote)] : []),
  ]
  const head =
    stream === 'gateway' ? draft.get(keys.gatewayHead()) : draft.get(keys.account(stream))?.head
  if (stream !== 'gateway' && head === undefined) return refused('not_found')
  const data = wordsOnly(input.data)
  const isRecorded = proof === undefined ? isLast(draft, input, data) : isOwnProof(draft, proof)
  if (isRecorded && head !== undefined) return { ok: true, head }
  // Only what a node of that very run was given is its run's finding.
  const isOwn = stream !== 'gateway' && draft.get(keys.account(stream))?.run === seen?.run
  if (seen && (!isOwn || seen.node !== stream)) return refused('conflict')
  const refusal = consumeProof(draft, proof)
  if (refusal) return refusal
  noteSighting(draft, seen)
  return {
    ok: true,
    head: stream === 'gateway' ? draft.appendGateway(type, data) : draft.append(stream, type, data),
  }
}

/** The first one stays: it is what the trail of a payment names, and the card that a person has approved. */
function noteSighting(draft: Draft, seen: Sighting | undefined): void {
  if (seen === undefined) return
  const of = keys.sighting(seen.run, seen.quote)
  const { run, quote, node, merchant, atSeconds } = seen
  if (draft.get(of) === undefined) draft.put(of, { run, quote, node, merchant, atSeconds })
}

/** Without a proof, the same note in the same second right after itself is the same note, sent again. */
function isLast(draft: Draft, { stream, type, now }: Note, data: EventData['read']): boolean {
  const last = draft.get(keys.lastEvent(stream))
  if (last === undefined) return false
  const event = parseEvent(last.body)
  return (
    event.type === type && event.at === now && canonicalJson(event.data) === canonicalJson(data)
  )
}

/** Notes carry words; anything longer or stranger than a word is replaced by its digest. */
function wordsOnly(data: Note['data']): EventData['read'] {
  const clean = (text: string) => (text === '' || EVENT_WORD.test(text) ? text : eventWord(text))
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => {
      if (typeof value === 'string') return [name, clean(value)]
      return [name, typeof value === 'object' ? value.map(eventWord) : value]
    }),
  )
}

export function* saveStep(input: SaveStep, draft: Draft): Steps<Commands['saveStep']['result']> {
  const { node, name } = input
  yield [
    keys.step(node, name),
    keys.node(node),
    keys.account(node),
    ...proofKeys(input.note?.proof, input.now),
  ]
  if (draft.get(keys.account(node)) === undefined) return refused('not_found')
  // A walk that lagged behind must not write down again what was erased.
  if (draft.need(keys.node(node)).erasedAtSeconds !== undefined) return refused('run_closed')
  const before = draft.get(keys.step(node, name))
  if (before !== undefined) return { ok: true, value: JSON.parse(before), created: false }
  const refusal = consumeProof(draft, input.note?.proof)
  if (refusal) return refusal
  draft.compare(node)
  const text = JSON.stringify(input.value ?? null)
  draft.put(keys.step(node, name), text)
  if (input.note !== undefined) draft.append(node, input.note.type, wordsOnly(input.note.data))
  return { ok: true, value: JSON.parse(text), created: true }
}
