/** The command line of the monitor's measurement. */
import { command } from './command.ts'

process.stdout.on('error', () => process.exit(0))
process.exitCode = await command(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  env: process.env,
})
