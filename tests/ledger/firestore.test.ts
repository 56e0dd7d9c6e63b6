import { afterAll, beforeAll } from 'vitest'
import { type FirestoreDouble, startFirestoreDouble } from '../support/firestore/double.ts'
import { openLedger, told } from '../support/firestore/ledger.ts'
import { contract } from './contract.ts'

let double: FirestoreDouble
beforeAll(async () => {
  double = await startFirestoreDouble()
})
afterAll(() => double.close())

contract('firestore, pessimistic', async () => {
  const ledger = await openLedger(double.host)
  return { ledger, told, dispose: () => ledger.close() }
})
