/** Operators' routes about payments that the rail has not ended, or has ended and taken back. */
import { LIMITS } from '../../core/limits.ts'
import { viewOfPayment } from '../payment-view.ts'
import { ok, type Route, route } from '../route.ts'
import { alarmsAnswer } from '../shapes.ts'
import type { RouteDeps } from './deps.ts'

export function paymentRoutes(deps: RouteDeps): Route[] {
  return [alarmsRoute(deps)]
}

const alarmsRoute = ({ ledger }: RouteDeps): Route =>
  route({
    method: 'GET',
    path: '/alarms',
    who: ['operator'],
    summary:
      'Payments that the rail has no word on: unknown ones, and submitted ones past their time.',
    answers: { 200: alarmsAnswer },
    handle: async () => {
      const limit = LIMITS.pageItems
      const submitted = await ledger.payments({ states: ['submitted'], limit })
      const unknown = await ledger.payments({ states: ['unknown'], limit })
      const late = submitted.filter(({ overdue }) => overdue !== undefined)
      const alarms = [...late, ...unknown].sort((a, b) => a.createdAtSeconds - b.createdAtSeconds)
      return ok({ alarms: alarms.map(viewOfPayment) })
    },
  })
