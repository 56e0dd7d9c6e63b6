/** What every store must hold to: reads. */
import { beforeEach, describe, expect, it } from 'vitest'
import { deny } from '../../../runtime/core/codes.ts'
import { eventHash, parseEvent } from '../../../runtime/core/events.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import {
  accepted,
  addChild,
  allPassed,
  aProof,
  aReserve,
  aSubmit,
  NOW,
  paySubmitted,
  startChain,
  startRun,
} from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function readsContract(bench: Bench): void {
  const { account } = bench
  describe('reads', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    it('gives everything of one attempt as of one instant', async () => {
      const { run, root, planner, leaf } = await startChain(ledger)
      expect(await ledger.snapshot({ node: 'nd_none' })).toBeUndefined()
      const { id } = await paySubmitted(ledger, leaf)
      const snapshot = await ledger.snapshot({ node: leaf.id, payment: id })
      expect(snapshot).toEqual({
        run,
        path: [root, planner, leaf],
        standings: [root, planner, leaf].map(({ id: node }) => ({
          node,
          state: 'live',
          version: 1,
        })),
        gateway: { node: 'gateway', state: 'live', version: 1 },
        account: await account(leaf.id),
        payment: await ledger.payment(id),
        holds: [],
        counters: [],
      })
    })

    it('takes a node that was never made as closed', async () => {
      expect(await ledger.standing('nd_none')).toMatchObject({ state: 'closed' })
    })

    it('lists runs newest first, by pages', async () => {
      const ids = []
      for (let i = 0; i < 5; i += 1) ids.push((await startRun(ledger, { jti: `m${i}` })).run.id)
      const page = async (after: string | undefined, limit: number) =>
        (await ledger.runs(after === undefined ? { limit } : { after, limit })).map(({ id }) => id)
      expect(await page(undefined, 2)).toEqual([ids[4], ids[3]])
      expect(await page(ids[3], 2)).toEqual([ids[2], ids[1]])
      expect(await page(ids[1], 9)).toEqual([ids[0]])
      expect(await page('run_none', 9)).toEqual([])
    })

    it('shows a tree with parents before children, and children of one node', async () => {
      const { run, root, planner, leaf } = await startChain(ledger)
      const second = await addChild(ledger, root, 'second')
      const { id } = await paySubmitted(ledger, leaf)
      const tree = await ledger.tree(run.id)
      expect(tree.map(({ node }) => node.id)).toEqual([root.id, planner.id, leaf.id, second.id])
      expect(tree[2]).toEqual({
        node: leaf,
        account: await account(leaf.id),
        standing: await ledger.standing(leaf.id),
        payment: await ledger.payment(id),
        lastChecks: allPassed,
      })
      const children = await ledger.children(root.id)
      expect(children.map(({ node }) => node.id)).toEqual([planner.id, second.id])
      expect(await ledger.tree('run_none')).toEqual([])
      expect(await ledger.children(leaf.id)).toEqual([])
    })

    it('shows how a leaf was judged last: by a refusal, and then by what came of it', async () => {
      const { run, leaf } = await startChain(ledger)
      const last = async () => {
        const state = (await ledger.tree(run.id)).find(({ node }) => node.id === leaf.id)
        return [state?.lastCode, state?.lastChecks?.at(0)?.ms]
      }
      const judged = (ms: number) => allPassed.map((check) => ({ ...check, ms }))
      const refusal = { node: leaf.id, run: run.id, denial: deny('quote_expired'), now: NOW }
      const refuse = { ...refusal, checks: judged(1), proof: aProof(leaf) }
      accepted(await ledger.execute('refuse', refuse))
      expect(await last()).toEqual(['quote_expired', 1])
      const reserve = aReserve(leaf)
      const payment = { ...reserve.payment, checks: judged(2) }
      accepted(await ledger.execute('reserve', { ...reserve, payment }))
      expect(await last()).toEqual([undefined, 2])
      accepted(await ledger.execute('refuse', { ...refuse, proof: aProof(leaf) }))
      expect(await last()).toEqual(['quote_expired', 1])
      const submit = { ...aSubmit(leaf, 'mine'), checks: judged(3) }
      accepted(await ledger.execute('submit', submit))
      expect(await last()).toEqual([undefined, 3])
    })

    it('lists payments oldest first, by run and state', async () => {
      const { planner, leaf } = await startChain(ledger)
      const other = await startChain(ledger, { jti: 'mandate-2' })
      const second = await addChild(ledger, planner, 'second')
      const a = await paySubmitted(ledger, leaf)
      const b = await paySubmitted(ledger, other.leaf)
      const c = accepted(await ledger.execute('reserve', aReserve(second))).payment
      const ids = async (query: Parameters<Ledger['payments']>[0]) =>
        (await ledger.payments(query)).map(({ id }) => id)
      expect(await ids({ limit: 10 })).toEqual([a.id, b.id, c.id])
      expect(await ids({ limit: 2 })).toEqual([a.id, b.id])
      expect(await ids({ run: leaf.run, limit: 10 })).toEqual([a.id, c.id])
      expect(await ids({ run: leaf.run, states: ['submitted'], limit: 10 })).toEqual([a.id])
      expect(await ids({ states: ['submitted', 'reserved'], limit: 10 })).toHaveLength(3)
      expect(await ids({ states: [], limit: 10 })).toEqual([])
    })

    it('keeps a chain for each stream and hashes exactly what it stores', async () => {
      const { leaf } = await startChain(ledger)
      await paySubmitted(ledger, leaf)
      const heads = await ledger.heads()
      expect(heads.map(({ stream }) => stream)).toContain('gateway')
      for (const { stream, head } of heads) {
        const events = await ledger.events(stream, 0, 100)
        expect(events.at(-1)).toMatchObject(head)
        for (const [i, { seq, hash, body }] of events.entries()) {
          expect(seq).toBe(i + 1)
          expect(hash).toBe(eventHash(body))
          if (i > 0) expect(parseEvent(body).prev).toBe(events[i - 1]?.hash)
        }
        expect(await ledger.events(stream, 1, 1)).toEqual(events.slice(1, 2))
      }
    })

    it('gives the heads of one run without the gateway’s stream', async () => {
      const { run, root, planner, leaf } = await startChain(ledger)
      await startRun(ledger, { jti: 'mandate-2' })
      const heads = await ledger.heads(run.id)
      expect(heads.map(({ stream }) => stream)).toEqual([root.id, planner.id, leaf.id])
      expect(heads[2]?.head).toEqual((await account(leaf.id)).head)
    })

    it('numbers each run’s feed from 1 without a gap, predecessors and anchors first', async () => {
      const first = await startChain(ledger)
      const second = await startChain(ledger, { jti: 'mandate-2' })
      await Promise.all(
        [first, second].flatMap(({ planner, leaf }) => [
          paySubmitted(ledger, leaf),
          addChild(ledger, planner, 'more'),
        ]),
      )
      for (const { run } of [first, second]) {
        const feed = await ledger.feed(run.id, 0, 1_000)
        expect(feed.map(({ position }) => position)).toEqual(feed.map((_, i) => i + 1))
        const seen = new Set<string>([run.mandateDigest])
        for (const { stream, hash, body } of feed) {
          const event = parseEvent(body)
          expect(event.run).toBe(run.id)
          if (stream !== 'gateway') expect(seen).toContain(event.prev)
          seen.add(hash)
        }
        expect(await ledger.feed(run.id, 2, 1)).toEqual([feed[2]])
      }
    })

    it('tells listeners of each position that was reached', async () => {
      const told: [string, number][] = []
      const stop = ledger.onFeed((run, position) => told.push([run, position]))
      const { run, leaf } = await startChain(ledger)
      await paySubmitted(ledger, leaf)
      await ledger.run(run.id)
      await bench.told()
      expect(told.at(-1)).toEqual([run.id, (await ledger.feed(run.id, 0, 100)).length])
      const count = told.length
      stop()
      await addChild(ledger, (await ledger.tree(run.id))[0]?.node ?? leaf, 'x')
      await ledger.run(run.id)
      await bench.told()
      expect(told).toHaveLength(count)
    })

    it('can be written until it is closed, and is unavailable afterwards', async () => {
      await ledger.ping()
      await ledger.close()
      await ledger.close()
      await expect(ledger.ping()).rejects.toMatchObject({ code: 'store_unavailable' })
      await expect(ledger.run('run_none')).rejects.toMatchObject({ code: 'store_unavailable' })
      const input = { node: 'nd_none', by: 'op', now: NOW } as const
      await expect(ledger.execute('close', input)).rejects.toMatchObject({
        code: 'store_unavailable',
      })
    })
  })
}
