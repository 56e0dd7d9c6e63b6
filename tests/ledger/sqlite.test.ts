import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import { temporaryFolder, withoutThread } from '../support/sqlite.ts'
import type { Opened } from './contract/bench.ts'
import { contract } from './contract.ts'

const EDIT = `UPDATE accounts SET ceiling = ?, available = ?, reserved = ?, spent = ?, allotted = ?,
  head_seq = ? WHERE node = ?`

const open = async (): Promise<Opened> => {
  const folder = await temporaryFolder()
  const path = join(folder.path, 'ledger.db')
  const openAgain = (organisation = 'acme') =>
    openSqliteLedger({ path, organisation, spawn: withoutThread, lockMs: 50 })
  let now: Ledger = await openAgain()
  const ledger: Ledger = new Proxy(now, { get: (_target, name) => Reflect.get(now, name) })
  return {
    ledger,
    edit: async (node, change) => {
      const account = node === 'gateway' ? undefined : await now.account(node)
      if (account === undefined) return
      const { ceiling, available, reserved, spent, allotted, head } = change(account)
      const db = new DatabaseSync(path)
      try {
        const values = [ceiling, available, reserved, spent, allotted, head.seq].map(BigInt)
        db.prepare(EDIT).run(...values, account.node)
      } catch (error) {
        throw Object.assign(new Error('refused', { cause: error }), { code: 'store_refused' })
      } finally {
        db.close()
      }
    },
    again: async () => {
      await now.close()
      now = await openAgain()
      return now
    },
    // One file has one writer: the first organisation's is closed, and what it wrote stays.
    other: async () => {
      await now.close()
      now = await openAgain('rival')
      return now
    },
    dispose: async () => {
      await now.close()
      await folder.remove()
    },
  }
}
contract('sqlite', open)
