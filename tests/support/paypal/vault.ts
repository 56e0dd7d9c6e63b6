/** Vault v3: a payer agrees once to a setup token, and it becomes a payment token that charges without them. */
import { type Reply, refusal } from './refusals.ts'
import { type Ask, RequestIds, type Route } from './routes.ts'
import { at, type World } from './world.ts'

const KEYS_MS = 3 * 3600 * 1000

export class Vault {
  readonly #world: World
  readonly #ids = new RequestIds()
  readonly #setups = new Map<string, { status: string }>()
  readonly #tokens = new Set<string>()

  constructor(world: World) {
    this.#world = world
  }

  knows = (id: string): boolean => this.#tokens.has(id)

  /** A saved instrument, as if a payer had agreed to it before. */
  saved(): string {
    const id = this.#world.id(14).toLowerCase()
    this.#tokens.add(id)
    return id
  }

  approve(id: string): boolean {
    const setup = this.#setups.get(id)
    if (setup?.status !== 'PAYER_ACTION_REQUIRED') return false
    setup.status = 'APPROVED'
    return true
  }

  routes(): readonly Route[] {
    const path = '/v3/vault'
    return [
      {
        on: 'setup.create',
        method: 'POST',
        path: `${path}/setup-tokens`,
        act: (ask) => this.#setUp(ask),
      },
      {
        on: 'setup.get',
        method: 'GET',
        path: `${path}/setup-tokens/:id`,
        act: ({ id }) => this.#setup(id),
      },
      {
        on: 'token.create',
        method: 'POST',
        path: `${path}/payment-tokens`,
        act: (ask) => this.#save(ask),
      },
      {
        on: 'token.get',
        method: 'GET',
        path: `${path}/payment-tokens/:id`,
        act: ({ id }) => this.#show(id),
      },
      {
        on: 'token.delete',
        method: 'DELETE',
        path: `${path}/payment-tokens/:id`,
        act: ({ id }) => this.#forget(id),
      },
    ]
  }

  #once(ask: Ask, where: string, act: () => () => unknown): Reply {
    const id = ask.headers['paypal-request-id']
    if (id === undefined) throw refusal('MISSING_REQUIRED_PARAMETER', 'PayPal-Request-Id')
    const earlier = this.#ids.earlier(`${where} ${id}`, this.#world.nowMs(), KEYS_MS)
    if (earlier !== undefined) return earlier
    const show = act()
    this.#ids.keep(`${where} ${id}`, this.#world.nowMs(), show)
    return { status: 201, json: show() }
  }

  #setUp(ask: Ask): Reply {
    return this.#once(ask, 'setup', () => {
      if (at(ask.json, 'payment_source', 'paypal') === undefined) {
        throw refusal('MISSING_REQUIRED_PARAMETER', '/payment_source')
      }
      const id = this.#world.id(17)
      this.#setups.set(id, { status: 'PAYER_ACTION_REQUIRED' })
      return () => this.#setup(id).json
    })
  }

  #setup(id: string): Reply {
    const setup = this.#setups.get(id)
    if (!setup) throw refusal('INVALID_RESOURCE_ID')
    const approve = {
      href: `${this.#world.url}/agreements/approve?approval_session_id=${id}`,
      rel: 'approve',
      method: 'GET',
    }
    return {
      status: 200,
      json: { id, customer: { id: 'customer_1' }, status: setup.status, links: [approve] },
    }
  }

  #save(ask: Ask): Reply {
    return this.#once(ask, 'token', () => {
      const id = at(ask.json, 'payment_source', 'token', 'id')
      const setup = typeof id === 'string' ? this.#setups.get(id) : undefined
      if (!setup || at(ask.json, 'payment_source', 'token', 'type') !== 'SETUP_TOKEN') {
        throw refusal('TOKEN_ID_NOT_FOUND')
      }
      if (setup.status !== 'APPROVED') throw refusal('PAYER_ACTION_REQUIRED')
      setup.status = 'VAULTED'
      const saved = this.saved()
      return () => this.#tokenOf(saved)
    })
  }

  #tokenOf = (id: string) => ({
    id,
    customer: { id: 'customer_1' },
    payment_source: { paypal: {} },
    links: [],
  })

  #show(id: string): Reply {
    if (!this.#tokens.has(id)) throw refusal('INVALID_RESOURCE_ID')
    return { status: 200, json: this.#tokenOf(id) }
  }

  #forget(id: string): Reply {
    this.#tokens.delete(id)
    return { status: 204 }
  }
}
