import { execFileSync } from 'node:child_process'
import { afterEach, describe, expect, it } from 'vitest'
import { Fault } from '../../runtime/core/errors.ts'
import type { Clock } from '../../runtime/core/time.ts'
import { createKnownHolders } from '../../runtime/tokens/known-holders.ts'
import { createTokenEngine, type TokenPool } from '../../runtime/tokens/pool.ts'
import type { PoolLimits } from '../../runtime/tokens/worker-pool.ts'
import { keyOf, NOW, ROOT_ID, ROOT_KEY, rootClaims } from './fixtures.ts'

const clock: Clock = { nowMs: () => performance.now() }
const rootKeys = { current: { id: ROOT_ID, privateKey: ROOT_KEY }, others: [] }
const FAKE = new URL('./fake-worker.ts', import.meta.url)

const open: TokenPool[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((pool) => pool.close()))
})

async function fakePool(limits: Partial<PoolLimits> = {}, workers = 1): Promise<TokenPool> {
  const options = { rootKeys, workers, clock, limits, workerUrl: FAKE }
  const pool = await createTokenEngine(options)
  open.push(pool)
  return pool
}

/** Which thread answers. */
async function who(pool: TokenPool, token = 'who'): Promise<number> {
  const verdict = await pool.verify(token)
  if (!verdict.ok) throw new Error(`expected an answer: ${verdict.code}`)
  return verdict.token.rootKeyId
}

const fault = (code: string) => expect.objectContaining({ name: 'Fault', code, retryable: true })

describe('a call that does not end', () => {
  for (const [how, token] of [
    ['waits for ever', 'hang'],
    ['spins in its thread', 'spin'],
  ] as const) {
    it(`is a fault at its deadline when it ${how}, and the next call has another worker`, async () => {
      const pool = await fakePool({ callMs: 300 })
      const first = await who(pool)
      await expect(pool.verify(token)).rejects.toEqual(fault('engine_timeout'))
      const second = await eventually(() => who(pool))
      expect(second).not.toBe(first)
      expect(pool.stats().timeouts).toBeGreaterThanOrEqual(1)
    })
  }

  it('leaves the other worker serving', async () => {
    const pool = await fakePool({ callMs: 1_000 }, 2)
    const hanging = pool.verify('hang')
    const answered = Promise.all(Array.from({ length: 20 }, () => who(pool)))
    await expect(answered).resolves.toHaveLength(20)
    await expect(hanging).rejects.toEqual(fault('engine_timeout'))
  })

  it('counts the time that it waited in the queue', async () => {
    const pool = await fakePool({ callMs: 300 })
    const both = await Promise.allSettled([pool.verify('hang'), pool.verify('who')])
    expect(both.map((each) => each.status)).toEqual(['rejected', 'rejected'])
    await expect(eventually(() => who(pool))).resolves.toBeTypeOf('number')
  })
})

describe('a call that was late because it waited', () => {
  it('is a fault and costs no worker', async () => {
    const pool = await fakePool({ callMs: 1_500 })
    const worker = await who(pool)
    const calls = ['slow:1000', 'slow:1000'].map((token) => pool.verify(token))
    const ended = await Promise.allSettled(calls)
    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(await who(pool)).toBe(worker)
    expect(pool.stats()).toMatchObject({ workers: 1, timeouts: 1 })
  })

  it('is not made again when its worker breaks afterwards', async () => {
    const pool = await fakePool({ callMs: 1_500 })
    const calls = ['slow:1000', 'slowly-broken:1000'].map((token) => pool.verify(token))
    await Promise.allSettled(calls)
    await eventually(() => who(pool))
    expect(pool.stats()).toMatchObject({ busy: 0, queued: 0, broken: 1 })
  })
})

describe('a clock that is distrusted while calls are under way', () => {
  it('is a fault of the calls that come then, and of no other', async () => {
    let isTrusted = true
    const nowMs = () => {
      if (!isTrusted) throw new Fault('clock_untrusted', 'stepped')
      return performance.now()
    }
    const limits = { callMs: 60_000 }
    const pool = await createTokenEngine({
      rootKeys,
      workers: 1,
      clock: { nowMs },
      limits,
      workerUrl: FAKE,
    })
    open.push(pool)
    const before = [who(pool), who(pool), who(pool)]
    isTrusted = false
    await expect(pool.verify('who')).rejects.toEqual(fault('clock_untrusted'))
    await expect(Promise.all(before)).resolves.toHaveLength(3)
    isTrusted = true
    await expect(who(pool)).resolves.toBeTypeOf('number')
  })
})

/** A worker boots meanwhile, so a call may still meet its own deadline. */
async function eventually<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < 50; tries += 1) {
    try {
      return await call()
    } catch {}
  }
  return call()
}

describe('the queue', () => {
  it('takes as many calls as its limit and refuses one more, at once', async () => {
    const pool = await fakePool({ queue: 3, callMs: 60_000 })
    const calls = ['hang', 'who', 'who', 'who'].map((token) => pool.verify(token))
    const ended = Promise.allSettled(calls)
    expect(pool.stats()).toMatchObject({ busy: 1, queued: 3 })
    await expect(pool.verify('who')).rejects.toEqual(fault('engine_busy'))
    expect(pool.stats()).toMatchObject({ busyRefusals: 1, queued: 3 })
    await pool.close()
    expect((await ended).map((each) => each.status)).toEqual(Array(4).fill('rejected'))
  })

  it('takes no more of one holder than its part, and leaves the rest to others', async () => {
    const pool = await fakePool({ queue: 3, queueOfOne: 2, callMs: 60_000 })
    const calls = ['hang', 'who', 'who'].map((token) => pool.verify(token, undefined, 'one'))
    await expect(pool.verify('who', undefined, 'one')).rejects.toEqual(fault('engine_busy'))
    const ended = Promise.allSettled([...calls, pool.verify('who', undefined, 'other')])
    expect(pool.stats()).toMatchObject({ busyRefusals: 1, queued: 3 })
    await pool.close()
    expect(await ended).toHaveLength(4)
  })

  it('lets recognised holders go first, and every fourth time whoever has waited longest', async () => {
    const pool = await fakePool()
    pool.recognise('friend')
    const holders = ['a', 'b', 'c', 'friend', 'd', 'friend', 'friend', 'e', 'friend']
    const answered: string[] = []
    const calls = holders.map(async (holder, i) => {
      await pool.verify('who', undefined, holder)
      answered.push(`${holder}${i}`)
    })
    await Promise.all(calls)
    const first = ['a0', 'friend3', 'friend5', 'b1', 'friend6', 'friend8', 'c2', 'd4', 'e7']
    expect(answered).toEqual(first)
  })

  it('leaves one worker to recognised holders, however many others come', async () => {
    const pool = await fakePool({ callMs: 60_000 }, 2)
    pool.recognise('friend')
    const strangers = ['a', 'b', 'c'].map((holder) => pool.verify('hang', undefined, holder))
    const ended = Promise.allSettled(strangers)
    for (let call = 0; call < 5; call += 1) {
      expect(await pool.verify('who', undefined, 'friend')).toMatchObject({ ok: true })
    }
    expect(pool.stats()).toMatchObject({ busy: 1, queued: 2 })
    await pool.close()
    expect(await ended).toHaveLength(3)
  })

  it('when it is full gives the place of the last unknown holder to a recognised one, and to no other', async () => {
    const pool = await fakePool({ queue: 2, callMs: 60_000 })
    pool.recognise('friend')
    void pool.verify('hang').catch(() => undefined)
    const calls = ['a', 'b', 'friend', 'friend', 'c', 'friend'].map((holder) =>
      pool.verify('who', undefined, holder).catch((fault: unknown) => ({ holder, fault })),
    )
    const busy = (holder: string) => ({ holder, fault: fault('engine_busy') })
    expect(await Promise.all([calls[0], calls[1], calls[4], calls[5]])).toEqual([
      busy('a'),
      busy('b'),
      busy('c'),
      busy('friend'),
    ])
    expect(pool.stats()).toMatchObject({ queued: 2, busyRefusals: 4 })
  })

  it('knows the holders of the latest nodes, and forgets the one that it has known for longest', () => {
    const known = createKnownHolders(2)
    for (const holder of ['one', 'two', 'one', 'three']) known.add(holder)
    expect(['one', 'two', 'three'].map((holder) => known.has(holder))).toEqual([true, false, true])
  })

  it('answers in order, each call with its own answer', async () => {
    const pool = await fakePool()
    const answers: string[] = []
    const calls = ['who', 'broken', 'fault', 'who'].map(async (token) => {
      const answer = await pool.verify(token).catch((thrown: unknown) => thrown)
      answers.push(token)
      return answer
    })
    const [one, two, three, four] = await Promise.all(calls)
    expect(one).toMatchObject({ ok: true })
    expect(two).toEqual({ ok: false, code: 'token_invalid' })
    expect(three).toEqual(fault('engine_timeout'))
    expect(four).toMatchObject({ ok: true })
    expect(answers).toEqual(['who', 'broken', 'fault', 'who'])
  })
})

describe('a worker that breaks', () => {
  it('is replaced, and the task that met it is done by the next one', async () => {
    const pool = await fakePool()
    const first = await who(pool)
    expect(await who(pool, `broken-on:${first}`)).not.toBe(first)
    expect(pool.stats()).toMatchObject({ broken: 1, workers: 1 })
  })

  it('twice under the same token makes that token refused, and the pool serves on', async () => {
    const pool = await fakePool()
    for (const token of ['broken', 'exit', 'throw']) {
      expect(await pool.verify(token)).toEqual({ ok: false, code: 'token_invalid' })
      expect(await who(pool)).toBeTypeOf('number')
    }
  })

  it('while minting is our fault, never a refusal', async () => {
    const pool = await fakePool()
    await expect(pool.mintRoot(rootClaims())).rejects.toEqual(fault('engine_failed'))
  })
})

describe('a worn worker', () => {
  const until = async (done: () => boolean, step: () => Promise<unknown>) => {
    for (let i = 0; i < 5_000 && !done(); i += 1) {
      await step()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  it('is replaced after its count of calls, and no call fails meanwhile', async () => {
    const pool = await fakePool({ recycleCount: 50 })
    const threads = new Set<number>()
    await until(
      () => pool.stats().recycled >= 2,
      async () => threads.add(await who(pool)),
    )
    expect(pool.stats().recycled).toBeGreaterThanOrEqual(2)
    expect(threads.size).toBeGreaterThanOrEqual(2)
  })

  it('is replaced when its memory passes the limit, and not before', async () => {
    const pool = await fakePool({ recycleBytes: 1_000 })
    const first = await who(pool)
    for (let i = 0; i < 20; i += 1) expect(await who(pool, 'memory:999')).toBe(first)
    await who(pool, 'memory:1000')
    await until(
      () => pool.stats().recycled > 0,
      () => who(pool),
    )
    expect(await who(pool)).not.toBe(first)
  })

  it('is ended at twice its memory without waiting for its successor', async () => {
    const pool = await fakePool({ recycleBytes: 1_000 })
    const first = await who(pool)
    await who(pool, 'memory:2000')
    expect(pool.stats().recycled).toBe(1)
    expect(await who(pool)).not.toBe(first)
  })
})

describe('a start', () => {
  const start = (workerUrl: URL, limits: Partial<PoolLimits> = {}) =>
    createTokenEngine({ rootKeys, clock, workers: 1, limits, workerUrl })

  it('fails as a fault when no worker comes up', async () => {
    const broken = new URL('data:text/javascript,throw new Error()')
    await expect(start(broken)).rejects.toEqual(fault('engine_failed'))
  })

  it('fails as a fault when a worker never says that it is ready', async () => {
    const silent = new URL('data:text/javascript,setInterval(()=>{},1000)')
    await expect(start(silent, { bootMs: 100 })).rejects.toEqual(fault('engine_failed'))
  })

  it('refuses root keys that are not Ed25519 and ids given twice or out of range', async () => {
    const { generateKeyPairSync, createPublicKey } = await import('node:crypto')
    const p256 = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const other = createPublicKey(keyOf(66))
    const current = rootKeys.current
    const retiresAtSeconds = NOW
    const wrong = [
      { current: { id: 1, privateKey: p256.privateKey }, others: [] },
      { current: { id: 1, privateKey: other }, others: [] },
      { current, others: [{ id: 8, publicKey: p256.publicKey, retiresAtSeconds }] },
      { current, others: [{ id: current.id, publicKey: other, retiresAtSeconds }] },
      { current, others: [{ id: -1, publicKey: other, retiresAtSeconds }] },
      { current, others: [{ id: 2 ** 32, publicKey: other, retiresAtSeconds }] },
    ]
    for (const keys of wrong) {
      await expect(createTokenEngine({ rootKeys: keys, clock })).rejects.toEqual(
        expect.objectContaining({ name: 'Fault', code: 'config_invalid', retryable: false }),
      )
    }
  })
})

describe('a closed engine', () => {
  it('answers with a fault', async () => {
    const pool = await fakePool()
    await pool.close()
    await expect(pool.verify('who')).rejects.toEqual(fault('engine_failed'))
    expect(pool.stats()).toMatchObject({ workers: 0, busy: 0, queued: 0 })
  })
})

describe('a worker thread', () => {
  it('has an empty environment: whatever secrets the process was given stay out of it', async () => {
    process.env.HEADGATE_TEST_SECRET = 'x'
    const pool = await fakePool()
    expect(await who(pool, 'environment')).toBe(0)
    delete process.env.HEADGATE_TEST_SECRET
  })
})

describe('standard output', () => {
  const run = (script: string) =>
    execFileSync(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script],
      { cwd: process.cwd(), encoding: 'utf8', timeout: 20_000, stdio: ['ignore', 'pipe', 'pipe'] },
    )
  const open = (options: string) => `
    import { ed25519FromSeed } from './runtime/core/keys.ts'
    import { createTokenEngine } from './runtime/tokens/pool.ts'
    const rootKeys = {
      current: { id: 1, privateKey: ed25519FromSeed(new Uint8Array(32)) }, others: [],
    }
    const clock = { nowMs: () => performance.now() }
    const engine = await createTokenEngine({ rootKeys, clock, ${options} })
  `

  it('stays ours under plain node, and an engine left open does not keep the process', () => {
    const out = run(`${open('')}
      console.log(JSON.stringify(await engine.verify('no token')))
    `)
    expect(out).toBe('{"ok":false,"code":"token_invalid"}\n')
  })

  it('stays ours whatever a worker prints', () => {
    const out = run(`${open("workerUrl: new URL('./tests/tokens/fake-worker.ts', import.meta.url)")}
      await engine.verify('print')
      await engine.verify('who')
      console.log('done')
    `)
    expect(out).toBe('done\n')
  })
})
