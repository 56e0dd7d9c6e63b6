import { describe, expect, it } from 'vitest'
import { CHECKS, type CheckName, deny, hold } from '../../runtime/core/codes.ts'
import type { Attempt } from '../../runtime/gateway/attempt.ts'
import { assertNine, CHECK_LIST, type Check, Trial } from '../../runtime/gateway/pipeline.ts'
import { at, TestClock } from './world.ts'

const attempt: Attempt = {
  operation: 'pay',
  parsed: { ok: false, code: 'malformed' },
  now: at(0),
}

const passing: readonly Check[] = CHECKS.map(({ name }) => ({ name, judge: () => undefined }))

function withCheck(name: CheckName, judge: Check['judge']): readonly Check[] {
  return passing.map((check) => (check.name === name ? { name, judge } : check))
}

const statuses = (trial: Trial) => trial.results().map(({ status }) => status)

describe('the list of checks', () => {
  it('has the nine public names in their public order', () => {
    expect(CHECK_LIST.map(({ name }) => name)).toEqual(CHECKS.map(({ name }) => name))
    expect(() => assertNine(CHECK_LIST)).not.toThrow()
    expect(() => assertNine(CHECK_LIST.slice(1))).toThrow(TypeError)
    expect(() => assertNine([...CHECK_LIST].reverse())).toThrow(TypeError)
  })

  it('refuses with every check whose facts were never gathered', () => {
    for (const { name, judge } of CHECK_LIST) {
      expect(judge(attempt, {}), name).toMatchObject({
        verdict: name === 'monitor' ? 'hold' : 'deny',
      })
    }
  })
})

describe('a trial', () => {
  it('ends at the first refusal and asks nobody after it', () => {
    const asked: string[] = []
    const checks = CHECKS.map(({ name }) => ({
      name,
      judge: () => {
        asked.push(name)
        return name === 'depth' ? deny('depth') : undefined
      },
    }))
    const trial = new Trial(checks, new TestClock())
    expect(trial.judge('monitor', attempt, {})).toEqual(deny('depth'))
    expect(asked).toEqual(['shape', 'authenticity', 'standing', 'depth'])
    expect(statuses(trial)).toEqual([
      ...['passed', 'passed', 'passed', 'failed'],
      ...Array.from({ length: 5 }, () => 'not-reached'),
    ])
  })

  it('goes on where it stopped and asks each check once', () => {
    let asked = 0
    const checks = withCheck('shape', () => {
      asked += 1
      return undefined
    })
    const trial = new Trial(checks, new TestClock())
    trial.judge('authenticity', attempt, {})
    trial.judge('monitor', attempt, {})
    expect(asked).toBe(1)
    expect(statuses(trial)).toEqual(Array.from({ length: 9 }, () => 'passed'))
  })

  it('tells a hold from a failure, and what did not apply from what passed', () => {
    const checks = withCheck('policy', () => hold('approval_required', 'r'))
    const trial = new Trial(
      checks.map((check) =>
        check.name === 'quote' ? { ...check, judge: () => 'not-applicable' as const } : check,
      ),
      new TestClock(),
    )
    trial.judge('monitor', attempt, {})
    expect(statuses(trial).slice(5)).toEqual([
      'not-applicable',
      'held',
      'not-reached',
      'not-reached',
    ])
  })

  it('lets a later look overturn an earlier check, and forgets what came after it', () => {
    const trial = new Trial(passing, new TestClock())
    trial.judge('monitor', attempt, {})
    trial.refuse(deny('frozen'))
    expect(statuses(trial).slice(0, 4)).toEqual(['passed', 'passed', 'failed', 'not-reached'])
  })

  it('measures each step in whole milliseconds since the one before', () => {
    const clock = new TestClock()
    const trial = new Trial(passing, clock)
    clock.ms += 7
    trial.judge('shape', attempt, {})
    clock.ms += 5
    trial.judge('authenticity', attempt, {})
    expect(trial.results().map(({ ms }) => ms)).toEqual([7, 5, 0, 0, 0, 0, 0, 0, 0])
  })
})
