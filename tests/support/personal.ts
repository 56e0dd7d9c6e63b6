/** A run that says something personal wherever one can, and what was planted in it. */
import { signSeal } from '../../runtime/audit/seal.ts'
import { deny } from '../../runtime/core/codes.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { ed25519FromSeed } from '../../runtime/core/keys.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { minor } from '../../runtime/core/money.ts'
import { later } from '../../runtime/core/time.ts'
import { closeSubtree } from '../../runtime/ledger/closing.ts'
import { aHold } from '../ledger/scenes.ts'
import {
  aChild,
  accepted,
  addChild,
  allPassed,
  aProof,
  aReserve,
  aRun,
  aSplit,
  aTrail,
  fixedClock,
  NOW,
} from './ledger.ts'

export const PLANTED = {
  task: 'Insulin-for-Gretel-Planted',
  label: 'label-Gretel-Planted',
  account: 'DE44-Planted-0123',
  title: 'title-Insulin-Planted',
  sku: 'sku-insulin-planted',
  evidence: 'letter-of-Gretel-Planted',
  returned: 'note-on-Gretel-Planted',
  step: 'step-words-Planted',
  reason: 'reason-Gretel-Planted',
  held: 'held-title-Planted',
} as const

/** Every planted string that stands somewhere in the text. */
export const plantedIn = (text: string): string[] =>
  Object.values(PLANTED).filter((each) => text.includes(each))

const lines = (title: string) => [{ sku: PLANTED.sku, title, quantity: 2, unitAmount: minor(500) }]

const key = ed25519FromSeed(Buffer.alloc(32, 7))
export const SIGNER = { gateway: 'gate', key, kid: 'gate-1' } as const

/** A run with a settled payment that two people resolved and one took back, a hold, steps and a sentence at its end. */
export async function aPersonalRun(ledger: Ledger, jti = 'personal') {
  const made = aRun({ jti })
  const mandate = `${made.run.mandate}.${PLANTED.task}`
  const run = { ...made.run, mandate, mandateDigest: sha256(mandate) }
  const { root } = made
  accepted(
    await ledger.execute('createRun', { run, root, token: 'root token', nodes: 100, now: NOW }),
  )
  const child = { ...aChild(root, 'leaf'), label: PLANTED.label }
  const leaf = accepted(await ledger.execute('split', aSplit(child))).child
  const held = await addChild(ledger, root, 'held')
  const refused = {
    node: held.id,
    run: run.id,
    denial: deny('approval_required'),
    checks: allPassed,
    proof: aProof(held, `held ${jti}`),
    hold: { ...aHold(held), lines: lines(PLANTED.held), provenance: aTrail(PLANTED.sku) },
    provenance: aTrail(PLANTED.sku),
    now: NOW,
  }
  accepted(await ledger.execute('refuse', refused))
  await ledger.execute('saveStep', {
    node: root.id,
    name: 'plan/1.words',
    value: { words: PLANTED.step },
    now: NOW,
  })
  const reserve = aReserve(leaf, { nonce: `nonce ${jti}` })
  const payment = {
    ...reserve.payment,
    account: PLANTED.account,
    lines: lines(PLANTED.title),
    provenance: aTrail(PLANTED.sku),
  }
  accepted(await ledger.execute('reserve', { ...reserve, payment }))
  accepted(
    await ledger.execute('markUnknown', { payment: payment.id, reason: 'timeout', now: NOW }),
  )
  return { run, root, leaf, held, payment }
}

/** The rest of its life, up to the seal. */
export async function endPersonalRun(
  ledger: Ledger,
  { run, root, payment }: Awaited<ReturnType<typeof aPersonalRun>>,
) {
  for (const by of ['asha', 'bela']) {
    const word = { outcome: 'settled', amount: minor(900), evidence: PLANTED.evidence } as const
    const said = { payment: payment.id, ...word, by, attempt: `${by} ${run.id}`, now: NOW }
    accepted(await ledger.execute('resolve', said))
  }
  const back = { payment: payment.id, kind: 'refunded', amount: minor(300), now: NOW } as const
  accepted(await ledger.execute('reverse', { ...back, id: 'rfnd_1' }))
  accepted(
    await ledger.execute('regain', {
      payment: payment.id,
      reversedAmount: minor(300),
      evidence: PLANTED.returned,
      by: 'asha',
      attempt: `regain ${run.id}`,
      now: NOW,
    }),
  )
  accepted(await closeSubtree(ledger, root.id, 'op', fixedClock))
  const account = await ledger.account(root.id)
  if (account === undefined) throw new Error('expected an account')
  const seal = signSeal(run, account, SIGNER, NOW)
  const end = { run: run.id, state: 'completed', reason: PLANTED.reason, seal } as const
  return accepted(await ledger.execute('finishRun', { ...end, now: later(NOW, 60) })).run
}
