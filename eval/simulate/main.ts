/** `npm run simulate`: the money path in virtual time, from seeds. */
import { simulate } from './simulate.ts'

// A reader that goes away (`| head`) ends us without a word.
process.stdout.on('error', () => process.exit(0))
process.exitCode = await simulate(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
})
