/** What is said with models, written into a folder or played again from one. */
import type { Command } from 'commander'
import { Option } from 'commander'
import type { TextGuard } from '../core/agents.ts'
import { type ModelExchanges, recordExchanges, replayExchanges } from '../models.ts'
import { Failure } from './failure.ts'

export interface ExchangeOptions {
  readonly record?: string
  readonly replay?: string
}

export const withExchanges = (base: Command): Command =>
  base
    .option('--record <dir>', 'write each exchange with a model into a new folder, without secrets')
    .addOption(
      new Option(
        '--replay <dir>',
        'answer from such a folder and reach no model; what went otherwise is said at the end',
      ).conflicts('record'),
    )

export interface Exchanges {
  readonly exchanges?: ModelExchanges
  /** Once nothing is served any more. Throws Failure where a replay went otherwise than the recording. */
  end(): void
}

/** Throws Fault `config_invalid` for a folder that cannot be used. */
export function openExchanges({ record, replay }: ExchangeOptions, guard: TextGuard): Exchanges {
  if (record !== undefined) {
    return { exchanges: recordExchanges(record, guard), end: () => undefined }
  }
  if (replay === undefined) return { end: () => undefined }
  const exchanges = replayExchanges(replay)
  return {
    exchanges,
    end: () => {
      const problem = exchanges.end()
      if (problem !== undefined) {
        throw new Failure('replayDiffers', `the replay is not the recording: ${problem}`)
      }
    },
  }
}
