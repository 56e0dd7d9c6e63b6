/**
 * The HTTP interface over a gateway and its ledger: operators, feeds, streams, views, the route table and the server,
 * put together. It owns what it makes and nothing of what it is given.
 */
import type { FastifyInstance } from 'fastify'
import type { TokenEngine } from '../core/engine.ts'
import type { Rail } from '../core/rail.ts'
import type { ModelCount } from '../funnel/model-counts.ts'
import { askReady } from '../gateway/ready.ts'
import type { Reconciler } from '../gateway/reconcile.ts'
import type { TokenPool } from '../tokens/pool.ts'
import { createFeeds } from './feed.ts'
import { allowedHosts } from './hosts.ts'
import { createMetrics } from './metrics.ts'
import { createOperators, type LoginCode, type NamedOperator } from './operators.ts'
import { createReadiness } from './readiness.ts'
import type { Route } from './route.ts'
import type { RouteDeps } from './routes/deps.ts'
import { createServer, type ServerOptions } from './server.ts'
import { createStreams, type StreamTimings } from './stream.ts'
import { routeTable } from './table.ts'
import { createViews } from './views.ts'

type Given =
  | 'gateway'
  | 'ledger'
  | 'clock'
  | 'signer'
  | 'publicKeys'
  | 'rootKeys'
  | 'url'
  | 'carryOut'
  | 'reconcile'
  | 'demo'

export interface InterfaceOptions
  extends Pick<RouteDeps, Given>,
    Pick<ServerOptions, 'consoleDir' | 'log' | 'guard'> {
  readonly rail: Rail
  readonly reconciler: Pick<Reconciler, 'compare' | 'hear' | 'heard' | 'settlement'>
  readonly engine: TokenEngine & Partial<Pick<TokenPool, 'stats'>>
  readonly operatorToken: string
  readonly namedOperators: readonly NamedOperator[]
  readonly streamTimings: StreamTimings
  readonly payeeNames: ReadonlyMap<string, string>
  /** What models were asked since the start; absent where nobody counts. */
  readonly modelCounts?: () => readonly ModelCount[]
}

export interface Listen {
  readonly host: string
  readonly port: number
  /** Whether the names of this machine are ours too. */
  readonly local: boolean
  readonly moreHosts: readonly string[]
}

export interface HttpInterface {
  readonly app: FastifyInstance
  readonly routes: readonly Route[]
  newLoginCode(): LoginCode
  /** Returns the port. Rejects with `EADDRINUSE` when it is taken. */
  listen(options: Listen): Promise<number>
  /** Ends streams first, then lets requests under way finish. */
  close(): Promise<void>
}

export async function createInterface(options: InterfaceOptions): Promise<HttpInterface> {
  const { ledger, clock, rail, reconciler, payeeNames } = options
  const operators = createOperators({
    token: options.operatorToken,
    named: options.namedOperators,
    clock,
  })
  const feeds = createFeeds(ledger)
  const streams = createStreams({ feeds, clock, timings: options.streamTimings })
  const payeeName = (payee: string) => payeeNames.get(payee) ?? payee
  const metrics = createMetrics({
    ledger,
    clock,
    refused: options.gateway.refusalTotals,
    verdicts: options.gateway.verdictTotals,
    monitor: options.gateway.monitorTotals,
    haltedRuns: options.gateway.haltedRuns,
    pool: options.engine.stats,
    heard: rail.events && reconciler.heard,
    models: options.modelCounts,
  })
  const routes: readonly Route[] = routeTable({
    ...options,
    railName: rail.name,
    compare: reconciler.compare,
    settlement: reconciler.settlement,
    ...(rail.events === undefined ? {} : { hear: reconciler.hear }),
    metrics: metrics.text,
    feeds,
    streams,
    operators,
    payeeName,
    views: createViews({ ledger, feeds, clock, payeeName }),
    failing: createReadiness({
      clock: () => clock.nowMs(),
      store: () => ledger.ping(),
      // Whatever it says of a text that is no token, it has to answer.
      engine: () => options.engine.verify('AA'),
      rail: async () => void (await askReady(rail)),
    }),
    table: () => routes,
  })
  let hosts: ReadonlySet<string> = new Set()
  let probesByAnyName = false
  const app = await createServer({
    ...options,
    routes,
    operators,
    hosts: () => hosts,
    probesByAnyName: () => probesByAnyName,
    observe: metrics.observe,
  })
  app.addHook('preClose', async () => streams.closeAll('shutdown'))
  return {
    app,
    routes,
    newLoginCode: () => operators.newLoginCode(),
    listen: async ({ host, port, local, moreHosts }) => {
      const address = new URL(await app.listen({ host, port }))
      const bound = Number(address.port)
      probesByAnyName = !local
      hosts = allowedHosts({ url: options.url, port: bound, local, more: moreHosts })
      return bound
    },
    close: async () => {
      await app.close()
      feeds.close()
    },
  }
}
