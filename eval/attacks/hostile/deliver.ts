/** How a rail's messages reach a gateway: by HTTP where it has a door for them, and otherwise as the rail's word for it. */
import { send } from '../http.ts'
import type { HostileGateway } from './gateway.ts'
import type { HostileRail, RailMessage } from './rails.ts'

/** Answers whether the gateway has taken it. */
export type Deliver = (
  gateway: HostileGateway,
  rail: HostileRail,
  message: RailMessage,
) => Promise<boolean>

export const hasDoor = ({ headgate }: HostileGateway, { name }: HostileRail): boolean =>
  headgate.app.hasRoute({ method: 'POST', url: `/webhooks/${name}` })

/** To the gateway's own address for messages. */
const byHttp: Deliver = async ({ world }, { name }, { headers, body }) => {
  const { status } = await send(world.origin, {
    method: 'POST',
    path: `/webhooks/${name}`,
    headers: Object.entries({ 'content-type': 'application/json', ...headers }),
    body,
  })
  return status >= 200 && status < 300
}

/** A gateway without such a door asks the rail itself. */
const byAsking: Deliver = async ({ headgate }) => {
  await headgate.reconciler.runOnce().catch(() => undefined)
  return true
}

export const deliver: Deliver = (gateway, rail, message) =>
  hasDoor(gateway, rail) ? byHttp(gateway, rail, message) : byAsking(gateway, rail, message)
