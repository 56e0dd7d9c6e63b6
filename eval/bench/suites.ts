/** Every suite there is, in the order in which they run. A new one is one line here. */
import type { Suite } from './figure.ts'
import { LEDGER } from './ledger/suite.ts'
import { TOKENS } from './tokens/suite.ts'

export const SUITES: readonly Suite[] = [TOKENS, LEDGER]
