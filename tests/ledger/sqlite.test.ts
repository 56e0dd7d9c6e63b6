import { join } from 'node:path'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import { temporaryFolder, withoutThread } from '../support/sqlite.ts'
import { contract } from './contract.ts'
import { lateContract } from './contract-late.ts'

const open = async () => {
  const folder = await temporaryFolder()
  const path = join(folder.path, 'ledger.db')
  const ledger = await openSqliteLedger({ path, organisation: 'acme', spawn: withoutThread })
  return {
    ledger,
    dispose: async () => {
      await ledger.close()
      await folder.remove()
    },
  }
}
contract('sqlite', open)
lateContract('sqlite, late', open)
