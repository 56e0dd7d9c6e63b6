/** No worker is left, and none of this is faked: real threads, the real library, broken or ended in both at once. */
import { afterEach, expect, it } from 'vitest'
import type { RequestFacts } from '../../runtime/core/block.ts'
import { createTokenEngine, type TokenPool } from '../../runtime/tokens/pool.ts'
import { append, leafClaims, payRequest, ROOT_ID, ROOT_KEY, root, rootClaims } from './fixtures.ts'

let pool: TokenPool
afterEach(() => pool.close())

const start = async (workerUrl?: URL) => {
  pool = await createTokenEngine({
    rootKeys: { current: { id: ROOT_ID, privateKey: ROOT_KEY }, others: [] },
    workers: 2,
    clock: { nowMs: () => performance.now() },
    // What is shown is that service resumes, not how soon.
    limits: { callMs: 60_000 },
    ...(workerUrl && { workerUrl }),
  })
}

const honest = () => append(root().token, leafClaims(1)).token

/** Bytes where the library takes a text trap in it, and its instance is dead. No caller of ours can send them. */
const trapping = { ...payRequest(), payee: new Uint8Array(3) as unknown } as RequestFacts

const OUTAGES: readonly [string, () => Promise<unknown>, URL?][] = [
  ['its library traps', () => pool.verify(honest(), trapping)],
  ['its thread ends', () => pool.verify('exit'), new URL('./mortal-worker.ts', import.meta.url)],
]

it.each(OUTAGES)(
  'when in both workers at once %s, whoever waits is served by the next two',
  async (_how, hurt, workerUrl) => {
    await start(workerUrl)
    const hurts = [hurt(), hurt()]
    expect(pool.stats()).toMatchObject({ workers: 2, busy: 2, queued: 0, broken: 0 })
    const waiting = [
      ...Array.from({ length: 6 }, () => pool.verify(honest(), payRequest())),
      pool.mintRoot(rootClaims()).then(({ token }) => pool.verify(token)),
    ]
    expect(pool.stats()).toMatchObject({ busy: 2, queued: 7 })

    // Each was tried on a second worker too, so that four were lost.
    const refused = { ok: false, code: 'token_invalid' }
    expect(await Promise.all(hurts)).toEqual([refused, refused])
    expect(pool.stats()).toMatchObject({ broken: 4, timeouts: 0 })

    const answers = await Promise.all(waiting)
    expect(answers.map(({ ok }) => ok)).toEqual(Array(7).fill(true))
    expect(answers.slice(0, 6)).toMatchObject(Array(6).fill({ token: { authorised: true } }))
    // Two at once again: both places are filled.
    await Promise.all(Array.from({ length: 20 }, () => pool.verify(honest(), payRequest())))
    await expect
      .poll(() => pool.stats(), { timeout: 20_000 })
      .toMatchObject({
        workers: 2,
        busy: 0,
        queued: 0,
        broken: 4,
        timeouts: 0,
      })
  },
  90_000,
)
