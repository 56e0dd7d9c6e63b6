/** Sends the stand-in's messages to a webhook address as Razorpay does: in time, again after any other answer than 2xx. */
import type { World } from './world.ts'

const TRIES = 8

/** Delivers until `close`; a message that nobody took after some tries is given up. */
export function deliver(world: World, to: string): { close(): void } {
  const timers = new Set<NodeJS.Timeout>()
  const later = (ms: number, act: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      act()
    }, ms)
    timers.add(timer)
  }
  const send = async (message: (typeof world.queue)[number], tries: number): Promise<void> => {
    const { headers, body } = message
    const signal = AbortSignal.timeout(5_000)
    const taken = await fetch(to, {
      method: 'POST',
      headers,
      body,
      signal,
      redirect: 'error',
    }).then(
      ({ ok }) => ok,
      () => false,
    )
    if (!taken && tries < TRIES) later(200 * 2 ** tries, () => void send(message, tries + 1))
  }
  world.onMessage = () => {
    for (const message of world.queue.splice(0)) later(0, () => void send(message, 0))
  }
  // What is due becomes due by itself: nobody looks otherwise.
  const tick = setInterval(() => world.settle(), 250)
  return {
    close: () => {
      clearInterval(tick)
      for (const timer of timers) clearTimeout(timer)
    },
  }
}
