/**
 * JSON-RPC messages before the library sees them: one at a time, read as strictly as every other body, so that nothing that
 * can be read in two ways reaches a tool; and after it, because its error texts quote what a caller wrote.
 */
import { isObject, type Json, JsonError, parseJson } from '../core/json.ts'
import { LIMITS } from '../core/limits.ts'

export type MessageId = string | number

/** What is written where there is no result. `id` is null where none could be told. */
export interface ErrorMessage {
  readonly jsonrpc: '2.0'
  readonly id: MessageId | null
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** A message of the right shape; `id` of a request, `method` of requests and notifications. */
export interface Message {
  readonly text: string
  readonly id?: MessageId
  readonly method?: string
}

export type ReadMessage =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly error: ErrorMessage }

/** Our own sentences; everything else that an error says is replaced by the one of its code. */
export const SAID = {
  parse: 'expected one JSON-RPC message as strict JSON in UTF-8',
  loose:
    'expected JSON without repeated or reserved keys, whole numbers in plain notation, and little nesting',
  batch: 'expected one message and not a batch',
  shape: 'expected a JSON-RPC 2.0 message with exactly its fields',
  tooLarge: 'the message is larger than the documented limit',
  inFlight: 'a request of this id is in flight; nothing was done again',
  tooMany: 'too many requests are in flight; wait for their answers',
  noTool: 'there is no such tool for this token; ask tools/list',
  noResource: 'there is no such resource for this token; ask resources/templates/list',
  method: 'there is no such method',
  params: 'expected the parameters that this method documents',
  version: 'expected one of the protocol versions in data.supported',
  capability: 'expected a client with the capabilities that this method needs',
  http: 'expected what the streamable HTTP transport documents of headers and bodies',
  internal: 'something broke on our side; ask again',
} as const

const CODE_TEXTS: Readonly<Record<number, string>> = {
  [-32700]: SAID.parse,
  [-32600]: SAID.shape,
  [-32601]: SAID.method,
  [-32602]: SAID.params,
  [-32603]: SAID.internal,
  [-32022]: SAID.version,
  [-32021]: SAID.capability,
  [-32020]: SAID.http,
  [-32000]: SAID.http,
}

const OURS: ReadonlySet<string> = new Set(Object.values(SAID))

export const errorMessage = (
  id: MessageId | null,
  code: number,
  message: string,
): ErrorMessage => ({ jsonrpc: '2.0', id, error: { code, message } })

const FIELDS = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])

function idOf(json: unknown): MessageId | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined
  const id: unknown = Object.hasOwn(json, 'id') ? Reflect.get(json, 'id') : undefined
  if (typeof id === 'number' && Number.isSafeInteger(id)) return id
  return typeof id === 'string' && id.length <= LIMITS.mcpIdChars ? id : undefined
}

/** The id of a text that only its looseness keeps from being read, so that its sender is not left waiting. */
function salvagedId(text: string): MessageId | null {
  try {
    return idOf(JSON.parse(text)) ?? null
  } catch {
    return null
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}

/** Reads one message of at most `most` bytes. */
export function readMessage(bytes: Uint8Array, most: number): ReadMessage {
  const refuse = (id: MessageId | null, code: number, message: string): ReadMessage => ({
    ok: false,
    error: errorMessage(id, code, message),
  })
  if (bytes.length > most) return refuse(null, -32600, SAID.tooLarge)
  const text = decoded(bytes)
  if (text === undefined) return refuse(null, -32700, SAID.parse)
  let json: Json
  try {
    json = parseJson(text)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    if (error.reason === 'syntax') return refuse(null, -32700, SAID.parse)
    return refuse(salvagedId(text), -32600, SAID.loose)
  }
  if (Array.isArray(json)) return refuse(null, -32600, SAID.batch)
  const message = messageOf(json, text)
  return message === undefined
    ? refuse(idOf(json) ?? null, -32600, SAID.shape)
    : { ok: true, message }
}

function messageOf(json: Json, text: string): Message | undefined {
  if (!isObject(json) || json.jsonrpc !== '2.0') return undefined
  if (Object.keys(json).some((key) => !FIELDS.has(key))) return undefined
  const { method, params } = json
  const id = idOf(json)
  if ('id' in json && id === undefined) return undefined
  if (params !== undefined && !isObject(params)) return undefined
  if (method === undefined) return 'result' in json || 'error' in json ? { text } : undefined
  if (typeof method !== 'string' || 'result' in json || 'error' in json) return undefined
  return { text, method, ...(id === undefined ? {} : { id }) }
}

/** An error as it may leave: its code, our sentence, and of its data the protocol versions that a client may choose. */
export function plainError(error: ErrorMessage['error']): ErrorMessage['error'] {
  const { code, message, data } = error
  const said = OURS.has(message) ? message : (CODE_TEXTS[code] ?? SAID.shape)
  const supported = code === -32022 && isRecord(data) ? data.supported : undefined
  if (!Array.isArray(supported)) return { code, message: said }
  // The library's clients choose by `supported` and want to find what they had asked for beside it.
  return { code, message: said, data: { supported, requested: 'other' } }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
