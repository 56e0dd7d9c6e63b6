/**
 * Where a rail delivers its messages: one address, of the configured rail alone. The rail's signature over the very bytes
 * is the only credential, so nothing is parsed before it, no type is believed, and a refusal says nothing.
 */
import type { RailMessage } from '../../core/rail.ts'
import type { RawRequest } from '../../gateway/attempt.ts'
import { HttpProblem } from '../problems.ts'
import { ok, type Route, route } from '../route.ts'
import { webhookAnswer } from '../shapes.ts'
import type { RouteDeps } from './deps.ts'

/** Rails whose messages have an address; others send none. */
const RAILS: ReadonlySet<string> = new Set(['razorpay', 'paypal'])

export function webhookRoutes({ hear, railName }: RouteDeps): Route[] {
  if (hear === undefined || !RAILS.has(railName)) return []
  return [
    route({
      method: 'POST',
      path: `/webhooks/${railName}`,
      who: ['rail'],
      summary:
        'A signed message of the rail: written down and answered at once, and acted on after the rail was asked.',
      answers: { 200: webhookAnswer },
      handle: async ({ raw }) => {
        switch (await hear(messageOf(raw))) {
          case 'heard':
          case 'repeated':
            return ok({})
          case 'refused':
            throw new HttpProblem('unauthenticated')
          // The rail sends it again.
          case 'unverified':
          case 'busy':
            throw new HttpProblem('unavailable')
        }
      },
    }),
  ]
}

/** A header that is sent twice is no header: which of the two the signature is over nobody can tell. */
function messageOf({ headers, body }: RawRequest): RailMessage {
  const found = new Map<string, string | undefined>()
  for (const [name, value] of headers) {
    const key = name.toLowerCase()
    found.set(key, found.has(key) ? undefined : value)
  }
  return { headers: Object.fromEntries(found), body }
}
