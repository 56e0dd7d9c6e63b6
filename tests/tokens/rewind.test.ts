import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { signFirstBlock } from '../../runtime/client/sign.ts'
import {
  type Biscuit,
  type LibraryMemory,
  libraryMemory,
  loadBiscuit,
} from '../../runtime/tokens/library.ts'
import { createRewind, type Rewind } from '../../runtime/tokens/rewind.ts'
import { verifyToken } from '../../runtime/tokens/verify.ts'
import { leafAt, payRequest, RING, ROOT_ID, ROOT_KEY } from './fixtures.ts'

let biscuit: Biscuit
let memory: LibraryMemory
let rewind: Rewind
beforeAll(async () => {
  biscuit = await loadBiscuit()
  memory = await libraryMemory()
  rewind = createRewind(biscuit, memory)
})

const { token } = leafAt(2)
const verify = (text = token) => verifyToken(biscuit, RING, text, payRequest())
const leak = (calls: number, after: () => void) => {
  for (let call = 0; call < calls; call += 1) {
    verify()
    after()
  }
}
const isPermitted = () => {
  const verdict = verify()
  return verdict.ok && verdict.token.authorised
}
const content = () => Buffer.from(memory.buffer.slice(0))

describe('a library that is rewound when its room runs low', () => {
  it('takes no more memory for hundreds of calls, though each of them leaks', () => {
    const before = memory.buffer.byteLength
    leak(400, () => rewind.rewindIfLow())
    expect(memory.buffer.byteLength).toBe(before)
    leak(400, () => undefined)
    expect(memory.buffer.byteLength).toBeGreaterThan(before)
    rewind.rewindIfLow()
  })

  it('takes no more for blocks that only a hostile holder writes, which lie over the room in large pieces', () => {
    rewind.rewind()
    const before = memory.buffer.byteLength
    // 16,500 empty symbols and the version: what grows when it is read is one list.
    const payload = Buffer.concat([Buffer.alloc(33_000, Buffer.of(0x0a, 0)), Buffer.of(0x18, 4)])
    const hostile = signFirstBlock({ rootKey: ROOT_KEY, rootKeyId: ROOT_ID, payload }).token
    for (let round = 0; round < 60; round += 1) {
      expect(verify(hostile)).toEqual({ ok: false, code: 'grammar' })
      rewind.rewindIfLow()
      leak(5, () => rewind.rewindIfLow())
    }
    expect(memory.buffer.byteLength).toBe(before)
  })

  it('is to the byte as it was, whatever was verified meanwhile', () => {
    rewind.rewind()
    const before = content()
    verify()
    verify(token.slice(0, -8))
    expect(content().equals(before)).toBe(false)
    rewind.rewind()
    expect(content().equals(before)).toBe(true)
  })

  it('permits what it permitted and refuses what it refused', () => {
    for (let round = 0; round < 3; round += 1) {
      expect(isPermitted()).toBe(true)
      expect(verify(token.slice(0, -8))).toEqual({ ok: false, code: 'token_invalid' })
      rewind.rewind()
    }
  })

  it('stays as it is while there is room', () => {
    rewind.rewind()
    for (let call = 0; call < 30; call += 1) {
      verify()
      const used = content()
      rewind.rewindIfLow()
      expect(content().equals(used)).toBe(true)
    }
  })

  it('still answers when it was rewound after it had grown beyond its room', () => {
    leak(400, () => undefined)
    const grown = memory.buffer.byteLength
    rewind.rewindIfLow()
    expect(isPermitted()).toBe(true)
    expect(memory.buffer.byteLength).toBe(grown)
  })
})

/** The content of a WebAssembly module's section (Core Specification 5.5.2); undefined when it has none. */
function sectionOf(module: Buffer, wanted: number): Buffer | undefined {
  let at = 8
  const leb = () => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = module.readUInt8(at++)
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }
  while (at < module.length) {
    const id = module.readUInt8(at++)
    const end = leb() + at
    if (id === wanted) return module.subarray(at, end)
    at = end
  }
  return undefined
}

describe('what a rewind leaves out', () => {
  it('is one number, the stack pointer, which every call puts back; its table cannot grow', async () => {
    const entry = import.meta.resolve('@biscuit-auth/biscuit-wasm')
    const module = await readFile(new URL('./biscuit_bg.wasm', entry))
    const [TABLES, GLOBALS] = [4, 6]
    // One global: i32, mutable, from 2^20 on, which is the top of the library's stack.
    expect(sectionOf(module, GLOBALS)?.toString('hex')).toBe('017f01418080c0000b')
    const [count, type, limits, least, leastHigh, most, mostHigh] = sectionOf(module, TABLES) ?? []
    expect([count, type, limits]).toEqual([1, 0x70, 1])
    expect([most, mostHigh]).toEqual([least, leastHigh])
  })
})

describe('an object of the library that nobody freed', () => {
  it('is never freed by address at a later time, when the address may mean something else', () => {
    const script = `
      let registered = 0
      globalThis.FinalizationRegistry = class { register() { registered += 1 } unregister() {} }
      const spy = globalThis.FinalizationRegistry
      const { loadBiscuit } = await import('./runtime/tokens/library.ts')
      const biscuit = await loadBiscuit()
      new biscuit.AuthorizerBuilder()
      console.log(registered, globalThis.FinalizationRegistry === spy)
    `
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]
    const out = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 })
    expect(out).toBe('0 true\n')
  })
})
