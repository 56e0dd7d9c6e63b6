/**
 * Reads a block's claims out of its payload bytes. It looks at the facts only and does not judge the rest: the
 * caller writes the claims again with `encodeBlock`, and only equal bytes make a block of the closed grammar.
 */
import type { BlockClaims, NodeKind } from '../core/block.ts'
import type { NodeId, RunId } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import { type Currency, minor } from '../core/money.ts'
import { seconds } from '../core/time.ts'
import { badClaim } from './claims.ts'
import { DEFAULT_SYMBOLS, encodeBlock, FIRST_SYMBOL } from './encode.ts'
import { chunkTag, Reader, varintTag, WireError } from './protobuf.ts'

/** A block of 32 payees has 41 facts and 54 symbols; more than this is not ours. */
const MOST_FACTS = LIMITS.payees + 16
const MOST_SYMBOLS = LIMITS.payees + 40

type Value = number | string | Uint8Array

interface Fact {
  readonly name: string
  readonly values: readonly Value[]
}

class FactReader {
  readonly symbols: string[] = []
  readonly facts: Fact[] = []

  constructor(payload: Uint8Array) {
    const reader = new Reader(payload)
    while (reader.take(chunkTag(1))) {
      if (this.symbols.length === MOST_SYMBOLS) throw new WireError('expected fewer symbols')
      this.symbols.push(Buffer.from(reader.chunk()).toString())
    }
    reader.expect(varintTag(3))
    reader.varint()
    while (reader.take(chunkTag(4))) {
      if (this.facts.length === MOST_FACTS) throw new WireError('expected fewer facts')
      this.facts.push(this.fact(reader.chunk()))
    }
  }

  fact(bytes: Uint8Array): Fact {
    const outer = new Reader(bytes)
    outer.expect(chunkTag(1))
    const predicate = new Reader(outer.chunk())
    predicate.expect(varintTag(1))
    const name = this.symbol(predicate.varint())
    const values: Value[] = []
    while (predicate.take(chunkTag(2))) values.push(this.value(new Reader(predicate.chunk())))
    return { name, values }
  }

  /** An integer, a text, a date or bytes: no block of ours states anything else as a fact. */
  value(term: Reader): Value {
    if (term.take(varintTag(2)) || term.take(varintTag(4))) return term.varint()
    if (term.take(varintTag(3))) return this.symbol(term.varint())
    term.expect(chunkTag(5))
    return term.chunk()
  }

  symbol(index: number): string {
    const symbol =
      index < FIRST_SYMBOL ? DEFAULT_SYMBOLS[index] : this.symbols[index - FIRST_SYMBOL]
    if (symbol === undefined) throw new WireError('expected a known symbol')
    return symbol
  }
}

/** Takes facts by name in the one order that they may have. */
class Claims {
  readonly facts: readonly Fact[]
  at = 0

  constructor(facts: readonly Fact[]) {
    this.facts = facts
  }

  optional(name: string): readonly Value[] | undefined {
    const fact = this.facts[this.at]
    if (fact?.name !== name) return undefined
    this.at += 1
    return fact.values
  }

  required(name: string): readonly Value[] {
    const values = this.optional(name)
    if (values === undefined) throw new WireError('expected another fact')
    return values
  }

  payees(): string[] {
    const payees: string[] = []
    for (let next = this.optional('payee'); next; next = this.optional('payee')) {
      payees.push(text(next[0]))
    }
    return payees
  }
}

const text = (value: Value | undefined): string => {
  if (typeof value !== 'string') throw new WireError('expected a text')
  return value
}

const whole = (value: Value | undefined): number => {
  if (typeof value !== 'number') throw new WireError('expected a number')
  return value
}

const base64url = (value: Value | undefined): string => {
  if (!(value instanceof Uint8Array)) throw new WireError('expected bytes')
  return Buffer.from(value).toString('base64url')
}

/** Shaped as claims, but not yet judged: `badClaim` decides whether each text may stand where it does. */
function readClaims(payload: Uint8Array): BlockClaims {
  const claims = new Claims(new FactReader(payload).facts)
  const node = text(claims.required('node')[0]) as NodeId
  const kind = text(claims.required('kind')[0]) as NodeKind
  const ceiling = claims.required('ceiling')
  const holder = base64url(claims.required('holder')[0])
  const expiresAtSeconds = seconds(whole(claims.required('expires')[0]))
  const payees = claims.payees()
  const quote = claims.optional('quote')
  const mandate = claims.optional('mandate')
  const run = claims.optional('run')
  return {
    node,
    kind,
    currency: text(ceiling[0]) as Currency,
    ceiling: minor(whole(ceiling[1])),
    holder,
    expiresAtSeconds,
    payees,
    ...(quote && { quote: base64url(quote[0]) }),
    ...(mandate && { mandate: base64url(mandate[0]) }),
    ...(run && { run: text(run[0]) as RunId }),
  }
}

/** The claims of block `index` of a chain, or undefined unless its bytes are exactly what those claims encode to. */
export function decodeBlock(payload: Uint8Array, index: number): BlockClaims | undefined {
  let claims: BlockClaims
  try {
    claims = readClaims(payload)
  } catch (error) {
    if (error instanceof WireError) return undefined
    throw error
  }
  if (badClaim(claims, index) !== undefined) return undefined
  return encodeBlock(claims, index).equals(payload) ? claims : undefined
}
