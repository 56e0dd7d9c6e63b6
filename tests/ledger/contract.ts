/** What every store must hold to: one suite, run on each by its factory; a part for each command. */
import { afterEach, beforeEach, describe } from 'vitest'
import { authorisationsContract } from './contract/authorisations.ts'
import { type Bench, benchOf, type Opened } from './contract/bench.ts'
import { closeContract } from './contract/close.ts'
import { createRunContract } from './contract/create-run.ts'
import { decidedContract } from './contract/decided.ts'
import { eraseContract } from './contract/erase.ts'
import { finishRunContract } from './contract/finish-run.ts'
import { inboxContract } from './contract/inbox.ts'
import { intactContract } from './contract/intact.ts'
import { lateContract } from './contract/late.ts'
import { leaseRunContract } from './contract/lease-run.ts'
import { noteContract } from './contract/note.ts'
import { organisationsContract } from './contract/organisations.ts'
import { readsContract } from './contract/reads.ts'
import { refundContract } from './contract/refund.ts'
import { refuseContract } from './contract/refuse.ts'
import { releaseContract } from './contract/release.ts'
import { reserveContract } from './contract/reserve.ts'
import { setStandingContract } from './contract/set-standing.ts'
import { settleContract } from './contract/settle.ts'
import { splitContract } from './contract/split.ts'
import { submitContract } from './contract/submit.ts'
import { togetherContract } from './contract/together.ts'
import { wordContract } from './contract/word.ts'

const CONTRACT = {
  createRun: createRunContract,
  split: splitContract,
  reserve: reserveContract,
  submit: submitContract,
  settle: settleContract,
  release: releaseContract,
  refund: refundContract,
  refuse: refuseContract,
  decided: decidedContract,
  setStanding: setStandingContract,
  close: closeContract,
  note: noteContract,
  intact: intactContract,
  late: lateContract,
  leaseRun: leaseRunContract,
  finishRun: finishRunContract,
  erase: eraseContract,
  reads: readsContract,
  organisations: organisationsContract,
  together: togetherContract,
  word: wordContract,
  authorisations: authorisationsContract,
  inbox: inboxContract,
} satisfies Record<string, (bench: Bench) => void>

export type Part = keyof typeof CONTRACT

export const PARTS = Object.keys(CONTRACT) as Part[]

/** Runs the whole suite, or the named parts of it. */
export function contract(
  name: string,
  open: () => Promise<Opened>,
  parts: readonly Part[] = PARTS,
): void {
  describe(name, () => {
    let opened: Opened
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => opened.dispose())
    const bench = benchOf(() => opened)
    for (const part of parts) CONTRACT[part](bench)
  })
}
