import { describe, expect, it } from 'vitest'
import { steadyClock, systemClock } from '../../runtime/core/clock.ts'

function sources() {
  const at = { wall: 1_800_000_000_000, monotonic: 500 }
  const clock = steadyClock(
    () => at.wall,
    () => at.monotonic,
  )
  const pass = (ms: number) => {
    at.wall += ms
    at.monotonic += ms
  }
  return { at, clock, pass }
}

const untrusted = expect.objectContaining({ code: 'clock_untrusted' })

describe('the clock', () => {
  it('follows the wall clock in whole milliseconds', () => {
    const { clock, pass, at } = sources()
    pass(1234.75)
    expect(clock.nowMs()).toBe(Math.floor(at.wall))
  })

  it('stands still through a step back within the skew and never goes back', () => {
    const { clock, pass, at } = sources()
    pass(10_000)
    const before = clock.nowMs()
    at.wall -= 2_000
    expect(clock.nowMs()).toBe(before)
    pass(3_000)
    expect(clock.nowMs()).toBe(before + 1_000)
  })

  it('refuses a step back past the skew until the wall clock has caught up', () => {
    const { clock, pass, at } = sources()
    const before = clock.nowMs()
    at.wall -= 2_001
    expect(() => clock.nowMs()).toThrow(untrusted)
    pass(1)
    expect(clock.nowMs()).toBe(before)
  })

  it('takes a step forward of exactly a minute and refuses one past it', () => {
    const { clock, at } = sources()
    at.wall += 60_000
    expect(() => clock.nowMs()).not.toThrow()
    at.wall += 1
    expect(() => clock.nowMs()).toThrow(untrusted)
  })

  it('refuses a step back of more than a minute though nobody asked for the time before it', () => {
    const { clock, at } = sources()
    at.wall -= 60_001
    expect(() => clock.nowMs()).toThrow(untrusted)
  })

  it('refuses a source that gives no number', () => {
    const { clock, at } = sources()
    at.wall = Number.NaN
    expect(() => clock.nowMs()).toThrow(untrusted)
    expect(() => steadyClock(() => Number.NaN).nowMs()).toThrow(untrusted)
  })

  it('gives the machine’s time', () => {
    expect(Number.isSafeInteger(systemClock().nowMs())).toBe(true)
  })
})
