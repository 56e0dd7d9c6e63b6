/** How a request reaches what answers it. */
import type { Reply } from './refusals.ts'
import type { StandInFault } from './world.ts'

export interface Ask {
  readonly json: unknown
  /** The body as it came. */
  readonly text: string
  /** The path's one id, or an empty text. */
  readonly id: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | undefined>>
  /** What is scripted for this operation, where the operation itself plays it. */
  readonly fault: StandInFault | undefined
}

export interface Route {
  /** The name under which it is scripted. */
  readonly on: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** With one `:id` at most. */
  readonly path: string
  /** Throws `Refusal`. */
  act(ask: Ask): Reply
}

export function routeFor(
  routes: readonly Route[],
  method: string,
  path: string,
): { route: Route; id: string } | undefined {
  for (const route of routes) {
    const [before = '', after = ''] = route.path.split(':id')
    if (route.method !== method) continue
    if (before === route.path) {
      if (path === before) return { route, id: '' }
      continue
    }
    if (!path.startsWith(before) || !path.endsWith(after)) continue
    const id = path.slice(before.length, path.length - after.length)
    if (/^[A-Za-z0-9_-]{1,255}$/.test(id)) return { route, id }
  }
  return undefined
}

interface Kept {
  readonly atMs: number
  readonly again: () => unknown
}

/**
 * PayPal-Request-Id: for as long as it is remembered, the same id at the same address answers what became of the first
 * request, with 200 where the first had 201, whatever the body says. A refused request is not remembered.
 */
export class RequestIds {
  readonly #kept = new Map<string, Kept>()

  earlier(name: string, nowMs: number, lifeMs: number): Reply | undefined {
    const kept = this.#kept.get(name)
    if (kept === undefined || nowMs - kept.atMs >= lifeMs) return undefined
    return { status: 200, json: kept.again() }
  }

  keep(name: string, atMs: number, again: () => unknown): void {
    this.#kept.set(name, { atMs, again })
  }
}
