import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { callLibrary, classifyFailure, libraryLimits } from '../../runtime/tokens/library.ts'
import { biscuit } from './warm.ts'

const thrownBy = (call: () => unknown): unknown => {
  try {
    call()
  } catch (thrown) {
    return thrown
  }
  throw new Error('expected the library to throw')
}

const token = (source: string) => {
  const pair = new biscuit.KeyPair(biscuit.SignatureAlgorithm.Ed25519)
  const builder = biscuit.Biscuit.builder()
  builder.addCode(source)
  return builder.build(pair.getPrivateKey())
}

const authorizer = (tokenSource: string, source: string) => {
  const builder = new biscuit.AuthorizerBuilder()
  builder.addCode(source)
  return builder.buildAuthenticated(token(tokenSource))
}

const publicKey = () => new biscuit.KeyPair(biscuit.SignatureAlgorithm.Ed25519).getPublicKey()

describe('the failures of the library', () => {
  it('that say something against the token are told apart from those that do not', () => {
    const whole = token('node("a");').toBase64()
    const failures: readonly [string, () => unknown][] = [
      ['format', () => biscuit.Biscuit.fromBase64(whole, publicKey())],
      ['format', () => biscuit.Biscuit.fromBase64('%', publicKey())],
      ['format', () => biscuit.Biscuit.fromBytes(new Uint8Array(3), publicKey())],
      ['logic', () => authorizer('check if false;', 'allow if true;').authorize()],
      ['logic', () => authorizer('node("a");', 'deny if true;').authorize()],
      ['odd', () => token('node("a");').sealToken().sealToken()],
      ['odd', () => token('node("a").')],
      ['odd', () => Reflect.apply(biscuit.Biscuit.fromBytes, undefined, [new Uint8Array(), {}])],
      ['odd', () => biscuit.PublicKey.fromBytes(new Uint8Array(3), 0)],
    ]
    const found = failures.map(([, call]) => classifyFailure(thrownBy(call)))
    expect(found).toEqual(failures.map(([failure]) => failure))
  })

  it('are odd when they are nothing that we know', () => {
    for (const thrown of [
      undefined,
      null,
      'AlreadySealed',
      {},
      { toString: 1 },
      new Error('x'),
      7,
    ]) {
      expect(classifyFailure(thrown)).toBe('odd')
    }
  })

  it('mean a dead instance when WebAssembly itself traps', async () => {
    const own = token('node("a");').toBytes()
    const noKey = () => undefined
    // The library prints its panic; nobody needs to read it here.
    const { error } = console
    console.error = () => undefined
    const thrown = thrownBy(() => biscuit.Biscuit.fromBytesWithProvider(own, noKey))
    console.error = error
    expect(classifyFailure(thrown)).toBe('dead')
  })

  it('are values when expected and thrown when not', () => {
    const refused = callLibrary(() => authorizer('check if false;', 'allow if true;').authorize())
    expect(refused).toEqual({ ok: false, failure: 'logic' })
    expect(callLibrary(() => 1)).toEqual({ ok: true, value: 1 })
    expect(() => callLibrary(() => token('node("a");').sealToken().sealToken())).toThrow(
      expect.objectContaining({ name: 'LibraryError', kind: 'odd' }),
    )
  })
})

describe('the limits of a run', () => {
  it('have the names that the library reads, which are not ours', () => {
    expect(libraryLimits({ facts: 1, iterations: 2, microseconds: 3 })).toEqual({
      max_facts: 1,
      max_iterations: 2,
      max_time_micro: 3,
    })
  })

  it('of no time at all refuses, so the name is read', () => {
    const limits = libraryLimits({ facts: 1_000, iterations: 100, microseconds: 0 })
    const failure = thrownBy(() =>
      authorizer('node("a");', 'allow if true;').authorizeWithLimits(limits),
    )
    expect(failure).toEqual({ RunLimit: 'Timeout' })
    expect(classifyFailure(failure)).toBe('run_limit')
  })
})

describe('the line that the library prints', () => {
  it('does not reach standard output, and other lines written meanwhile do', () => {
    const script = `
      const { loadBiscuit } = await import('./runtime/tokens/library.ts')
      const loading = loadBiscuit()
      console.log('meanwhile')
      await loading
      console.log('after')
    `
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]
    const out = execFileSync(process.execPath, args, {
      cwd: process.cwd(),
      encoding: 'utf8',
      timeout: 20_000,
    })
    expect(out).toBe('meanwhile\nafter\n')
  })
})
