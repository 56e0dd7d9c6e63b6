/** The attack runner’s command line. */
import { parseArgs } from 'node:util'
import { CASES } from './cases/all.ts'
import { runSuite } from './suite.ts'

const { values } = parseArgs({ options: { only: { type: 'string' } } })
const only = values.only?.split(',')
const results = await runSuite({
  cases: CASES.filter(({ id }) => only === undefined || only.includes(id)),
  onResult: ({ id, ms, why }) => console.log(id, ms, why ?? 'ok'),
})
console.log(results.length, results.filter((r) => r.why).length)
