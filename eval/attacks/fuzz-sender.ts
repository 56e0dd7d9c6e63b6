/**
 * The fuzzer's own process: fires hostile requests at a gateway that runs in another, over a few connections that
 * stay open, with honest payments mixed in. It says what came back and judges nothing but success.
 */
import { Agent, request } from 'node:http'
import { setPriority } from 'node:os'
import { privateKeyOf } from '../../runtime/core/keys.ts'
import { blockText, compile } from './forge/datalog.ts'
import { drawOf } from './fuzz-random.ts'
import { type Arm, type Arsenal, insiderHolder, proofFor, type Shot, shotOf } from './fuzz-shots.ts'
import type { Control, Order, Report, SentArm } from './fuzz-wire.ts'

/** Far below the queue of the token engine, so that nothing is ever put off. */
const AT_ONCE = 60
const MOST_FAILURES = 10

const armOf = ({ key, ...rest }: SentArm): Arm => ({ ...rest, holder: privateKeyOf(key) })

async function arsenalOf(order: Order): Promise<Arsenal> {
  const { claims } = order.child
  const honest = blockText({ ...claims, holder: insiderHolder() })
  const sources = [
    `${honest}; ceiling("INR", 9000000)`,
    `${honest}; allowed($x) <- node($x)`,
    `${honest}; req_amount(1)`,
    `${honest}; check if true`,
    honest.replaceAll('check all', 'check if'),
    honest.replace('$value === "INR"', '$value == "INR"'),
    `${honest}; check if [1].any($p -> $p == 1)`,
    `${honest}; reject if req_operation("none")`,
    'note("nothing of ours")',
  ]
  return {
    url: order.url,
    planners: order.planners.map(armOf),
    arms: order.arms.map(armOf),
    nodesPath: order.nodesPath,
    child: { ...claims, holder: insiderHolder() },
    payloads: await Promise.all(sources.map(compile)),
  }
}

function createClient(origin: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const { hostname, port } = new URL(origin)
  const fire = ({ path, token, proof, body }: Omit<Shot, 'kind'>): Promise<number> =>
    new Promise((resolve) => {
      const text = JSON.stringify(body)
      const sent = request(
        {
          hostname,
          port,
          path,
          agent,
          method: 'POST',
          headers: {
            authorization: `DPoP ${token}`,
            ...(proof === undefined ? {} : { dpop: proof }),
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(text),
          },
        },
        (answer) => {
          answer.resume()
          answer.on('close', () => resolve(answer.statusCode ?? 0))
        },
      )
      sent.on('error', () => resolve(0))
      sent.end(text)
    })
  return { fire, close: () => agent.destroy() }
}

/** Fires everything; the draws depend on seed and number alone, not on which answer came first. */
async function run(order: Order, tell: (report: Report) => void): Promise<void> {
  const arsenal = await arsenalOf(order)
  const client = createClient(order.origin)
  const { requests, seed, controls } = order
  const report: Report = {
    done: 0,
    statuses: {},
    kinds: {},
    controlsOk: 0,
    failures: [],
    ended: false,
  }
  const every = Math.max(1, Math.floor(requests / Math.max(1, controls.length)))
  let next = 0
  const one = async (index: number) => {
    const control = index % every === 0 ? controls[index / every] : undefined
    if (control) {
      if (await payOnce(control)) report.controlsOk += 1
      return
    }
    const shot = shotOf(drawOf(seed, index), arsenal)
    const status = await client.fire(shot)
    report.statuses[status] = (report.statuses[status] ?? 0) + 1
    report.kinds[shot.kind] = (report.kinds[shot.kind] ?? 0) + 1
    const isRefused = status >= 400 && status < 500
    if (!isRefused && report.failures.length < MOST_FAILURES) {
      report.failures.push({ index, status, ...shot })
    }
  }
  const payOnce = async ({ arm, path, body }: Control): Promise<boolean> => {
    const held = armOf(arm)
    const proof = proofFor(arsenal, held, path)
    return (await client.fire({ path, token: held.token, proof, body })) === 200
  }
  const worker = async () => {
    while (next < requests) {
      await one(next++)
      report.done += 1
      if (report.done % 1_000 === 0) tell(report)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  client.close()
  tell({ ...report, ended: true })
}

// The gateway is what is measured: where two want a core, it goes first.
setPriority(10)
process.once('message', (order: Order) => {
  run(order, (report) => void process.send?.(report)).then(
    () => process.disconnect(),
    (error: unknown) => {
      process.stderr.write(`fuzz: ${error instanceof Error ? error.stack : 'failed'}\n`)
      process.exitCode = 1
      process.disconnect()
    },
  )
})
