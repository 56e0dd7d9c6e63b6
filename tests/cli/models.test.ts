import { describe, expect, it } from 'vitest'
import { storyLine } from '../../runtime/cli/story.ts'
import { modelsText } from '../../runtime/cli/tree.ts'
import { canonicalJson } from '../../runtime/core/json.ts'
import type { ModelUseView, RunDetail } from '../../runtime/core/wire.ts'

const NONE = { calls: 0, inputTokens: 0, outputTokens: 0, costMicros: 0 }
const used = (more: Partial<ModelUseView>): ModelUseView => ({
  ...NONE,
  unanswered: 0,
  fallbacks: 0,
  byModel: {},
  ...more,
})

describe('the line about models', () => {
  it('says calls, tokens and money as people read them', () => {
    const text = modelsText(
      used({ calls: 12, inputTokens: 33_000, outputTokens: 1_000, costMicros: 12_345 }),
    )
    expect(text).toBe('12 calls, 34,000 tokens, 0.012345 US dollars')
  })

  it('says what had no answer, and that the scripted planner took over', () => {
    const byModel = { 'gemini-x': { ...NONE, calls: 1 } }
    const text = modelsText(
      used({ calls: 1, unanswered: 1, fallbacks: 1, fallback: 'model_failed', byModel }),
    )
    expect(text).toBe(
      '1 call, 0 tokens, 0.000000 US dollars, 1 without an answer, 1 plan by the scripted planner (last: model_failed)',
    )
  })

  it('is not there where only the scripted engine was asked', () => {
    const byModel = { 'scripted-1': { ...NONE, calls: 9 } }
    expect(modelsText(used({ calls: 9, byModel }))).toBeUndefined()
    expect(modelsText(undefined)).toBeUndefined()
  })
})

describe('the story of a run', () => {
  const line = (type: string, data: object) => {
    const event = { v: 1, org: 'o', run: 'run_aaaaaaaaaaaaaaaaaaaaaa', stream: 'gateway', seq: 1 }
    const body = canonicalJson({ ...event, prev: 'A'.repeat(43), at: 1, type, data })
    const fact = { position: 1, stream: 'gateway', seq: 1, hash: '', body }
    const detail = { run: { currency: 'INR' }, nodes: [{ id: 'gateway', label: 'desks' }] }
    return storyLine({ colour: false }, fact, detail as unknown as RunDetail)
  }

  it('says who planned where the model did not, and that a question had no answer', () => {
    expect(line('planned', { parts: 1, fallback: 'bad_plan' })).toBe(
      '◆ planned “desks” by the scripted planner: bad_plan',
    )
    expect(line('planned', { parts: 1 })).toBeUndefined()
    expect(line('unanswered', { role: 'looker', failure: 'blocked' })).toBe(
      '· no answer of the looker of “desks”: blocked',
    )
    expect(line('chose', { among: 2 })).toBe('· chose nothing for “desks”')
  })
})
