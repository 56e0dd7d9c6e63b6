/**
 * A gateway that lives in a data folder, as a served one does: it can be stopped, and started again with what its
 * operator did in between. The operator's act is the product's own command.
 */
import { type DataDir, openDataDir, writeIdentity } from '../../../runtime/cli/data-dir.ts'
import { runCli } from '../../../runtime/cli/program.ts'
import { type ComposeOptions, compose, type Headgate } from '../../../runtime/compose.ts'
import { steadyClock } from '../../../runtime/core/clock.ts'

export interface FolderGatewayOptions
  extends Required<Pick<ComposeOptions, 'config' | 'credentials' | 'overrides'>> {
  readonly dir: string
  /** What the machine's clock says, in milliseconds. */
  readonly wallMs: () => number
}

/** `headgate` and `data` are those of the present start. */
export interface FolderGateway {
  readonly headgate: Headgate
  readonly data: DataDir
  /** What the operator's log says, of all starts. */
  readonly log: readonly string[]
  /** Stops, runs `headgate keys rotate` with this grace, and starts again. */
  readonly rotateRootKey: (graceSeconds: number) => Promise<void>
  readonly close: () => Promise<void>
}

export async function startFolderGateway(options: FolderGatewayOptions): Promise<FolderGateway> {
  const log: string[] = []
  let now = await start(options, log)
  const stop = async () => {
    await now.headgate.close()
    now.data.close()
  }
  return {
    get headgate() {
      return now.headgate
    },
    get data() {
      return now.data
    },
    log,
    async rotateRootKey(graceSeconds) {
      await stop()
      await rotate(options, graceSeconds)
      now = await start(options, log)
    },
    close: stop,
  }
}

async function start(
  { dir, config, credentials, overrides, wallMs }: FolderGatewayOptions,
  log: string[],
) {
  const data = openDataDir(dir)
  try {
    writeIdentity(dir, { organisation: config.organisation, gateway: config.gateway.id })
    const headgate = await compose({
      config,
      secrets: data,
      store: data.store,
      credentials,
      log: ({ code, message }) => void log.push(`${code} ${message}`),
      overrides: { ...overrides, clock: steadyClock(wallMs) },
    })
    return { headgate, data }
  } catch (error) {
    data.close()
    throw error
  }
}

async function rotate({ dir, wallMs }: FolderGatewayOptions, graceSeconds: number): Promise<void> {
  let said = ''
  const say = (text: string) => {
    said += text
  }
  const exit = await runCli(['keys', 'rotate', '--data', dir, '--grace', `${graceSeconds}s`], {
    out: say,
    err: say,
    isTerminal: false,
    columns: 100,
    rows: 50,
    colour: false,
    ask: async () => undefined,
    askSecret: async () => undefined,
    environment: { noColour: true, underNpm: false, onCloudRun: false, credentials: {} },
    clock: steadyClock(wallMs),
    signal: new AbortController().signal,
  })
  if (exit !== 0) throw new Error(`expected the root key to be rotated: ${said}`)
}
