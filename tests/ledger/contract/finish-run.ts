/** What every store must hold to: finishRun. */
import { beforeEach, describe, expect, it } from 'vitest'
import { signSeal } from '../../../runtime/audit/seal.ts'
import { ed25519FromSeed } from '../../../runtime/core/keys.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { later } from '../../../runtime/core/time.ts'
import { closeSubtree } from '../../../runtime/ledger/closing.ts'
import { accepted, fixedClock, NOW, startChain, startRun } from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

const signer = {
  gateway: 'gate',
  key: ed25519FromSeed(Buffer.alloc(32, 7)),
  kid: 'gate-1',
}

export function finishRunContract(bench: Bench): void {
  const { refusedBy, unchangedBy, account, types } = bench
  describe('finishRun', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    it('takes the heads of a run off those of the runs without a seal', async () => {
      const { run, root } = await startRun(ledger)
      const other = await startChain(ledger, { jti: 'mandate-2' })
      const streams = async () => (await ledger.heads('unsealed')).map(({ stream }) => stream)
      const open = ['gateway', other.root.id, other.planner.id, other.leaf.id]
      expect(await streams()).toEqual(open.toSpliced(1, 0, root.id))
      await closeSubtree(ledger, root.id, 'op', fixedClock)
      const seal = signSeal(run, await account(root.id), signer, NOW)
      accepted(await ledger.execute('finishRun', { run: run.id, state: 'failed', seal, now: NOW }))
      expect(await streams()).toEqual(open)
    })

    it('ends a run once, with its reason and the seal of its closed root', async () => {
      const { run, root } = await startRun(ledger)
      const cancelling = { run: run.id, state: 'cancelling', now: NOW } as const
      accepted(await ledger.execute('finishRun', cancelling))
      await unchangedBy('finishRun', cancelling, { run: { state: 'cancelling' } })
      await refusedBy('finishRun', { ...cancelling, state: 'running' }, 'conflict')
      const seal = async () => signSeal(run, await account(root.id), signer, NOW)
      const early = { run: run.id, state: 'cancelled', seal: await seal(), now: NOW } as const
      await refusedBy('finishRun', early, 'conflict')
      accepted(await closeSubtree(ledger, root.id, 'op', fixedClock))
      await refusedBy('finishRun', early, 'stale')
      await refusedBy('finishRun', { ...early, seal: 'not a seal' }, 'stale')
      const input = { ...early, seal: await seal(), reason: 'asked to stop' }
      const done = accepted(await ledger.execute('finishRun', input)).run
      expect(done).toMatchObject({
        state: 'cancelled',
        reason: 'asked to stop',
        finishedAtSeconds: NOW,
        seal: input.seal,
      })
      await unchangedBy('finishRun', input, { run: done })
      await refusedBy('finishRun', { ...input, state: 'completed' }, 'conflict')
      await refusedBy('finishRun', { ...input, run: 'run_none' }, 'not_found')
      expect(await types('gateway')).toEqual(['run_created', 'sealed'])
    })

    it('may be sealed after it was finished', async () => {
      const { run, root } = await startRun(ledger)
      accepted(await ledger.execute('finishRun', { run: run.id, state: 'completed', now: NOW }))
      accepted(await closeSubtree(ledger, root.id, 'op', fixedClock))
      const seal = signSeal(run, await account(root.id), signer, NOW)
      const input = { run: run.id, state: 'completed', seal, now: later(NOW, 5) } as const
      const { run: sealed } = accepted(await ledger.execute('finishRun', input))
      expect(sealed).toMatchObject({ seal, finishedAtSeconds: NOW })
    })
  })
}
