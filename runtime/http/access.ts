/**
 * Who is calling, before any handler runs. An agent's credential (`Authorization: DPoP`) never opens an operator's
 * route; a session's cookie counts only on requests that a page of ours made, because cookies of `localhost` are
 * shared with every other port and SameSite does not see ports.
 */
import type { FastifyRequest } from 'fastify'
import { headerValues } from './hosts.ts'
import type { Operator, Operators } from './operators.ts'
import { HttpProblem } from './problems.ts'
import type { Who } from './route.ts'

/** Host-bound: no Domain, Path=/, Secure (browsers count *.localhost as secure). */
export const COOKIE = '__Host-headgate'

export interface Access {
  readonly operator?: Operator
  readonly session?: string
}

const SAFE = new Set(['GET', 'HEAD'])

/** The session's secret; undefined without a cookie, or when it was sent twice. */
export function sessionSecret(request: FastifyRequest): string | undefined {
  const pairs = headerValues(request.raw.rawHeaders, 'cookie')
    .flatMap((line) => line.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${COOKIE}=`))
  return pairs.length === 1 ? pairs[0]?.slice(COOKIE.length + 1) : undefined
}

/**
 * Whether a page of ours made this request, by fetch metadata: `same-origin`, or `none` (typed by a person) for
 * reads. Without fetch metadata a change needs an Origin that is the host it came to, which is one of ours.
 */
export function isOwnPage(request: FastifyRequest): boolean {
  const site = headerValues(request.raw.rawHeaders, 'sec-fetch-site')
  const safe = SAFE.has(request.method)
  if (site.length > 1) return false
  if (site[0] === 'same-origin') return true
  if (site[0] === 'none') return safe
  if (site[0] !== undefined) return false
  if (safe) return true
  const origins = headerValues(request.raw.rawHeaders, 'origin')
  const origin = origins[0] !== undefined && URL.parse(origins[0])
  return origins.length === 1 && !!origin && origin.host === request.headers.host
}

/** Refuses whoever the route does not name. Throws HttpProblem; a holder is let through to the gateway’s checks. */
export function authorise(
  request: FastifyRequest,
  who: readonly Who[],
  operators: Operators,
): Access {
  // No page of anybody's can sign for a rail, and what a rail's sender says of where it comes from is nothing.
  if (who.includes('rail')) return {}
  const isBrowser = request.headers['sec-fetch-site'] !== undefined
  if (isBrowser && !SAFE.has(request.method) && !isOwnPage(request)) {
    throw new HttpProblem('cross_site')
  }
  const [credential = '', ...more] = headerValues(request.raw.rawHeaders, 'authorization')
  const scheme = credential.split(' ', 1)[0]?.toLowerCase()
  const isAgent = scheme === 'dpop' || request.headers.dpop !== undefined
  if (who.includes('holder') && (isAgent || !who.includes('operator'))) return {}
  if (who.includes('operator')) {
    if (isAgent) throw new HttpProblem('forbidden')
    const access = asOperator(request, { scheme, credential, repeated: more.length > 0 }, operators)
    if (access !== undefined) return access
  }
  if (who.includes('public') || who.includes('principal')) return {}
  throw new HttpProblem('unauthenticated')
}

function asOperator(
  request: FastifyRequest,
  given: { scheme: string | undefined; credential: string; repeated: boolean },
  operators: Operators,
): Access | undefined {
  if (given.repeated) throw new HttpProblem('unauthenticated')
  if (given.scheme === 'bearer') {
    const operator = operators.byToken(given.credential.slice('bearer '.length).trim())
    if (operator === undefined) throw new HttpProblem('unauthenticated')
    return { operator }
  }
  const session = sessionSecret(request)
  if (session === undefined) return undefined
  if (!isOwnPage(request)) throw new HttpProblem('cross_site')
  const operator = operators.byCookie(session)
  return operator === undefined ? undefined : { operator, session }
}
