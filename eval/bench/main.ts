/** `npm run bench`: what things cost, beside what they cannot cost less than. */
import { bench } from './bench.ts'
import { SUITES } from './suites.ts'

// A reader that goes away (`| head`) ends us without a word; what we started ends with us.
process.stdout.on('error', () => process.exit(0))
process.exitCode = await bench(process.argv.slice(2), SUITES, {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
})
