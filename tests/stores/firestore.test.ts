import { afterAll, beforeAll } from 'vitest'
import { contract, PARTS } from '../ledger/contract.ts'
import { type FirestoreDouble, startFirestoreDouble } from '../support/firestore/double.ts'
import { openEditable, openTogether } from '../support/firestore/ledger.ts'

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

contract('firestore, pessimistic, four instances', () => openTogether(double.host, 3), ['together'])
