/**
 * The other two ways in which Firestore may keep transactions apart, and Google's emulator where a machine has it: the
 * parts of the contract that rest on isolation, with fewer at once, because each conflict costs a wait.
 */
import { afterAll, beforeAll, describe } from 'vitest'
import { contract, type Part } from '../ledger/contract.ts'
import { startFirestoreDouble } from '../support/firestore/double.ts'
import { EMULATOR_NOTE, hasEmulator, startEmulator } from '../support/firestore/emulator.ts'
import { openTogether } from '../support/firestore/ledger.ts'

process.stdout.write(`${EMULATOR_NOTE}\n`)

interface Place {
  readonly start: () => Promise<{ host: string; close(): Promise<void> }>
  readonly many: number
  readonly peers: number
  readonly parts: readonly Part[]
}

function over(name: string, { start, many, peers, parts }: Place): void {
  describe(name, () => {
    let place: { host: string; close(): Promise<void> }
    beforeAll(async () => {
      place = await start()
    }, 60_000)
    afterAll(() => place.close())
    contract('alone', () => openTogether(place.host, 0), parts)
    const open = async () => ({ ...(await openTogether(place.host, peers)), many })
    contract('with other instances', open, ['together'])
  })
}

over('optimistic', {
  start: () => startFirestoreDouble({ mode: 'optimistic' }),
  many: 24,
  peers: 3,
  parts: ['setStanding'],
})

over('hostile', {
  start: () => startFirestoreDouble({ mode: 'hostile', lockMs: 20 }),
  many: 24,
  peers: 3,
  parts: ['setStanding'],
})

if (hasEmulator) {
  over('Google’s emulator', {
    start: startEmulator,
    many: 4,
    peers: 1,
    parts: ['settle'],
  })
}
