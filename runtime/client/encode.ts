/**
 * The one place that knows how a block's claims look as bytes. It writes the payload of a Biscuit block (facts,
 * then checks on the request) exactly as the reference library's builder would, so a block whose bytes differ from
 * these was made by something else and is refused. Values enter as typed terms; there is no Datalog text here.
 */
import type { BlockClaims, NodeKind, Operation } from '../core/block.ts'
import { LIMITS } from '../core/limits.ts'
import { Writer } from './protobuf.ts'

/** The Datalog version of a block that uses `check all` and nothing newer; third-party blocks need the next one. */
const FIRST_BLOCK_DATALOG = 4
const LATER_BLOCK_DATALOG = 5

/** Symbols that every block knows without carrying them, by index (fixed by the Biscuit specification). */
export const DEFAULT_SYMBOLS: readonly string[] = [
  'read',
  'write',
  'resource',
  'operation',
  'right',
  'time',
  'role',
  'owner',
  'tenant',
  'namespace',
  'user',
  'team',
  'service',
  'admin',
  'email',
  'group',
  'member',
  'ip_address',
  'client',
  'client_ip',
  'domain',
  'path',
  'version',
  'cluster',
  'node',
  'hostname',
  'nonce',
  'query',
]

const DEFAULT_INDEX = new Map(DEFAULT_SYMBOLS.map((symbol, i) => [symbol, i]))

/** A block's own symbols are numbered from here. */
export const FIRST_SYMBOL = 1024

/** What each kind of node may ask for, in ascending order. */
export const OPERATIONS_OF: { readonly [kind in NodeKind]: readonly Operation[] } = {
  planner: ['delegate', 'pay', 'quote', 'read', 'search'],
  looker: ['quote', 'search'],
  leaf: ['pay'],
}

type Term =
  | { readonly integer: number }
  | { readonly text: string }
  | { readonly date: number }
  | { readonly bytes: Uint8Array }
  | { readonly anyOf: readonly string[] }

/** Comparison operators by their number in the schema; the request's value stands on the left. */
const OPERATORS = { '<=': 2, '>=': 3, '===': 4 } as const
const CONTAINS = 5
const CHECK_ALL = 1

/** `$value <= term`, or `term.contains($value)` for a set. */
type Condition = readonly [keyof typeof OPERATORS | 'in', Term]

const bytesOf = (base64url: string): Term => ({ bytes: Buffer.from(base64url, 'base64url') })

class BlockWriter {
  readonly body = new Writer()
  readonly symbols: string[] = []
  readonly index = new Map<string, number>()

  symbol(text: string): number {
    const known = DEFAULT_INDEX.get(text) ?? this.index.get(text)
    if (known !== undefined) return known
    const next = FIRST_SYMBOL + this.symbols.length
    this.symbols.push(text)
    this.index.set(text, next)
    return next
  }

  term(term: Term): void {
    if ('integer' in term) this.body.uint(2, term.integer)
    else if ('text' in term) this.body.uint(3, this.symbol(term.text))
    else if ('date' in term) this.body.uint(4, term.date)
    else if ('bytes' in term) this.body.chunk(5, term.bytes)
    else this.set(term.anyOf)
  }

  /** Elements take their symbols in the order given and stand in the order of those numbers. */
  set(texts: readonly string[]): void {
    const numbers = texts.map((text) => this.symbol(text)).sort((a, b) => a - b)
    this.body.message(7, () => {
      for (const number of numbers) this.body.message(1, () => this.body.uint(3, number))
    })
  }

  fact(name: string, ...terms: readonly Term[]): void {
    this.body.message(4, () =>
      this.body.message(1, () => {
        this.body.uint(1, this.symbol(name))
        for (const term of terms) this.body.message(2, () => this.term(term))
      }),
    )
  }

  /** `check all name($value), condition, …`: refuses when the request does not state `name`, or any value fails. */
  check(name: string, ...conditions: readonly Condition[]): void {
    const { body } = this
    body.message(6, () => {
      body.message(1, () => {
        body.message(1, () => body.uint(1, this.symbol('query')))
        body.message(2, () => {
          body.uint(1, this.symbol(name))
          body.message(2, () => this.variable())
        })
        for (const condition of conditions) body.message(3, () => this.condition(condition))
      })
      body.uint(2, CHECK_ALL)
    })
  }

  /** Operands in order, then the operator: the library's stack machine reads them so. */
  condition([operator, term]: Condition): void {
    const operand = (write: () => void) =>
      this.body.message(1, () => this.body.message(1, () => write()))
    const variable = () => operand(() => this.variable())
    const value = () => operand(() => this.term(term))
    const order = operator === 'in' ? [value, variable] : [variable, value]
    for (const write of order) write()
    const number = operator === 'in' ? CONTAINS : OPERATORS[operator]
    this.body.message(1, () => this.body.message(3, () => this.body.uint(1, number)))
  }

  variable(): void {
    this.body.uint(1, this.symbol('value'))
  }

  finish(datalog: number): Buffer {
    const head = new Writer()
    for (const symbol of this.symbols) head.chunk(1, Buffer.from(symbol))
    head.uint(3, datalog)
    return Buffer.concat([head.finish(), this.body.finish()])
  }
}

function writeFacts(block: BlockWriter, claims: BlockClaims): void {
  const { quote, mandate, run } = claims
  block.fact('node', { text: claims.node })
  block.fact('kind', { text: claims.kind })
  block.fact('ceiling', { text: claims.currency }, { integer: claims.ceiling })
  block.fact('holder', bytesOf(claims.holder))
  block.fact('expires', { date: claims.expiresAtSeconds })
  for (const payee of claims.payees) block.fact('payee', { text: payee })
  if (quote !== undefined) block.fact('quote', bytesOf(quote))
  if (mandate !== undefined) block.fact('mandate', bytesOf(mandate))
  if (run !== undefined) block.fact('run', { text: run })
}

/** The checks speak of the request's facts only, and no block holds a fact of those names. */
function writeChecks(block: BlockWriter, claims: BlockClaims): void {
  const { kind, quote } = claims
  const least = { integer: kind === 'leaf' ? 1 : 0 }
  block.check('req_operation', ['in', { anyOf: OPERATIONS_OF[kind] }])
  block.check('req_amount', ['>=', least], ['<=', { integer: claims.ceiling }])
  block.check('req_currency', ['===', { text: claims.currency }])
  block.check('req_payee', ['in', { anyOf: claims.payees }])
  if (quote !== undefined) block.check('req_quote', ['===', bytesOf(quote)])
  block.check('time', ['<=', { date: claims.expiresAtSeconds }])
}

/** The exact payload bytes of block `index` that says `claims`, whose values must have been checked before. */
export function encodeBlock(claims: BlockClaims, index: number): Buffer {
  if (claims.payees.length > LIMITS.payees) throw new RangeError('expected at most 32 payees')
  const block = new BlockWriter()
  writeFacts(block, claims)
  writeChecks(block, claims)
  return block.finish(index === 0 ? FIRST_BLOCK_DATALOG : LATER_BLOCK_DATALOG)
}
