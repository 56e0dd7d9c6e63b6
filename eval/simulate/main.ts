/** `npm run simulate -- --seeds N [--seed K] [--from K] [--planted NAME] [--trace] [--json]`. */
import { parseArgs } from 'node:util'
import { PLANTED } from './planted.ts'
import { runSeed, type SeedResult } from './seed.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '50' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    planted: { type: 'string' },
    trace: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})

const whole = (text: string, name: string): number => {
  if (!/^[0-9]{1,9}$/.test(text)) throw new TypeError(`expected a whole number for --${name}`)
  return Number(text)
}

const planted = values.planted === undefined ? undefined : PLANTED[values.planted]
if (values.planted !== undefined && planted === undefined) {
  throw new TypeError(`expected one of: ${Object.keys(PLANTED).join('; ')}`)
}
const one = values.seed === undefined ? undefined : whole(values.seed, 'seed')
const from = one ?? whole(values.from, 'from')
const seeds = one === undefined ? whole(values.seeds, 'seeds') : 1
const say = (text: string) => process.stdout.write(`${text}\n`)

const sum = {
  seeds,
  payments: 0,
  attempts: 0,
  crashes: 0,
  lostRequests: 0,
  lostReplies: 0,
  duplicates: 0,
  clockJumps: 0,
}
const failed: SeedResult[] = []
const startedMs = performance.now()
for (let seed = from; seed < from + seeds; seed += 1) {
  const result = await runSeed(seed, planted, values.trace ? 400 : 40)
  const { counts, violation } = result
  sum.payments += counts.payments
  sum.attempts += counts.attempts
  sum.crashes += counts.crashes
  sum.lostRequests += counts.lostRequests
  sum.lostReplies += counts.lostReplies
  sum.duplicates += counts.duplicates
  sum.clockJumps += counts.jumps
  if (violation !== undefined) failed.push(result)
  if (!values.json && (values.trace || violation !== undefined)) {
    say(result.trace.join('\n'))
    say(`seed ${seed}: ${violation ?? 'all holds'}; digest ${result.digest}`)
    if (violation !== undefined) say(`again: npm run simulate -- --seed ${seed} --trace`)
  } else if (!values.json && one !== undefined) say(`digest ${result.digest}`)
}
const tookMs = performance.now() - startedMs
const perSecond = Math.round((sum.payments / tookMs) * 1000)
const firsts = failed
  .slice(0, 5)
  .map(({ seed, violation, digest }) => ({ seed, violation, digest }))
if (values.json)
  say(JSON.stringify({ ...sum, violations: failed.length, perSecond, first: firsts }))
else {
  say(
    `${seeds} seeds, ${sum.payments} payments (${sum.attempts} attempts), ${perSecond} a second; ${sum.crashes} crashes, ${sum.lostRequests} lost requests, ${sum.lostReplies} lost replies, ${sum.duplicates} duplicates: ${failed.length} violations`,
  )
}
process.exitCode = failed.length === 0 ? 0 : 1
