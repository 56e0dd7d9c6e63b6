/** `keys bundle`: the secrets of a data folder in one file, for a secret manager and instances without a disk. */
import type { Command } from 'commander'
import { publicJwkOf, thumbprint } from '../../core/keys.ts'
import { openDataDir, readBundle } from '../data-dir.ts'
import type { Io } from '../io.ts'
import { signingKeysOf } from '../signing-keys.ts'
import { command, DEFAULT_DATA, dataPath, emit } from './context.ts'
import { writePrivateFile } from './keys.ts'

export function bundleCommand(io: Io): Command {
  return command({
    name: 'bundle',
    summary: 'write the secrets of a data folder, made if there are none, to one file',
    examples: [
      'headgate keys bundle --data acme --out secrets.json',
      'gcloud secrets create headgate-secrets --data-file secrets.json',
    ],
  })
    .option('--data <dir>', `the gateway’s data folder (or HEADGATE_DATA; default ${DEFAULT_DATA})`)
    .requiredOption('--out <file>', 'where they are written; never over another file')
    .action((options: { data?: string; out: string; json?: boolean }) => {
      const path = dataPath(io, options.data)
      const data = openDataDir(path)
      try {
        const bundle = readBundle(path)
        writePrivateFile(options.out, bundle)
        const signing = thumbprint(publicJwkOf(signingKeysOf(bundle.signing).key))
        emit(io, options, { out: options.out, root: bundle.root.id, signing }, () =>
          [
            `${options.out}: root key ${bundle.root.id}, runtime secret, signing key and operator token of ${path}`,
            'upload it as a secret, give it to `serve` as HEADGATE_SECRETS_FILE, and remove it here',
            '',
          ].join('\n'),
        )
      } finally {
        data.close()
      }
    })
}
