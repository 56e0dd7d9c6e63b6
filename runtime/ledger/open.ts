/** The ledger that a configuration names. */
import { Fault } from '../core/errors.ts'
import type { Ledger } from '../core/ledger.ts'
import { openSqliteLedger } from './sqlite.ts'

export interface ToOpen {
  readonly config: {
    readonly organisation: string
    /** As `headgate.json` says it under `store`. */
    readonly store:
      | { readonly kind: 'sqlite' }
      | {
          readonly kind: 'firestore'
          readonly projectId: string
          readonly databaseId?: string | undefined
          readonly emulatorHost?: string | undefined
        }
  }
  /** The file of a `sqlite` store. */
  readonly store?: string
}

/** Throws Fault: `config_invalid` for a `sqlite` store without a file, and what each store throws. */
export async function openLedger({ config, store }: ToOpen): Promise<Ledger> {
  const { organisation } = config
  if (config.store.kind === 'firestore') {
    const { projectId, databaseId, emulatorHost } = config.store
    // Loaded where it is used: the client takes a third of a second and most gateways never need it.
    const { openFirestoreLedger } = await import('./firestore.ts')
    return openFirestoreLedger({
      organisation,
      projectId,
      ...(databaseId === undefined ? {} : { databaseId }),
      ...(emulatorHost === undefined ? {} : { emulatorHost }),
    })
  }
  if (store === undefined) throw new Fault('config_invalid', 'expected a store', NOT_AGAIN)
  return openSqliteLedger({ path: store, organisation })
}

const NOT_AGAIN = { retryable: false }
