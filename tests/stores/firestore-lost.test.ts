/** Answers that are lost after the commit: whatever the client is told instead, each command happens once. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { CommandName, Commands, Ledger } from '../../runtime/core/ledger.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { everything } from '../ledger/contract/bench.ts'
import { SCENES } from '../ledger/scenes.ts'
import { type FirestoreDouble, startFirestoreDouble } from '../support/firestore/double.ts'
import { LOST_ANSWERS, loseAnswer, loseRequest } from '../support/firestore/faults.ts'
import { freshProject, openLedger } from '../support/firestore/ledger.ts'
import { Refusal, STATUS } from '../support/firestore/refusal.ts'
import { accepted, aReserve, NOW, startChain, startRun } from '../support/ledger.ts'

let double: FirestoreDouble
beforeAll(async () => {
  double = await startFirestoreDouble()
})
afterAll(() => double.close())
afterEach(() => {
  double.before = undefined
  double.after = undefined
})

const COMMANDS = Object.keys(SCENES) as CommandName[]

/** Everything, and every run's feed: what a reader sees has its place, once. */
const all = async (ledger: Ledger) => ({
  ...((await everything(ledger)) as object),
  feeds: await Promise.all(
    (await ledger.runs({ limit: 10 })).map(({ id }) => ledger.feed(id, 0, 1_000)),
  ),
})

/** The answer, and what is left, where nothing is lost. */
async function expected<K extends CommandName>(name: K) {
  const ledger = createMemoryLedger({ organisation: 'acme' })
  const result = await ledger.execute(name, await SCENES[name](ledger))
  return { result, left: await all(ledger) }
}

async function happensOnce<K extends CommandName>(name: K, lose: () => () => boolean) {
  const ledger = await openLedger(double.host)
  const input = await SCENES[name](ledger)
  await all(ledger)
  const isLost = lose()
  const result = await ledger.execute(name, input)
  expect(isLost()).toBe(true)
  const { result: usual, left } = await expected(name)
  expect(result).toEqual(usual)
  expect(await all(ledger)).toEqual(left)
  await ledger.close()
}

describe('a lost answer', () => {
  it.each(COMMANDS)('leaves one effect of %s and gives its answer', async (name) => {
    await happensOnce(name, () => loseAnswer(double, { code: STATUS.UNAVAILABLE }))
    await happensOnce(name, () => loseAnswer(double, { code: STATUS.FAILED_PRECONDITION }))
  })

  it.each(Object.entries(LOST_ANSWERS))(
    'leaves one reservation when it says %s',
    async (_, code) => {
      await happensOnce('reserve', () => loseAnswer(double, { code }))
    },
  )

  it('makes one feed entry of each event when it was about the feed', async () => {
    const ledger = await openLedger(double.host)
    let lost = 0
    double.after = (method, { writes = [] }) => {
      const isFeed = writes.some(({ update }) => update?.name.includes('/feeds/'))
      if (method !== 'Commit' || !isFeed || lost >= 3) return
      lost += 1
      throw new Refusal(STATUS.UNKNOWN, 'the answer is lost')
    }
    await SCENES.setStanding(ledger)
    const memory = createMemoryLedger({ organisation: 'acme' })
    await SCENES.setStanding(memory)
    expect((await all(ledger)).feeds).toEqual((await all(memory)).feeds)
    expect(lost).toBeGreaterThan(0)
    await ledger.close()
  })
})

describe('a lost request', () => {
  it.each(COMMANDS)('is sent again: one effect of %s', async (name) => {
    await happensOnce(name, () => loseRequest(double, STATUS.UNAVAILABLE))
  })
})

describe('a command whose answer was lost while another came between', () => {
  /** Two instances of one store; the second acts while the first waits for its answer. */
  async function between<K extends CommandName>(
    prepare: (ledger: Ledger) => Promise<Commands[K]['input']>,
    name: K,
    meanwhile: (other: Ledger) => Promise<unknown>,
  ) {
    const projectId = freshProject()
    const [ledger, other] = await Promise.all([
      openLedger(double.host, { projectId }),
      openLedger(double.host, { projectId }),
    ])
    const input = await prepare(ledger)
    const isLost = loseAnswer(double, {
      code: STATUS.UNKNOWN,
      meanwhile: () => meanwhile(other),
    })
    const result = await ledger.execute(name, input)
    expect(isLost()).toBe(true)
    await other.close()
    return { ledger, result }
  }

  it('does not freeze again what was resumed', async () => {
    let node = 'gateway' as Commands['setStanding']['input']['node']
    const { ledger, result } = await between(
      async (of) => {
        node = (await startChain(of)).planner.id
        return { node, state: 'frozen', by: 'op', now: NOW }
      },
      'setStanding',
      (other) => other.execute('setStanding', { node, state: 'live', by: 'op2', now: NOW }),
    )
    expect(result).toMatchObject({ ok: true, standing: { state: 'frozen', version: 2 } })
    expect(await ledger.standing(node)).toMatchObject({ state: 'live', version: 3 })
    await ledger.close()
  })

  it('does not note again what is no longer the last event', async () => {
    const note = { type: 'operator', data: { act: 'login' }, now: NOW } as const
    const { ledger, result } = await between(
      async () => ({ ...note, stream: 'gateway' }),
      'note',
      (other) => startRun(other),
    )
    expect(result).toMatchObject({ ok: true, head: { seq: 1 } })
    expect(await ledger.heads()).toMatchObject([{ head: { seq: 2 } }, {}])
    await ledger.close()
  })

  it('does not release what another attempt has reserved anew', async () => {
    const { ledger, result } = await between(SCENES.release, 'release', async (other) => {
      const [run] = await other.runs({ limit: 1 })
      const leaf = (await other.tree(run?.id ?? 'run_none')).at(-1)?.node
      if (!leaf) throw new Error('expected a leaf')
      accepted(await other.execute('reserve', aReserve(leaf)))
    })
    expect(result).toMatchObject({ ok: true, payment: { state: 'released' } })
    expect(await ledger.payments({ limit: 9 })).toMatchObject([{ state: 'reserved' }])
    await ledger.close()
  })

  it('says that it created a run, or a step, that others have used since', async () => {
    const run = await between(SCENES.createRun, 'createRun', async (other) => {
      const [made] = await other.runs({ limit: 1 })
      if (!made) throw new Error('expected a run')
      const input = { run: made.id, state: 'cancelling', now: NOW } as const
      accepted(await other.execute('finishRun', input))
    })
    expect(run.result).toMatchObject({ ok: true, created: true })
    await run.ledger.close()
    const step = await between(SCENES.saveStep, 'saveStep', async (other) => {
      const [made] = await other.runs({ limit: 1 })
      const node = made?.root ?? 'nd_none'
      const input = { stream: node, type: 'planned', data: {}, now: NOW } as const
      accepted(await other.execute('note', input))
    })
    expect(step.result).toMatchObject({ ok: true, created: true })
    await step.ledger.close()
  })
})
