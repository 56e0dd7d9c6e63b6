/**
 * The gateway, as the console calls it: same origin, JSON only, the session in an HttpOnly cookie that no script sees.
 * Nothing is retried here: a person decides what is sent twice.
 */

/** @typedef {import('../runtime/core/wire.ts').Problem} Problem */
/** @typedef {import('../runtime/core/wire.ts').RunView} RunView */
/** @typedef {import('../runtime/core/wire.ts').RunDetail} RunDetail */
/** @typedef {import('../runtime/core/wire.ts').HoldView} HoldView */

const TIMEOUT_MS = 10_000

/** How far this machine's clock is from the gateway's; deadlines are the gateway's. */
let skewMs = 0

/** Milliseconds by the gateway's clock. */
export const nowMs = () => Date.now() + skewMs

/** An answer that is not a success. `status` 0: there was no answer. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message)
    this.status = status
    this.code = code
  }
}

/**
 * @param {'GET' | 'POST'} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
async function call(method, path, body) {
  /** @type {Response} */
  let response
  try {
    response = await fetch(path, {
      method,
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers:
        method === 'POST'
          ? { accept: 'application/json', 'content-type': 'application/json' }
          : { accept: 'application/json' },
      ...(method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}),
    })
  } catch {
    throw new Refusal(0, 'unreachable', 'The gateway does not answer.')
  }
  const date = Date.parse(response.headers.get('date') ?? '')
  if (!Number.isNaN(date)) skewMs = Math.abs(date - Date.now()) < 2_000 ? 0 : date - Date.now()
  const answer = await response.json().catch(() => undefined)
  if (response.ok) return answer
  if (response.status === 401 && path !== '/login') window.dispatchEvent(new Event('signed-out'))
  const problem = /** @type {Partial<Problem> | undefined} */ (answer)
  throw new Refusal(
    response.status,
    problem?.code ?? 'unexpected',
    problem?.title ?? `The gateway answered ${response.status}.`,
  )
}

const part = encodeURIComponent

export const logout = () => call('POST', '/logout')

export const session = () => call('GET', '/session')

/** @param {string} code */
export const login = (code) => call('POST', '/login', { code })

/** @returns {Promise<RunView[]>} */
export const runs = async () => (await call('GET', '/runs')).runs

/**
 * @param {string} run
 * @returns {Promise<RunDetail>}
 */
export const runDetail = (run) => call('GET', `/runs/${part(run)}`)

/** Those that are open, the earliest deadline first. @returns {Promise<HoldView[]>} */
export const holds = async () => (await call('GET', '/holds')).holds

/**
 * @param {string} id
 * @returns {Promise<HoldView>} in whatever state it is
 */
export const hold = (id) => call('GET', `/holds/${part(id)}`)

/**
 * @param {string} hold
 * @param {'approve' | 'refuse'} verb
 * @param {string} digest of what the person was shown
 */
export const decide = (hold, verb, digest) =>
  call('POST', `/holds/${part(hold)}/${verb}`, { digest })

/** @param {string} run */
export const cancel = (run) => call('POST', `/runs/${part(run)}/cancel`)

/**
 * @param {string} run
 * @param {string} node
 * @param {'freeze' | 'resume' | 'revoke'} verb
 */
export const setStanding = (run, node, verb) =>
  call('POST', `/runs/${part(run)}/nodes/${part(node)}/${verb}`)

/** @param {'freeze' | 'resume'} verb */
export const setGateway = (verb) => call('POST', `/${verb}`)

export const demo = () => call('POST', '/demo')
