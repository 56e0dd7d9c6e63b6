/** Changes that make a sound request to Razorpay an unsound one, put to the stand-in, which refuses what Razorpay refuses. */
import { freshId } from '../../runtime/core/ids.ts'
import type { Observed } from './observe.ts'

interface Tree {
  readonly [name: string]: unknown
}

export interface RazorpayControl {
  readonly what: string
  /** Undefined where there is nothing to change so. */
  readonly change: (request: Observed) => Observed | undefined
}

const bodyOf = ({ body }: Observed): Tree | undefined => {
  const json: unknown = body === undefined ? undefined : JSON.parse(body)
  return typeof json === 'object' && json !== null ? (json as Tree) : undefined
}

const KEY = /hg-[A-Za-z0-9_-]{27}/g

/** Under a key that was never used: or an earlier request would answer in its place. */
function anew(request: Observed): Observed {
  const key = `hg-${freshId().slice(0, 22)}AAAAA`
  const headers = Object.entries(request.headers).map(([name, value]) => [
    name,
    value.replace(KEY, key),
  ])
  const body = request.body?.replace(KEY, key)
  return {
    ...request,
    headers: Object.fromEntries(headers),
    ...(body === undefined ? {} : { body }),
  }
}

const member = (what: string, change: (body: Tree) => Tree | undefined): RazorpayControl => ({
  what,
  change: (request) => {
    const body = bodyOf(request)
    const changed = body && Object.keys(body).length > 0 ? change(body) : undefined
    return changed && anew({ ...request, body: JSON.stringify(changed) })
  },
})

const amount = (what: string, value: unknown): RazorpayControl =>
  member(what, (body) => ('amount' in body ? { ...body, amount: value } : undefined))

const without = (what: string, name: string): RazorpayControl => ({
  what,
  change: (request) => {
    if (!(name in request.headers)) return undefined
    const { [name]: _gone, ...headers } = request.headers
    return anew({ ...request, headers })
  },
})

const ID = /\/([a-z]+)_[A-Za-z0-9]{14}/

export const RAZORPAY_CONTROLS: readonly RazorpayControl[] = [
  without('no credentials', 'authorization'),
  {
    what: 'credentials of another kind',
    change: (request) => {
      const { authorization = '' } = request.headers
      const headers = { ...request.headers, authorization: authorization.toLowerCase() }
      return { ...request, headers }
    },
  },
  {
    what: 'a path below it',
    change: (request) => ({ ...request, path: request.path.replace(/(\?|$)/, '/more$1') }),
  },
  {
    what: 'an id that nobody has',
    change: (request) =>
      ID.test(request.path)
        ? anew({ ...request, path: request.path.replace(ID, '/$1_00000000000000') })
        : undefined,
  },
  without('no idempotency key', 'X-Payout-Idempotency'),
  member('a member that nobody knows', (body) => ({ ...body, nobody: 'knows' })),
  amount('no amount', undefined),
  amount('an amount as text', '12550'),
  amount('an amount of half a paisa', 12_550.5),
  amount('an amount of nothing', 0),
  amount('an amount below nothing', -12_550),
]
