/** Acts of the gateway itself, as events of its own stream: the last of a kind, found from the end backwards. */
import { parseJson } from '../core/json.ts'
import type { Ledger } from '../core/ledger.ts'

/** How far back the last one is looked for; what lies further back counts as never written. */
const [PAGE, PAGES] = [500, 20]

export interface Act {
  readonly seq: number
  /** What was noted, `act` included. */
  readonly data: Readonly<Record<string, unknown>>
}

/** The last `operator` event of the gateway's stream whose `act` is this one. Throws Fault. */
export async function lastAct(ledger: Ledger, act: string): Promise<Act | undefined> {
  const heads = await ledger.heads('unsealed')
  let before = heads.find(({ stream }) => stream === 'gateway')?.head.seq ?? 0
  for (let page = 0; page < PAGES && before > 0; page += 1) {
    const after = Math.max(0, before - PAGE)
    for (const { seq, body } of (
      await ledger.events('gateway', after, before - after)
    ).toReversed()) {
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
  const data = isFields(event) ? event.data : undefined
  return isFields(data) ? data : undefined
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
