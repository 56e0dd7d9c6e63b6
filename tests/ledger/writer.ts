/**
 * A process that writes to a ledger until it is killed: `node writer.ts FILE ROUND`. It says `open` when it has the
 * file, then one line for each payment whose settlement was acknowledged.
 */
import { minor } from '../../runtime/core/money.ts'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import { accepted, addChild, NOW, paySubmitted, startRun } from '../support/ledger.ts'

const [path = '', round = ''] = process.argv.slice(2)
const ledger = await openSqliteLedger({ path, organisation: 'acme' })
const { root } = await startRun(ledger, {
  jti: `round-${round}`,
  ceiling: 1_000_000,
  nodes: 10_000,
})
process.stdout.write('open\n')

async function payOn(lane: number): Promise<never> {
  for (let i = 0; ; i += 1) {
    const leaf = await addChild(ledger, root, `${lane}-${i}`, { ceiling: 10, fanOut: 10_000 })
    const { id } = await paySubmitted(ledger, leaf)
    const input = { payment: id, amount: minor(7), railReference: id, now: NOW }
    accepted(await ledger.execute('settle', input))
    accepted(await ledger.execute('close', { node: leaf.id, by: 'writer', now: NOW }))
    process.stdout.write(`${id}\n`)
  }
}

await Promise.all(Array.from({ length: 8 }, (_, lane) => payOn(lane)))
