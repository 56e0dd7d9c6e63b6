/** The command line of the survey: every endpoint of every real rail, who calls it, and whether what is sent is sound. */
import { parseArgs } from 'node:util'
import { complain } from '../usage.ts'
import { type Endpoint, isSound, type Survey } from './endpoints.ts'
import { survey } from './survey.ts'

const USAGE = `Usage: npm run rails -- [options]

Uses the adapters of Razorpay and PayPal once for everything, over stand-ins on this machine, and prints each endpoint that they
call: the line that asks for it, whether what was sent is valid by the rail's own documents, and how many unsound
requests would have been refused. Ends with 0 only if nothing is invalid, no unsound request passes and no line of an
adapter was left out.

  --json          one JSON document on stdout, and nothing else there
  --help
`

const out = (text: string): void => void process.stdout.write(text)

function line({ rail, operation, method, path, judged, by, controls, ...rest }: Endpoint): string {
  const { places, why } = rest
  const word = judged === 'not judged' ? `not judged: ${by}` : judged
  const { refused, taken } = controls
  const all = refused + taken.length
  return [
    `${rail.padEnd(9)} ${operation.padEnd(30)} ${method.padEnd(4)} ${path}\n`,
    ...places.map((place) => `${' '.repeat(10)}${place}\n`),
    `${' '.repeat(10)}${word}; ${refused} of ${all} unsound ones refused\n`,
    ...why.map((text) => `${' '.repeat(10)}INVALID  ${text}\n`),
    ...taken.map((what) => `${' '.repeat(10)}TAKEN    ${what}\n`),
  ].join('')
}

function table({ endpoints, notReached, problems }: Survey): string {
  return [
    ...endpoints.map(line),
    ...notReached.map((text) => `NOT REACHED  ${text}\n`),
    ...problems.map((text) => `WENT WRONG   ${text}\n`),
    `\n${endpoints.length} endpoints, ${endpoints.filter(({ judged }) => judged === 'valid').length} valid, `,
    `${endpoints.filter(({ judged }) => judged === 'invalid').length} invalid, `,
    `${endpoints.filter(({ judged }) => judged === 'not judged').length} not judged\n`,
  ].join('')
}

async function main(): Promise<number> {
  try {
    const options = {
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    } as const
    const { values } = parseArgs({ options })
    if (values.help) {
      out(USAGE)
      return 0
    }
    const found = await survey()
    const ok = isSound(found)
    out(values.json ? `${JSON.stringify({ ok, ...found }, null, 2)}\n` : table(found))
    return ok ? 0 : 1
  } catch (error) {
    const err = (text: string) => void process.stderr.write(text)
    return complain(error, { name: 'rails', usage: USAGE, err })
  }
}

process.stdout.on('error', () => process.exit(0))
process.exitCode = await main()
