/** Attacks on what operators decide and on what is left of it: approvals, holds, freezes, the log. */
import { createHash, type KeyObject } from 'node:crypto'
import { verifyExport } from '../../../../runtime/audit/verify.ts'
import { signJws } from '../../../../runtime/core/jws.ts'
import { LIMITS } from '../../../../runtime/core/limits.ts'
import { newKey } from '../../forge/tokens.ts'
import type { AttackCase } from '../../types.ts'
import type { Bench } from '../../world/bench.ts'
import { approve, decide, holdOf } from '../people.ts'

const HELD = { mandate: { approvalAbove: 500 } } as const

async function exportOf(bench: Bench, path: string): Promise<readonly string[]> {
  const answer = bench.must(await bench.operator(path), 200)
  return answer.text.split('\n').filter((line) => line !== '')
}

const keysOf = async (bench: Bench) =>
  JSON.parse((await bench.plain({ method: 'GET', path: '/.well-known/jwks.json' })).text)

/** A run with one settled payment, its log, and its receipt as somebody else would have kept it. */
async function settledRun(bench: Bench) {
  const { root, quote, leaf } = await bench.purchase()
  const { body } = bench.must(await bench.pay(leaf, quote), 200)
  const log = await exportOf(bench, `/audit?run=${root.run}`)
  const verdict = verifyExport(log, { run: root.run })
  bench.claim(verdict.ok, `expected the log to verify, broken: ${verdict.broken?.why}`)
  return { root, leaf, log, receipt: String(body.receipt) }
}

const DETECTED = { status: 200, code: 'detected' } as const

export const ACT_CASES: readonly AttackCase[] = [
  {
    id: 'O05',
    goal: 'Change what the log says',
    method: 'One amount in one line is edited, with the line’s own hash made right again',
    expected: DETECTED,
    run: async (bench) => {
      const { root, log } = await settledRun(bench)

      const edited = log.map((line) => {
        const { body } = JSON.parse(line) as { body: string }
        if (!body.includes('"type":"settled"')) return line
        const changed = body.replaceAll('1000', '1')
        const hash = createHash('sha256').update(changed).digest('base64url')
        return JSON.stringify({ hash, body: changed })
      })
      const { ok, broken } = verifyExport(edited, { run: root.run })
      bench.claim(!ok && broken !== undefined, 'expected the verifier to name the edited line')
      return { ...DETECTED, moved: [bench.move()] }
    },
  },
  {
    id: 'O06',
    goal: 'Make the last events of a run disappear',
    method: 'The tail of the log is cut off; a receipt was kept elsewhere',
    expected: DETECTED,
    run: async (bench) => {
      const { root, leaf, log, receipt } = await settledRun(bench)
      const kept = { run: root.run, receipts: [receipt], jwks: await keysOf(bench) }
      const whole = verifyExport(log, kept)
      bench.claim(whole.ok, `expected the whole log to verify, broken: ${whole.broken?.why}`)
      const isLast = (line: string) =>
        line.includes(leaf.claims.node) && line.includes('\\"type\\":\\"settled\\"')
      const cut = log.filter((line) => !isLast(line))
      bench.claim(cut.length === log.length - 1, 'expected one line to be cut')
      bench.claim(!verifyExport(cut, kept).ok, 'expected the cut to show')
      return { ...DETECTED, moved: [bench.move()] }
    },
  },
  {
    id: 'O07',
    goal: 'Put yesterday’s log in the place of today’s',
    method: 'A whole older export, beside a receipt of a payment that came later',
    expected: DETECTED,
    run: async (bench) => {
      const { root, log } = await settledRun(bench)
      const { quote, leaf } = await bench.purchaseIn(root, { amount: 2_000 })
      const { body } = bench.must(await bench.pay(leaf, quote), 200)
      const jwks = await keysOf(bench)
      const old = verifyExport(log, {
        run: root.run,
        receipts: [String(body.receipt)],
        jwks,
      })
      bench.claim(!old.ok, 'expected the older log not to hold the later receipt')
      return { ...DETECTED, moved: [bench.move(), bench.move({ amount: 2_000 })] }
    },
  },
  {
    id: 'O08',
    goal: 'Use one approval for another payment',
    method: 'An approval is given and used; its id is then given the other payment’s digest',
    expected: { status: 202, code: 'approval_required', verdict: 'hold' },
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase(HELD)
      const first = await holdOf(bench, leaf, quote)
      await approve(bench, first)
      bench.must(await bench.pay(leaf, quote), 200)
      const next = await bench.purchaseIn(root)
      const second = await holdOf(bench, next.leaf, next.quote)
      const crossed = { id: first.id, digest: second.digest }
      bench.must(await decide(bench, crossed, 'approve'), 409)
      bench.must(await decide(bench, first, 'approve'), 200)
      return bench.seen(await bench.pay(next.leaf, next.quote), [bench.move()])
    },
  },
  {
    id: 'O09',
    goal: 'Have a person approve something else than was shown',
    method: 'The approve call names a digest that is not the card’s',
    expected: { status: 409, code: 'conflict' },
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase(HELD)
      const { id } = await holdOf(bench, leaf, quote)
      const seen = bench.seen(await decide(bench, { id, digest: 'A'.repeat(43) }, 'approve'))
      bench.must(await bench.pay(leaf, quote), 202, 'approval_required')
      return seen
    },
  },
  {
    id: 'O13',
    goal: 'Tire the person into approving',
    method: 'More held payments in one run than a person may be asked about',
    expected: { status: 403, code: 'policy', verdict: 'deny' },
    run: async (bench) => {
      const root = await bench.run(HELD.mandate)
      const one = async () => {
        const quote = bench.quote()
        return bench.pay(await bench.leaf(root, quote), quote)
      }
      for (let open = 0; open < LIMITS.openHolds; open += 10) {
        const answers = await Promise.all(Array.from({ length: 10 }, one))
        for (const answer of answers) bench.must(answer, 202, 'approval_required')
      }
      return bench.seen(await one())
    },
  },
  {
    id: 'O14',
    goal: 'Have silence taken for a yes',
    method: 'Nobody answers for longer than a hold lives; then the yes comes',
    expected: { status: 409, code: 'closed' },
    world: 'late',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase(HELD)
      const hold = await holdOf(bench, leaf, quote)
      bench.world.pushClock((LIMITS.holdSeconds + 1) * 1_000)
      const seen = bench.seen(await decide(bench, hold, 'approve'))
      bench.must(await bench.pay(leaf, quote), 202, 'approval_required')
      return seen
    },
  },
  {
    id: 'O14b',
    goal: 'Ask again until somebody says yes',
    method: 'A payment that a person refused is sent again',
    expected: { status: 403, code: 'policy', verdict: 'deny' },
    guards: 'policy',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase(HELD)
      bench.must(await decide(bench, await holdOf(bench, leaf, quote), 'refuse'), 200)
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'O19',
    goal: 'Find a secret in what the gateway wrote',
    method:
      'The whole log, its operator’s log and refusals are read for tokens, proofs, keys and quotes',
    expected: { status: 200 },
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      const path = '/payments'
      const proof = bench.proof(leaf, { path })
      bench.must(await bench.pay(leaf, quote, { headers: [['DPoP', proof]] }), 200)
      const replayed = await bench.pay(leaf, quote, { headers: [['DPoP', proof]] })
      const refused = await bench.pay(leaf, bench.quote())
      const { d = '?' } = leaf.holder.export({ format: 'jwk' })
      const secrets = [...bench.world.secrets, root.token, leaf.token, proof, quote, d]
      const log = (await exportOf(bench, '/audit')).join('\n')
      const written = [log, bench.world.log.join('\n'), replayed.text, refused.text]
      const isClean = written.every((text) => secrets.every((secret) => !text.includes(secret)))
      bench.claim(isClean, 'expected no secret in anything that was written')
      return { status: 200, moved: [bench.move()] }
    },
  },
  {
    id: 'O22',
    goal: 'Pay after the stop was acknowledged',
    method: 'The whole gateway is frozen, and a leaf that was ready pays',
    expected: { status: 403, code: 'frozen', verdict: 'deny' },
    guards: 'standing',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      bench.must(await bench.operator('/freeze', { method: 'POST' }), 200)
      try {
        return bench.seen(await bench.pay(leaf, quote))
      } finally {
        bench.must(await bench.operator('/resume', { method: 'POST' }), 200)
      }
    },
  },
  {
    id: 'O23',
    goal: 'Slip through between the judge and the stop',
    method: 'The run is stopped while the monitor thinks; then the monitor says yes',
    expected: { status: 403, code: 'frozen', verdict: 'deny' },
    world: 'monitored',
    run: async (bench) => {
      const lines = [{ sku: 'M-WAIT', title: 'A thing', quantity: 1, unitAmount: 1_000 }]
      const { root, quote, leaf } = await bench.purchase({ claims: { lines } })
      const asked = bench.world.monitor?.waiting()
      const paying = bench.pay(leaf, quote)
      const letGo = await asked
      const path = `/runs/${root.run}/nodes/${root.claims.node}/freeze`
      const stop = bench.must(await bench.operator(path, { method: 'POST' }), 200)
      bench.claim(String(stop.body.onTheirWay) === '', 'expected nothing on its way')
      letGo?.()
      return bench.seen(await paying)
    },
  },
  {
    id: 'O24',
    goal: 'End somebody else’s run',
    method: 'A cancel signed by another key, one for another run, and none at all by a planner',
    expected: { status: 401, code: 'unauthenticated' },
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      const { principal, gatewayId } = bench.world
      const sign = (key: KeyObject, run: string) =>
        signJws({
          typ: 'cancel+jwt',
          key,
          kid: principal.kid,
          claims: { iss: principal.id, aud: gatewayId, run, iat: bench.now() },
        })
      const path = `/runs/${root.run}/cancel`
      const forged = { path, body: { cancel: sign(newKey(), root.run) } }
      bench.must(await bench.plain(forged), 400, 'cancel_rejected')
      const other = await bench.run()
      const strayed = { path, body: { cancel: sign(principal.key, other.run) } }
      bench.must(await bench.plain(strayed), 400, 'cancel_rejected')
      const seen = bench.seen(await bench.plain({ path, body: {} }), [bench.move()])
      bench.must(await bench.pay(leaf, quote), 200)
      return seen
    },
  },
]
