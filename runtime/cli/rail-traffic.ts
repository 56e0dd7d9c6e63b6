/** Rail traffic of a gateway that serves, written into a file or played again from one. */
import type { Command } from 'commander'
import { Option } from 'commander'
import { exchange, type Transport } from '../rails/exchange.ts'
import { recordingTransport, replayTransport } from '../rails/recording.ts'
import type { Credentials } from '../secrets/resolve.ts'
import { Failure } from './failure.ts'

export interface TrafficOptions {
  readonly recordRail?: string
  readonly replayRail?: string
}

export const withTraffic = (base: Command): Command =>
  base
    .option(
      '--record-rail <file>',
      'write what is said with the rail into a new file, without secrets',
    )
    .addOption(
      new Option(
        '--replay-rail <file>',
        'answer from such a file and reach no rail; what went otherwise is said at the end',
      ).conflicts(['recordRail', 'rail']),
    )

export interface Traffic {
  readonly transport?: Transport
  /** Once nothing is served any more. Throws Failure where a replay went otherwise than the recording. */
  end(): void
}

/** Throws Fault `config_invalid` for a file that cannot be used. */
export function openTraffic(options: TrafficOptions, credentials: Credentials): Traffic {
  const secrets = Object.values(credentials).map(({ secret }) => secret.reveal())
  if (options.recordRail !== undefined) {
    return {
      transport: recordingTransport(exchange, options.recordRail, { secrets }),
      end: () => undefined,
    }
  }
  if (options.replayRail === undefined) return { end: () => undefined }
  const replay = replayOf(options.replayRail, secrets)
  return {
    transport: replay,
    end: () => {
      const problem = replay.end()
      if (problem !== undefined) {
        throw new Failure('replayDiffers', `the replay is not the recording: ${problem}`)
      }
    },
  }
}

function replayOf(file: string, secrets: readonly string[]) {
  try {
    return replayTransport(file, { secrets })
  } catch (cause) {
    if (cause instanceof Error && 'syscall' in cause) {
      throw new Failure('usage', 'expected --replay-rail to be a file that can be read', { cause })
    }
    throw cause
  }
}
