/**
 * The command line: what an operator, a principal and an auditor type. It may not decide anything about money; it
 * calls a gateway over HTTP like everybody else, or starts one. Data goes to stdout, words for a person to stderr,
 * and each cause of failure has an exit code of its own.
 */
import { Command, CommanderError } from 'commander'
import { ConfigError } from '../config.ts'
import { Fault } from '../core/errors.ts'
import { SealError, type SealProblem } from '../secrets/sealed.ts'
import { auditCommand } from './commands/audit.ts'
import { backupCommand } from './commands/backup.ts'
import { decisionCommand } from './commands/decide.ts'
import { demoCommand } from './commands/demo.ts'
import { decideCommand, holdsCommand } from './commands/holds.ts'
import { keysCommand, mandateCommand } from './commands/keys.ts'
import { mcpCommand } from './commands/mcp.ts'
import { paymentsCommand } from './commands/payments.ts'
import { railCommand } from './commands/rail.ts'
import { receiptCommand } from './commands/receipt.ts'
import { reconcileCommand } from './commands/reconcile.ts'
import {
  cancelCommand,
  eraseCommand,
  runCommand,
  runsCommand,
  standingCommand,
  watchCommand,
} from './commands/runs.ts'
import { secretsCommand } from './commands/secrets.ts'
import { loginCodeCommand, serveCommand, startCommand } from './commands/serve.ts'
import { tokenCommand } from './commands/token.ts'
import { EXIT, type ExitName, Failure } from './failure.ts'
import type { Io } from './io.ts'

const EXIT_HELP = `
Exit codes: 0 done, 1 the answer is no, 2 usage, 3 configuration, 4 data folder, 5 store of a newer version,
6 data folder in use, 7 port taken, 8 no gateway answers, 9 not allowed, 10 not found, 11 refused, 12 unavailable,
13 a fault of ours, 14 Node too old, 15 passphrase, 16 file of secrets damaged, 17 file of secrets of another version,
18 the rail’s list differs, 19 a replay differs, 20 a receipt that does not hold, 21 a receipt about something else,
130 interrupted.
`

/** All commands, as data for `runCli` and for the tests that walk them. */
export function createProgram(io: Io): Command {
  const program = new Command('headgate')
    .description(
      'Agents that spend money, safely: one signed mandate, and a gateway of nine checks.',
    )
    .addHelpText('after', EXIT_HELP)
  const commands = [
    startCommand(io),
    demoCommand(io),
    serveCommand(io),
    backupCommand(io),
    keysCommand(io),
    secretsCommand(io),
    mandateCommand(io),
    runCommand(io),
    watchCommand(io),
    runsCommand(io),
    holdsCommand(io),
    decideCommand(io, 'approve'),
    decideCommand(io, 'refuse'),
    decisionCommand(io),
    paymentsCommand(io),
    railCommand(io),
    reconcileCommand(io),
    standingCommand(io, 'freeze'),
    standingCommand(io, 'resume'),
    standingCommand(io, 'revoke'),
    cancelCommand(io),
    eraseCommand(io),
    auditCommand(io),
    receiptCommand(io),
    tokenCommand(io),
    mcpCommand(io),
    loginCodeCommand(io),
  ]
  for (const each of commands) program.addCommand(each)
  quiet(program, io)
  return program
}

/** Commander never exits and never writes past `io`. */
function quiet(command: Command, io: Io): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => io.out(text),
    writeErr: (text) => io.err(text),
    getOutHelpWidth: () => Math.min(io.columns, 100),
    getErrHelpWidth: () => Math.min(io.columns, 100),
  })
  for (const each of command.commands) quiet(each, io)
}

/** Runs one command line and returns its exit code. Never throws and never exits. */
export async function runCli(args: readonly string[], io: Io): Promise<number> {
  try {
    await createProgram(io).parseAsync(args, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    return report(error, io)
  }
}

function report(error: unknown, io: Io): number {
  // Commander has written its own sentence; help and version are no errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  const failure = failureOf(error)
  // A replay is over only when somebody ends it.
  if (io.signal.aborted && failure.exit !== 'replayDiffers') return EXIT.interrupted
  io.err(`headgate: ${failure.message}\n`)
  return EXIT[failure.exit]
}

const SEAL_EXITS: Readonly<Record<SealProblem, ExitName>> = {
  passphrase: 'passphrase',
  damaged: 'secretsFile',
  newer: 'secretsNewer',
}

/** Every expected end as one sentence; what nobody expected is named, with nothing that it was given. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof SealError) return new Failure(SEAL_EXITS[error.problem], error.message)
  if (error instanceof ConfigError)
    return new Failure('config', error.problems.join('\nheadgate: '))
  if (error instanceof Fault) return faultFailure(error)
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return new Failure(
      'portTaken',
      'the port is taken: stop what listens there, or choose another with --port',
    )
  }
  const name = error instanceof Error ? `${error.name}: ${error.message}` : 'an unknown error'
  return new Failure('internal', `something broke on our side (${name})`, { cause: error })
}

function faultFailure(fault: Fault): Failure {
  switch (fault.code) {
    case 'store_newer':
      return new Failure('storeNewer', 'the store was written by a newer headgate; use that one')
    case 'store_locked':
      return new Failure('dataInUse', 'another process is using this store')
    case 'config_invalid':
      return new Failure('config', `the configuration is wrong: ${fault.message}`)
    case 'store_unavailable':
      return new Failure('dataFolder', `the store cannot be used: ${fault.message}`)
    case 'ledger_corrupt':
    case 'clock_untrusted':
    case 'engine_timeout':
    case 'engine_failed':
    case 'engine_busy':
    case 'policy_failed':
    case 'rail_unconfigured':
    case 'rail_limited':
    case 'merchant_unavailable':
    case 'model_failed':
    case 'secret_withheld':
    case 'internal':
      return new Failure('unavailable', `${fault.message} [${fault.code}]`)
  }
}
