/** Copies a store while a gateway serves it. Keys and checkpoints are not in it: they must not travel with the store. */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { backupStore } from '../../ledger/sqlite-backup.ts'
import { dataFile, readIdentity } from '../data-dir.ts'
import type { Io } from '../io.ts'
import { command, DEFAULT_DATA, dataPath, emit } from './context.ts'

export function backupCommand(io: Io): Command {
  return command({
    name: 'backup',
    summary: 'copy the store to a new file and check the copy, while a gateway may be serving it',
    examples: ['headgate backup --data /var/lib/headgate --to /backup/headgate-monday.db'],
  })
    .option('--data <dir>', `the gateway’s data folder (or HEADGATE_DATA; default ${DEFAULT_DATA})`)
    .requiredOption('--to <file>', 'a new file')
    .action(async (options: { data?: string; to: string; json?: boolean }) => {
      const data = dataPath(io, options.data)
      const { organisation } = readIdentity(data)
      const to = resolve(options.to)
      const made = await backupStore(dataFile(data, 'store'), to)
      emit(io, options, { to, organisation, ...made }, () =>
        [
          `${to}: ${made.bytes} bytes, ${made.events} events in ${made.streams} streams, checked`,
          `not in it: the keys of ${data}, and the checkpoints, which tell an older store`,
          '',
        ].join('\n'),
      )
    })
}
