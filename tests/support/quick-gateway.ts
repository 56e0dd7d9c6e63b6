/**
 * `headgate serve` with short waits, for tests that kill it: the same gateway over the same data folder, only that a
 * rail call must begin and end within fractions of a second, so that an unanswered one is asked about soon.
 */
import { parseArgs } from 'node:util'
import { dataFile, openDataDir } from '../../runtime/cli/data-dir.ts'
import { compose } from '../../runtime/compose.ts'
import { readConfig, readEnvironment } from '../../runtime/config.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { createTokenEngine } from '../../runtime/tokens/pool.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: '' },
    config: { type: 'string', default: '' },
    json: { type: 'boolean' },
  },
  allowPositionals: true,
})

const QUICK = { submitStartMs: 300, railMs: 1_500 }

const data = openDataDir(values.data)
const given = readEnvironment().credentials.HEADGATE_RAIL_KEY
const clock = systemClock()
const { id, key: privateKey } = data.root
// One thread instead of two: a gateway that is killed every second spends its life starting.
const engine = await createTokenEngine({
  rootKeys: { current: { id, privateKey }, others: [] },
  workers: 1,
  clock,
})
const headgate = await compose({
  config: readConfig(values.config),
  secrets: data,
  store: data.store,
  checkpoints: dataFile(values.data, 'checkpoints'),
  credentials: given ? { HEADGATE_RAIL_KEY: { secret: given.value, from: given.from } } : {},
  overrides: {
    clock,
    engine,
    timings: QUICK,
    delays: { ...QUICK, visibilityMs: 700, clockStepMs: 0, everyMs: 250 },
  },
  log: (entry) => process.stderr.write(`${JSON.stringify(entry)}\n`),
})
const { url, local } = headgate
process.stdout.write(`${JSON.stringify({ url, local, pid: process.pid })}\n`)

const stop = async () => {
  await headgate.close()
  data.close()
  process.exit(0)
}
process.on('SIGTERM', stop).once('disconnect', stop)
