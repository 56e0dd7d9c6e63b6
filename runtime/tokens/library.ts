/**
 * The only file that touches the Biscuit library. It loads it without the line that it prints, turns its five shapes
 * of error into one, and names its limits rightly (it ignores a name that it does not know).
 */
import type * as BiscuitModule from '@biscuit-auth/biscuit-wasm'

export type Biscuit = typeof BiscuitModule

const BANNER = 'biscuit-wasm loading'

/**
 * Imports the library. It prints a line through the console as it starts; that line, and no other, is dropped. It frees
 * what its objects hold when they are collected, at any time and by address: it is kept from that, because the address
 * may mean something else by then (`rewind.ts`). Whoever makes an object frees it.
 */
export async function loadBiscuit(): Promise<Biscuit> {
  const { console: host, FinalizationRegistry: registry } = globalThis
  const log = host.log
  host.log = (...line: unknown[]) => {
    if (line.length !== 1 || line[0] !== BANNER) log.apply(host, line)
  }
  Reflect.deleteProperty(globalThis, 'FinalizationRegistry')
  try {
    return await import('@biscuit-auth/biscuit-wasm')
  } finally {
    host.log = log
    globalThis.FinalizationRegistry = registry
  }
}

/** The library's own memory; `buffer` is another one whenever it has grown. */
export interface LibraryMemory {
  readonly buffer: ArrayBuffer
}

/** Its package does not export it, so it is taken from the instance that was loaded. */
export async function libraryMemory(): Promise<LibraryMemory> {
  const entry = import.meta.resolve('@biscuit-auth/biscuit-wasm')
  const instance: { memory: LibraryMemory } = await import(new URL('./biscuit_bg.wasm', entry).href)
  return instance.memory
}

/**
 * Why a call into the library failed: `format` (not a token under that key), `logic` (a check or policy refused),
 * `run_limit` (one of our limits was reached), `dead` (the instance is broken for good), `odd` (none that we know).
 */
export type LibraryFailure = 'format' | 'logic' | 'run_limit' | 'dead' | 'odd'

/** The library failed in a way that says nothing about the token: find out whether it still works. */
export class LibraryError extends Error {
  readonly kind: 'dead' | 'odd'

  constructor(kind: 'dead' | 'odd') {
    super(`the token library failed: ${kind}`)
    this.name = 'LibraryError'
    this.kind = kind
  }
}

/** The key of the object that the library throws, for the kinds that we expect. */
const KINDS: { readonly [key: string]: LibraryFailure } = {
  Format: 'format',
  Base64: 'format',
  FailedLogic: 'logic',
  RunLimit: 'run_limit',
}

export function classifyFailure(thrown: unknown): LibraryFailure {
  if (thrown instanceof Error) return thrown.name === 'RuntimeError' ? 'dead' : 'odd'
  if (typeof thrown !== 'object' || thrown === null) return 'odd'
  const [key] = Object.keys(thrown)
  return (key !== undefined && Object.hasOwn(KINDS, key) && KINDS[key]) || 'odd'
}

export type Called<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: 'format' | 'logic' | 'run_limit' }

/** Calls into the library; expected failures are values, a broken library is a thrown LibraryError. */
export function callLibrary<T>(call: () => T): Called<T> {
  try {
    return { ok: true, value: call() }
  } catch (thrown) {
    const failure = classifyFailure(thrown)
    if (failure === 'dead' || failure === 'odd') throw new LibraryError(failure)
    return { ok: false, failure }
  }
}

export interface RunLimits {
  readonly facts: number
  readonly iterations: number
  readonly microseconds: number
}

/** Our names to the library's, which are snake_case and silently ignored when wrong. */
export const libraryLimits = ({ facts, iterations, microseconds }: RunLimits) => ({
  max_facts: facts,
  max_iterations: iterations,
  max_time_micro: microseconds,
})
