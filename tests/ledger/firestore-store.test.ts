/** What is particular to the store on Firestore: its documents, its patience, its feed, and who may not see what. */
import { Firestore } from '@google-cloud/firestore'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sha256 } from '../../runtime/core/ids.ts'
import type { Commands } from '../../runtime/core/ledger.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { later } from '../../runtime/core/time.ts'
import { documentId } from '../../runtime/ledger/firestore-documents.ts'
import { type FirestoreDouble, startFirestoreDouble } from '../support/firestore/double.ts'
import { freshProject, openLedger, openTogether } from '../support/firestore/ledger.ts'
import { Refusal, STATUS } from '../support/firestore/refusal.ts'
import {
  aChild,
  accepted,
  addChild,
  aProof,
  aReserve,
  aSplit,
  NOW,
  paySubmitted,
  startChain,
  startRun,
} from '../support/ledger.ts'

let double: FirestoreDouble
const ends: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  double = await startFirestoreDouble()
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await double.close()
})

/** A ledger and a client that reads and changes its documents behind its back. */
async function opened(options: Parameters<typeof openLedger>[1] = {}) {
  const projectId = freshProject()
  const ledger = await openLedger(double.host, { projectId, ...options })
  const address = { host: double.host, ssl: false, projectId, universeDomain: 'googleapis.com' }
  const db = new Firestore(address)
  ends.push(
    () => ledger.close(),
    () => db.terminate(),
  )
  return { ledger, projectId, root: db.doc('organisations/acme') }
}

const MOST = Number.MAX_SAFE_INTEGER

describe('documents', () => {
  it('keep the largest amount exactly, and hold no number that Firestore could make a double', async () => {
    const { ledger } = await opened()
    const chain = await startRun(ledger, { ceiling: MOST })
    const leaf = await addChild(ledger, chain.root, 'leaf', { ceiling: MOST })
    await paySubmitted(ledger, leaf, { amount: MOST })
    expect(await ledger.account(leaf.id)).toMatchObject({ available: 0, reserved: MOST })
    for (const { fields } of double.engine.documents.everything()) {
      for (const value of Object.values(fields)) {
        expect(Object.keys(value)).not.toContain('integerValue')
        expect(Object.keys(value)).not.toContain('doubleValue')
      }
    }
  })

  it('of events hold exactly the bytes that were hashed, and cannot be made twice', async () => {
    const { ledger, root } = await opened()
    const { leaf } = await startChain(ledger)
    await paySubmitted(ledger, leaf)
    const events = await ledger.events(leaf.id, 0, 10)
    const stored = await root.collection('events').orderBy('__name__').get()
    const own = stored.docs.filter(({ id }) => id.startsWith(leaf.id))
    expect(own.map((doc) => doc.get('body'))).toEqual(events.map(({ body }) => body))
    for (const doc of own) expect(sha256(doc.get('body'))).toBe(doc.get('hash'))
    const again = own[0]?.ref.create({ body: 'x' })
    await expect(again).rejects.toMatchObject({ code: STATUS.ALREADY_EXISTS })
  })

  it('have names that no two lists of parts share, and that Firestore takes', () => {
    const lists = [
      ['a', 'b'],
      ['a|b'],
      ['a/b'],
      ['a', '/b'],
      ['.'],
      ['..'],
      ['__a__'],
      ['%5F_a__'],
      ['__a', 'b__'],
      [''],
      ['', ''],
      ['Asia/Kolkata day'],
      ['é'],
      ['e\u0301'],
    ]
    const names = lists.map(documentId)
    expect(new Set(names).size).toBe(lists.length)
    for (const name of names) expect(name).not.toMatch(/^$|\/|^\.{1,2}$|^__.*__$/)
  })

  it('never lose a field that was undefined: the command fails', async () => {
    const { ledger } = await opened()
    const { root } = await startRun(ledger)
    const child = { ...aChild(root, 'a'), label: undefined as unknown as string }
    await expect(ledger.execute('split', aSplit(child))).rejects.toThrow(TypeError)
    expect(await ledger.children(root.id)).toEqual([])
  })

  it('of one organisation are nothing to another in the same database', async () => {
    const { ledger, projectId } = await opened()
    const { run, leaf } = await startChain(ledger)
    const { id } = await paySubmitted(ledger, leaf)
    const other = await openLedger(double.host, { projectId, organisation: 'acme.two' })
    ends.push(() => other.close())
    expect(await other.runs({ limit: 10 })).toEqual([])
    expect(await other.run(run.id)).toBeUndefined()
    expect(await other.payment(id)).toBeUndefined()
    expect(await other.payments({ limit: 10 })).toEqual([])
    expect(await other.heads()).toEqual([])
    expect(await other.feed(run.id, 0, 10)).toEqual([])
    const freeze = { node: 'gateway', state: 'frozen', by: 'op', now: NOW } as const
    expect(accepted(await other.execute('setStanding', freeze)).onTheirWay).toEqual([])
    expect((await ledger.standing('gateway')).state).toBe('live')
  })

  it.each([
    ['a balance', (account: Account) => ({ ...account, available: account.available + 1 })],
    ['a head', (account: Account) => ({ ...account, head: { ...account.head, seq: 1 } })],
  ])('are compared with the log: nothing is given out where %s was edited', async (_what, edit) => {
    const { ledger, root } = await opened()
    const { leaf } = await startChain(ledger)
    const { payment } = accepted(await ledger.execute('reserve', aReserve(leaf, { amount: 1 })))
    const release = { payment: payment.id, from: 'reserved', reason: 'x', now: NOW } as const
    accepted(await ledger.execute('release', release))
    const account = root.collection('account').doc(leaf.id)
    const text = (await account.get()).get('text')
    await account.update({ text: JSON.stringify(edit(JSON.parse(text))) })
    const attempt = ledger.execute('reserve', aReserve(leaf, { amount: 1 }))
    await expect(attempt).rejects.toMatchObject({ code: 'ledger_corrupt', retryable: false })
  })

  it('of a newer program are refused', async () => {
    const { projectId, root } = await opened()
    await root.set({ text: '{"format":2}' })
    const attempt = openLedger(double.host, { projectId })
    await expect(attempt).rejects.toMatchObject({ code: 'store_newer', retryable: false })
  })
})

interface Account {
  readonly available: number
  readonly head: { readonly seq: number; readonly hash: string }
}

describe('proofs', () => {
  const limits: { seenProofs: number } = LIMITS
  const { seenProofs } = LIMITS
  afterEach(() => {
    limits.seenProofs = seenProofs
  })

  it('are counted by holder, refused when there are too many, and forgotten with age', async () => {
    const { ledger } = await opened()
    const { planner, leaf } = await startChain(ledger)
    const use = (node: typeof leaf, attempt: string, now = NOW) =>
      ledger.execute('note', {
        stream: node.id,
        type: 'read',
        data: { attempt },
        proof: { ...aProof(node, attempt), expiresAtSeconds: later(now, 62) },
        now,
      })
    const kept = 62 + LIMITS.proofKeptSeconds
    limits.seenProofs = 2
    accepted(await use(leaf, 'a'))
    accepted(await use(leaf, 'b'))
    expect(await use(leaf, 'c')).toEqual({ ok: false, code: 'proofs_full' })
    accepted(await use(planner, 'c'))
    accepted(await use(leaf, 'a'))
    expect(await use(leaf, 'c', later(NOW, kept))).toEqual({ ok: false, code: 'proofs_full' })
    accepted(await use(leaf, 'c', later(NOW, kept + 1)))
  })
})

describe('patience', () => {
  it('ends at the deadline, and what happened after all is found when it is sent again', async () => {
    const { ledger } = await opened({ deadlineMs: 400 })
    const { leaf } = await startChain(ledger)
    const input = aReserve(leaf, { nonce: 'mine' })
    const { promise: opening, resolve: open } = Promise.withResolvers<void>()
    double.after = async (method) => {
      if (method === 'Commit') await opening
    }
    const attempt = ledger.execute('reserve', input)
    await expect(attempt).rejects.toMatchObject({ code: 'store_unavailable', retryable: true })
    double.after = undefined
    open()
    const { payment } = accepted(await ledger.execute('reserve', input))
    expect(payment).toMatchObject({ state: 'submitted', nonce: 'mine' })
    expect(await ledger.account(leaf.id)).toMatchObject({ reserved: 1_000 })
  })

  it('is refused at once where nobody answers, as the store that cannot be reached', async () => {
    const closed = await startFirestoreDouble()
    await closed.close()
    const attempt = openLedger(closed.host, { deadlineMs: 300 })
    await expect(attempt).rejects.toMatchObject({ code: 'store_unavailable', retryable: true })
  })

  it('does not try again what is forbidden', async () => {
    const { ledger } = await opened()
    let commits = 0
    double.before = (method) => {
      if (method !== 'Commit') return
      commits += 1
      throw new Refusal(STATUS.PERMISSION_DENIED, 'not yours')
    }
    await expect(ledger.ping()).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(commits).toBe(2)
  })

  it('is one call of each kind: the client adds no attempts of its own', async () => {
    const { ledger } = await opened()
    const count = () => [double.calls.get('BatchGetDocuments'), double.calls.get('Commit')]
    const [reads = 0, commits = 0] = count()
    let failures = 0
    double.before = (method) => {
      failures += 1
      if (failures > 2) return
      const isRead = method === 'BatchGetDocuments'
      throw new Refusal(isRead ? STATUS.ABORTED : STATUS.UNAVAILABLE, 'not now')
    }
    await ledger.ping()
    expect(count()).toEqual([reads + 3, commits + 1])
  })

  it('takes one read of documents, one of the last event and one commit for a payment', async () => {
    const { ledger } = await opened({ pollMs: 60_000 })
    const { run, leaf } = await startChain(ledger)
    await ledger.feed(run.id, 0, 1)
    const methods: string[] = []
    double.before = (method) => void methods.push(method)
    accepted(await ledger.execute('reserve', aReserve(leaf, { nonce: 'n' })))
    expect(methods.slice(0, 3)).toEqual(['BatchGetDocuments', 'BatchGetDocuments', 'Commit'])
  })
})

describe('reads', () => {
  it('of several questions see one instant, whatever is written between them', async () => {
    const { ledger, projectId } = await opened()
    const { run, leaf } = await startChain(ledger)
    const other = await openLedger(double.host, { projectId })
    ends.push(() => other.close())
    let notes = 0
    const between = async (read: () => Promise<unknown>) => {
      const before = await read()
      let isDone = false
      double.after = async (method) => {
        if (isDone || method === 'Commit') return
        isDone = true
        notes += 1
        const data = { notes }
        const note: Commands['note']['input'] = { stream: leaf.id, type: 'read', data, now: NOW }
        accepted(await other.execute('note', note))
      }
      expect(await read()).toEqual(before)
      expect(isDone).toBe(true)
      double.after = undefined
      expect(await read()).not.toEqual(before)
    }
    await between(() => ledger.tree(run.id))
    await between(() => ledger.heads())
  })

  it('are asked again where one fails, and end nothing else', async () => {
    const { ledger } = await opened()
    const { leaf } = await startChain(ledger)
    const request = { node: leaf.id, payment: 'pay_none', counters: ['day'] } as const
    const usual = await ledger.snapshot(request)
    let calls = 0
    double.before = (method) => {
      calls += 1
      if (method !== 'Commit' && calls % 2 === 1 && calls < 8) {
        throw new Refusal(STATUS.ABORTED, 'not now')
      }
    }
    expect(await ledger.snapshot(request)).toEqual(usual)
    expect(calls).toBeGreaterThan(7)
  })
})

describe('the feed', () => {
  it('is told to every instance that follows a run', async () => {
    const together = await openTogether(double.host, 1)
    ends.push(together.dispose)
    const [other] = together.peers
    if (!other) throw new Error('expected a peer')
    const { run, planner } = await startChain(together.ledger)
    await other.feed(run.id, 0, 1)
    const told: number[] = []
    other.onFeed((of, position) => {
      if (of === run.id) told.push(position)
    })
    const before = (await together.ledger.feed(run.id, 0, 100)).length
    await addChild(together.ledger, planner, 'more')
    await expect.poll(() => told.at(-1), { timeout: 10_000 }).toBe(before + 2)
  })

  it('is taken up by another instance where one ended before it was done', async () => {
    const projectId = freshProject()
    const first = await openLedger(double.host, { projectId, deadlineMs: 1_000 })
    double.before = (method, { writes = [] }) => {
      const isFeed = writes.some(({ update }) => update?.name.includes('/feeds/'))
      if (method === 'Commit' && isFeed) throw new Refusal(STATUS.UNAVAILABLE, 'ended')
    }
    const { run } = await startChain(first)
    await first.close()
    double.before = undefined
    const second = await openLedger(double.host, { projectId, pollMs: 50 })
    ends.push(() => second.close())
    const length = async () => (await second.feed(run.id, 0, 100)).length
    await expect.poll(length, { timeout: 10_000 }).toBe(6)
  })

  it.each([
    ['after the feed was read', 'BatchGetDocuments'],
    ['just before the commit', 'Commit'],
  ] as const)('is extended by nobody whose lease another has taken, %s', async (_when, at) => {
    // Without locks, or the one who takes the lease would wait for the one who is to lose it.
    await double.close()
    double = await startFirestoreDouble({ mode: 'optimistic' })
    const { ledger, root } = await opened({ pollMs: 60_000 })
    const { run, planner } = await startChain(ledger)
    const before = (await ledger.feed(run.id, 0, 100)).length
    const taken = JSON.stringify({ epoch: 9, holder: 'another', position: before })
    let isTaken = false
    double.before = async (method, { writes = [], documents = [], newTransaction }) => {
      const isEntry = writes.some(({ update }) => update?.name.includes('/feed/'))
      const isLease = newTransaction && documents.some((name) => name.includes('/feeds/'))
      if (isTaken || method !== at || !(isEntry || isLease)) return
      isTaken = true
      await root.collection('feeds').doc(run.id).set({ text: taken })
    }
    await addChild(ledger, planner, 'more')
    expect((await ledger.feed(run.id, 0, 100)).length).toBe(before)
    expect(isTaken).toBe(true)
    expect((await root.collection('feeds').doc(run.id).get()).get('text')).toBe(taken)
    expect((await root.collection('pending').get()).size).toBe(2)
  })
})
