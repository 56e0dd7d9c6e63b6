import { afterAll, beforeAll } from 'vitest'
import { contract, PARTS } from '../ledger/contract.ts'
import { lateContract } from '../ledger/contract-late.ts'
import { type FirestoreDouble, startFirestoreDouble } from '../support/firestore/double.ts'
import { openEditable, openLedger, openTogether } from '../support/firestore/ledger.ts'

let double: FirestoreDouble
beforeAll(async () => {
  double = await startFirestoreDouble()
})
afterAll(() => double.close())

contract(
  'firestore, pessimistic',
  () => openEditable(double.host),
  PARTS.filter((part) => part !== 'together'),
)

lateContract('firestore, late money', async () => {
  const ledger = await openLedger(double.host)
  return { ledger, dispose: () => ledger.close() }
})

contract('firestore, pessimistic, four instances', () => openTogether(double.host, 3), ['together'])
