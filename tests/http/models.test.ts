import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { type Agents, ModelFault } from '../../runtime/core/agents.ts'
import { runDetailSchema } from '../../runtime/core/wire.ts'
import { runsAnswer } from '../../runtime/http/shapes.ts'
import { post, startGateway, startOutsideRun, type TestGateway } from './gateway.ts'

const usage = { calls: 1, inputTokens: 300, outputTokens: 40, costMicros: 123 }
const SAID = 'the provider said something about the task'

/** A model that never has a plan, and looks that find nothing. */
const agents: Agents = {
  plan: async () => {
    throw new ModelFault('refused', SAID, { retryable: false, usage, model: 'gemini-x' })
  },
  look: async () => ({ look: { found: [] }, usage, model: 'gemini-x' }),
  choose: async () => ({ choice: { index: 'none' }, usage, model: 'gemini-x' }),
}

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway({
    config: { engine: { kind: 'gemini', model: 'gemini-x', url: 'http://127.0.0.1:9' } },
    overrides: { agents, manual: false },
  })
}, 60_000)
afterAll(() => gateway.close())

async function ended(claims: object) {
  const answer = await gateway.fetch(
    '/runs',
    post({ mandate: gateway.sign(gateway.claims(claims)) }),
  )
  const { run } = (await answer.json()) as { run: { id: string } }
  for (;;) {
    const read = await gateway.asOperator(`/runs/${run.id}`)
    const detail = runDetailSchema.parse(await read.json())
    if (detail.run.seal !== undefined) return detail
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

describe('what models used', () => {
  it('is on the run and on each node that asked, with who answered and that the scripted planner took over', async () => {
    const { run, nodes } = await ended({
      task: '1 lamp',
      agent: { engine: 'gemini' },
      // Room for one look, whatever other words there are.
      limits: { depth: 4, fanOut: 8, nodes: 2 },
    })
    // The planner was asked for the plan and for another one, the looker once.
    const models = { ...usage, calls: 3, inputTokens: 900, outputTokens: 120, costMicros: 369 }
    expect(run.models).toEqual({
      ...models,
      unanswered: 2,
      fallbacks: 2,
      fallback: 'model_failed',
      byModel: { 'gemini-x': models },
    })
    const [root, looker] = nodes
    expect(root?.models).toMatchObject({ calls: 2, unanswered: 2, fallbacks: 2 })
    expect(looker).toMatchObject({ kind: 'looker', models: { calls: 1, unanswered: 0 } })
  })

  it('is in a log that verifies and has no word of a provider', async () => {
    const log = await (await gateway.asOperator('/audit')).text()
    const jwks = (await (await gateway.fetch('/.well-known/jwks.json')).json()) as never
    expect(verifyExport(log.split('\n'), { jwks, seals: [] })).toMatchObject({ ok: true })
    expect(log).toContain('unanswered')
    expect(log).not.toContain(SAID.slice(0, 12))
  })

  it('is counted for a scrape, by engine, role and why there was no answer', async () => {
    const text = await (await gateway.asOperator('/metrics')).text()
    const planner = 'engine="gemini",role="planner"'
    const looker = 'engine="gemini",role="looker"'
    for (const line of [
      `headgate_model_calls_total{${planner}} 2`,
      `headgate_model_calls_total{${looker}} 1`,
      `headgate_model_input_tokens_total{${planner}} 600`,
      `headgate_model_output_tokens_total{${planner}} 80`,
      `headgate_model_cost_dollars_total{${looker}} 0.000123`,
      `headgate_model_failures_total{${planner},failure="refused"} 2`,
    ]) {
      expect(text).toContain(line)
    }
  })

  it('is nothing that a list of runs, or a planner outside, is told', async () => {
    const { runs } = runsAnswer.parse(await (await gateway.asOperator('/runs')).json())
    expect(runs.map(({ models }) => models)).toEqual(runs.map(() => undefined))
  })
})

describe('a mandate that names an agent', () => {
  const answerTo = async (claims: object) => {
    const mandate = gateway.sign(gateway.claims(claims))
    const answer = await gateway.fetch('/runs', post({ mandate }))
    return [answer.status, await answer.json()]
  }

  it.each([{ engine: 'groq' }, { engine: 'scripted' }, { engine: 'gemini', model: 'gemini-y' }])(
    'is refused where the gateway runs another: %o',
    async (agent) => {
      expect(await answerTo({ agent })).toEqual([
        400,
        expect.objectContaining({ code: 'mandate_rejected', claim: 'agent' }),
      ])
    },
  )

  it('is accepted where the gateway runs it, or where somebody else plans', async () => {
    expect(await answerTo({ agent: { engine: 'gemini', model: 'gemini-x' } })).toMatchObject([
      201,
      {},
    ])
    const outside = await startOutsideRun(gateway, { agent: { engine: 'groq' } })
    expect(outside.run).toMatch(/^run_/)
  })
})
