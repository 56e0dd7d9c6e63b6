/**
 * A change of root keys as an event of the gateway's own stream: which ids there are, by thumbprint, and until when. It
 * is written at a start whose keys are not those that were written last, so an auditor reads every rotation once.
 */
import { canonicalJson, parseJson } from '../core/json.ts'
import { type PublishedRootKeys, thumbprint } from '../core/keys.ts'
import type { Ledger, Note } from '../core/ledger.ts'
import type { Seconds } from '../core/time.ts'

const ACT = 'root_keys'

/** How far back the last one is looked for; further back than this the same keys are written once more. */
const [PAGE, PAGES] = [500, 20]

/** Writes the keys unless they were the last that were written. Throws Fault. */
export async function recordRootKeys(
  ledger: Ledger,
  published: PublishedRootKeys,
  now: Seconds,
): Promise<void> {
  const data = dataOf(published)
  if (await isLast(ledger, data)) return
  await ledger.execute('note', { stream: 'gateway', type: 'operator', data, now })
}

/** Keys as identifiers, `id.thumbprint` or `id.thumbprint.retiresAt`: an event keeps any other text as a digest alone. */
function dataOf({ current, keys }: PublishedRootKeys): Note['data'] {
  const names = keys.map(({ id, jwk, retiresAt }) =>
    [id, thumbprint(jwk), ...(retiresAt === undefined ? [] : [retiresAt])].join('.'),
  )
  return { act: ACT, current, keys: names }
}

async function isLast(ledger: Ledger, data: Note['data']): Promise<boolean> {
  const heads = await ledger.heads()
  let before = heads.find(({ stream }) => stream === 'gateway')?.head.seq ?? 0
  for (let page = 0; page < PAGES && before > 0; page += 1) {
    const after = Math.max(0, before - PAGE)
    const events = await ledger.events('gateway', after, before - after)
    // A body is canonical JSON of ours: what is not about keys need not be parsed.
    const last = events.findLast(({ body }) => body.includes(`"${ACT}"`))
    if (last !== undefined) return isAbout(last.body, data)
    before = after
  }
  return false
}

function isAbout(body: string, data: Note['data']): boolean {
  const event = parseJson(body)
  const said = typeof event === 'object' && event !== null && 'data' in event ? event.data : null
  return said !== null && canonicalJson(said) === canonicalJson({ ...data })
}
