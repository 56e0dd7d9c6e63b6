/** Ledgers over a stand-in for Firestore: each with documents of its own, and ended with it. */
import { Firestore } from '@google-cloud/firestore'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import type { Account, StreamId } from '../../../runtime/core/records.ts'
import {
  type FirestoreLedgerOptions,
  openFirestoreLedger,
} from '../../../runtime/ledger/firestore.ts'

let projects = 0

/** An address where nobody has written yet. */
export const freshProject = (): string => {
  projects += 1
  return `ledger-${process.pid}-${projects}`
}

export const openLedger = (
  emulatorHost: string,
  options: Partial<FirestoreLedgerOptions> = {},
): Promise<Ledger> =>
  openFirestoreLedger({
    emulatorHost,
    organisation: 'acme',
    projectId: freshProject(),
    deadlineMs: 20_000,
    ...options,
  })

/** A ledger and further instances of it over the same documents. */
export async function openTogether(host: string, peers: number) {
  const projectId = freshProject()
  const options = { projectId, pollMs: 200 }
  const open = () => openLedger(host, options)
  const ledger = await open()
  const others = await Promise.all(Array.from({ length: peers }, open))
  const dispose = async () => {
    await Promise.all([ledger, ...others].map((instance) => instance.close()))
  }
  return { ledger, peers: others, told, dispose }
}

/** A ledger that a test may edit behind its back, or meet again in another process. */
export async function openEditable(host: string) {
  const projectId = freshProject()
  const ledger = await openLedger(host, { projectId })
  const others: Ledger[] = []
  const also = async (organisation: string) => {
    const other = await openLedger(host, { projectId, organisation })
    others.push(other)
    return other
  }
  const again = () => also('acme')
  const other = () => also('rival')
  const db = new Firestore({ projectId, host, ssl: false })
  const accounts = db.collection('organisations').doc('acme').collection('account')
  const edit = async (node: StreamId, change: (account: Account) => Account) => {
    const doc = accounts.doc(node)
    const text: unknown = (await doc.get()).get('text')
    await doc.update({ text: JSON.stringify(change(JSON.parse(String(text)))) })
  }
  const dispose = async () => {
    await Promise.all([ledger, ...others].map((instance) => instance.close()))
    await db.terminate()
  }
  return { ledger, told, edit, again, other, dispose }
}

/** Until the feeds of all runs have been told of what was committed: reading one waits for that. */
export async function told(ledger: Ledger): Promise<void> {
  for (const { id } of await ledger.runs({ limit: 100 })) await ledger.feed(id, 0, 1)
}
