/** Messages, signed as PayPal signs them, and the address that says whether a signature is one of its own. */
import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { oldRefusal, type Reply } from './refusals.ts'
import type { Ask, Route } from './routes.ts'
import { at, type World } from './world.ts'

export interface Signed {
  readonly headers: Record<string, string>
  readonly body: string
}

let keys: { publicKey: KeyObject; privateKey: KeyObject } | undefined

/** One pair for a process: making it takes longer than most tests. */
const pair = () => (keys ??= generateKeyPairSync('rsa', { modulusLength: 2048 }))

export class Webhooks {
  readonly id: string
  readonly #world: World

  constructor(world: World) {
    this.#world = world
    this.id = world.id(17)
  }

  routes = (): readonly Route[] => [
    {
      on: 'verify',
      method: 'POST',
      path: '/v1/notifications/verify-webhook-signature',
      act: (ask) => this.#verify(ask),
    },
  ]

  /** Everything that would be delivered, taken off the queue. */
  take(): Signed[] {
    return this.#world.queue.splice(0).map(({ body }) => this.sign(body))
  }

  /** Of ids that it draws, the first whose signature has the form that PayPal's documents give it. */
  sign(body: string): Signed {
    const time = this.#world.iso()
    const signed = () => {
      const id = `${this.#world.id(8)}-0000-11F0-8000-${this.#world.id(12)}`.toLowerCase()
      const text = signedText(id, time, this.id, body)
      const signature = sign('RSA-SHA256', Buffer.from(text), pair().privateKey).toString('base64')
      return { id, signature }
    }
    let { id, signature } = signed()
    while (!/^\w/.test(signature)) ({ id, signature } = signed())
    const headers = {
      'paypal-transmission-id': id,
      'paypal-transmission-time': time,
      'paypal-transmission-sig': signature,
      'paypal-cert-url': `${this.#world.url}/v1/notifications/certs/CERT-360caa42-fca2a594`,
      'paypal-auth-algo': 'SHA256withRSA',
      'content-type': 'application/json',
    }
    return { headers, body }
  }

  #verify({ json, text }: Ask): Reply {
    const names = [
      'auth_algo',
      'cert_url',
      'transmission_id',
      'transmission_sig',
      'transmission_time',
      'webhook_id',
    ]
    for (const name of names) {
      if (typeof at(json, name) !== 'string')
        throw oldRefusal(400, 'VALIDATION_ERROR', { field: name })
    }
    const event = rawValue(text, 'webhook_event')
    if (event === undefined) throw oldRefusal(400, 'VALIDATION_ERROR', { field: 'webhook_event' })
    const of = (name: string) => String(at(json, name))
    const signed = signedText(
      of('transmission_id'),
      of('transmission_time'),
      of('webhook_id'),
      event,
    )
    const signature = Buffer.from(of('transmission_sig'), 'base64')
    const isGood =
      of('webhook_id') === this.id &&
      of('auth_algo') === 'SHA256withRSA' &&
      verify('RSA-SHA256', Buffer.from(signed), pair().publicKey, signature)
    return { status: 200, json: { verification_status: isGood ? 'SUCCESS' : 'FAILURE' } }
  }
}

const signedText = (id: string, time: string, webhook: string, body: string) =>
  `${id}|${time}|${webhook}|${crc32(Buffer.from(body))}`

/** The bytes of one member of an object, as they came: what is signed is not what JSON would write anew. */
function rawValue(text: string, name: string): string | undefined {
  const start = text.indexOf(`"${name}":`)
  if (start < 0) return undefined
  const from = start + name.length + 3
  let depth = 0
  let isText = false
  for (let i = from; i < text.length; i += 1) {
    const c = text[i]
    if (isText) {
      if (c === '\\') i += 1
      else if (c === '"') isText = false
      continue
    }
    if (c === '"') isText = true
    if (c === '{' || c === '[') depth += 1
    if (c === '}' || c === ']') depth -= 1
    if (depth === 0 && (c === '}' || c === ']')) return text.slice(from, i + 1)
  }
  return undefined
}
