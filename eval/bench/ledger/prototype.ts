/**
 * A run of which many copies can be made: every id in it has the same eight characters, which stand nowhere else, so
 * another run with the same story is the same text with other characters in their place.
 */
import type { Digest, NodeId, PaymentId, RunId } from '../../../runtime/core/ids.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import type { NodeRecord } from '../../../runtime/core/records.ts'
import { closeSubtree } from '../../../runtime/ledger/closing.ts'
import { aChild, accepted, aRun, aSplit, fixedClock, NOW } from '../../../tests/support/ledger.ts'
import { PRICE, pay, paymentOf } from './payments.ts'

export const TAG = 'PROTOTYP'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Between one copy and the next, so that fifty thousand lie all over the range of four digits. */
const APART = 290

/**
 * What stands in a copy where the prototype has its tag: greater for each further number below 50,953, so that tables
 * grow at their end while they are filled, and what is added later lies anywhere among the copies.
 */
export function tagOf(copy: number): string {
  let [text, left] = ['', copy * APART]
  for (let i = 0; i < 4; i += 1) {
    text = `${DIGITS[left % DIGITS.length]}${text}`
    left = Math.floor(left / DIGITS.length)
  }
  return `${text}copy`
}

const inPlace = (id: string): string =>
  id.replace(/^([a-z]+_)?.{8}/, (_whole, prefix: string | undefined) => `${prefix ?? ''}${TAG}`)

/** One run with so many leaves, each of which has paid; closed, root last, if that is wanted. */
export async function writePrototype(
  ledger: Ledger,
  { leaves, isClosed }: { readonly leaves: number; readonly isClosed: boolean },
): Promise<RunId> {
  const made = aRun({ jti: `mandate-${TAG}`, ceiling: PRICE * leaves })
  const [run, root] = [inPlace(made.run.id) as RunId, inPlace(made.root.id) as NodeId]
  const planner: NodeRecord = { ...made.root, id: root, run, path: [root] }
  accepted(
    await ledger.execute('createRun', {
      run: { ...made.run, id: run, root },
      root: planner,
      token: `token of ${root}`,
      nodes: leaves,
      now: NOW,
    }),
  )
  for (let i = 0; i < leaves; i += 1) {
    const leaf = leafOf(planner, `leaf ${i}`)
    accepted(await ledger.execute('split', aSplit(leaf, { fanOut: leaves })))
    const { reserveAndSubmit, settle, ...rest } = paymentOf(leaf)
    const id = inPlace(settle.payment) as PaymentId
    await pay(ledger, {
      ...rest,
      reserveAndSubmit: { ...reserveAndSubmit, payment: { ...reserveAndSubmit.payment, id } },
      settle: { ...settle, payment: id },
    })
  }
  if (isClosed) accepted(await closeSubtree(ledger, root, 'bench', fixedClock))
  return run
}

function leafOf(parent: NodeRecord, step: string): NodeRecord {
  const leaf = aChild(parent, step, { ceiling: PRICE })
  const id = inPlace(leaf.id) as NodeId
  const quote: Digest = inPlace(leaf.quote ?? '')
  return { ...leaf, id, path: [...parent.path, id], quote }
}
