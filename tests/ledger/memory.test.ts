import { afterEach, expect, it } from 'vitest'
import { LIMITS } from '../../runtime/core/limits.ts'
import { later } from '../../runtime/core/time.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { accepted, aProof, NOW, startChain } from '../support/ledger.ts'
import type { Opened } from './contract/bench.ts'
import { contract } from './contract.ts'

const open = async () => {
  const ledger = createMemoryLedger({ organisation: 'acme' })
  // What it gives out are its own records: whoever changes one has edited the store.
  const edit: Opened['edit'] = async (node, change) => {
    const account = node === 'gateway' ? undefined : await ledger.account(node)
    if (account !== undefined) Object.assign(account, change(account))
  }
  const other = async () => createMemoryLedger({ organisation: 'rival' })
  return { ledger, edit, other, dispose: () => ledger.close() }
}
contract('memory', open)

const limits: { seenProofs: number } = LIMITS
const { seenProofs } = LIMITS
afterEach(() => {
  limits.seenProofs = seenProofs
})

it('refuses rather than forgets a proof when it keeps as many as it may', async () => {
  const ledger = createMemoryLedger({ organisation: 'acme' })
  const { leaf } = await startChain(ledger)
  const use = (attempt: string, now = NOW) =>
    ledger.execute('note', {
      stream: leaf.id,
      type: 'read',
      data: {},
      proof: aProof(leaf, attempt),
      now,
    })
  limits.seenProofs = 2
  accepted(await use('a'))
  accepted(await use('b'))
  const full = { ok: false, code: 'proofs_full' }
  expect(await use('c')).toEqual(full)
  accepted(await use('a'))
  const kept = 62 + LIMITS.proofKeptSeconds
  expect(await use('c', later(NOW, kept))).toEqual(full)
  const proof = { ...aProof(leaf, 'c'), expiresAtSeconds: later(NOW, kept + 10) }
  const note = {
    stream: leaf.id,
    type: 'read',
    data: {},
    proof,
    now: later(NOW, kept + 1),
  } as const
  accepted(await ledger.execute('note', note))
})
