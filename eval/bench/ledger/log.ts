/** A log of any length that verifies: copies of one run that the ledger itself has written, each hashed and chained anew. */
import { hash } from 'node:crypto'
import { canonicalJson } from '../../../runtime/core/json.ts'
import type { FeedEntry } from '../../../runtime/core/records.ts'
import { createMemoryLedger } from '../../../runtime/ledger/memory.ts'
import { TAG, tagOf, writePrototype } from './prototype.ts'

/** One event as text between what differs in each copy: the tag, or the hash of an earlier event of the same run. */
interface Mould {
  readonly texts: readonly string[]
  readonly slots: readonly ('tag' | number)[]
}

export interface LogLine {
  readonly line: string
  readonly body: string
}

const sha256 = (text: string): string => hash('sha256', text, 'base64url')

/** The events of one run with so many leaves, each paid and closed, in the order in which they happened. */
export async function writeRun(leaves: number): Promise<readonly FeedEntry[]> {
  const ledger = createMemoryLedger({ organisation: 'acme' })
  const run = await writePrototype(ledger, { leaves, isClosed: true })
  return ledger.feed(run, 0, 1_000_000)
}

/** Lines of copy after copy, without end. */
export function* copiesOf(run: readonly FeedEntry[]): Generator<LogLine, never> {
  const [created, ...rest] = run
  if (created?.stream !== 'gateway') throw new Error('expected the creation of the run at first')
  const earlier = new Map([[created.hash, 0]])
  const moulds = rest.map(({ body, hash: own }, i) => {
    const mould = mouldOf(body, earlier)
    earlier.set(own, i + 1)
    return mould
  })
  let prev: string = JSON.parse(created.body).prev
  for (let copy = 1; ; copy += 1) {
    const tag = tagOf(copy)
    const fields = JSON.parse(created.body.replaceAll(TAG, tag))
    const first = lineOf(canonicalJson({ ...fields, seq: copy, prev }))
    prev = first.hash
    yield first
    const hashes = [first.hash]
    for (const mould of moulds) {
      const line = lineOf(cast(mould, tag, hashes))
      hashes.push(line.hash)
      yield line
    }
  }
}

function lineOf(body: string): LogLine & { readonly hash: string } {
  const own = sha256(body)
  return { hash: own, body, line: JSON.stringify({ hash: own, body }) }
}

function mouldOf(body: string, earlier: ReadonlyMap<string, number>): Mould {
  const texts: string[] = []
  const slots: Mould['slots'][number][] = []
  let from = 0
  for (const { 0: found, index } of body.matchAll(
    new RegExp(`${TAG}|"(?!${TAG})[\\w-]{43}"`, 'g'),
  )) {
    const slot = found === TAG ? 'tag' : earlier.get(found.slice(1, -1))
    if (slot === undefined) continue
    const quote = slot === 'tag' ? 0 : 1
    texts.push(body.slice(from, index + quote))
    slots.push(slot)
    from = index + found.length - quote
  }
  return { texts: [...texts, body.slice(from)], slots }
}

function cast({ texts, slots }: Mould, tag: string, hashes: readonly string[]): string {
  let text = texts[0] ?? ''
  for (const [i, slot] of slots.entries()) {
    text += (slot === 'tag' ? tag : hashes[slot]) + (texts[i + 1] ?? '')
  }
  return text
}
