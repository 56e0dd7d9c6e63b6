/** Acts of the gateway and its operators, as `operator` events of its own stream: written, and the last of a kind found. */
import { isObject, parseJson } from '../core/json.ts'
import type { Ledger, Note } from '../core/ledger.ts'
import type { Head } from '../core/records.ts'
import type { Seconds } from '../core/time.ts'
import { unexpected } from './unexpected.ts'

/** How far back the last one is looked for; what lies further back counts as never written. */
const [PAGE, PAGES] = [500, 20]

export interface Act {
  readonly seq: number
  /** What was noted, `act` included. */
  readonly data: Readonly<Record<string, unknown>>
}

/** Writes one, and returns the head of the gateway's stream. Throws Fault. */
export async function noteAct(
  ledger: Pick<Ledger, 'execute'>,
  data: Note['data'] & { readonly act: string },
  now: Seconds,
): Promise<Head> {
  const noted = await ledger.execute('note', { stream: 'gateway', type: 'operator', data, now })
  if (!noted.ok) throw unexpected('note', noted.code)
  return noted.head
}

/** The last `operator` event of the gateway's stream whose `act` is this one. Throws Fault. */
export async function lastAct(ledger: Ledger, act: string): Promise<Act | undefined> {
  const heads = await ledger.heads('unsealed')
  let before = heads.find(({ stream }) => stream === 'gateway')?.head.seq ?? 0
  for (let page = 0; page < PAGES && before > 0; page += 1) {
    const after = Math.max(0, before - PAGE)
    const events = await ledger.events('gateway', after, before - after)
    for (const { seq, body } of events.toReversed()) {
      // A body is canonical JSON of ours: what is not about this act need not be parsed.
      const data = body.includes(`"${act}"`) ? dataOf(body) : undefined
      if (data?.act === act) return { seq, data }
    }
    before = after
  }
  return undefined
}

function dataOf(body: string): Act['data'] | undefined {
  const event = parseJson(body)
  const data = isObject(event) ? event.data : undefined
  return isObject(data) ? data : undefined
}
