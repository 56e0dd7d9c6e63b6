/** Every route of the interface, in one table. */
import type { Route } from './route.ts'
import { agentRoutes } from './routes/agents.ts'
import type { RouteDeps } from './routes/deps.ts'
import { mcpRoutes } from './routes/mcp.ts'
import { holdRoutes, standingRoutes } from './routes/operators.ts'
import { paymentRoutes } from './routes/payments.ts'
import { receiptRoutes } from './routes/receipts.ts'
import { runRoutes } from './routes/runs.ts'
import { auditRoutes, serviceRoutes, sessionRoutes } from './routes/service.ts'
import { webhookRoutes } from './routes/webhooks.ts'

export const routeTable = (deps: RouteDeps): readonly Route[] => [
  ...serviceRoutes(deps),
  ...runRoutes(deps),
  ...agentRoutes(deps),
  ...mcpRoutes(deps),
  ...holdRoutes(deps),
  ...paymentRoutes(deps),
  ...standingRoutes(deps),
  ...sessionRoutes(deps),
  ...auditRoutes(deps),
  ...receiptRoutes(deps),
  ...webhookRoutes(deps),
]
