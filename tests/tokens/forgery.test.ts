/** What somebody builds who holds an open token, its holder's key, and every tool that we have. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { encodeBlock } from '../../runtime/client/encode.ts'
import { type SignedBlock, writeEnvelope } from '../../runtime/client/envelope.ts'
import { chunkTag, Reader, varintTag, Writer } from '../../runtime/client/protobuf.ts'
import { signFirstBlock, signNextBlock } from '../../runtime/client/sign.ts'
import { minor } from '../../runtime/core/money.ts'
import { verifyToken } from '../../runtime/tokens/verify.ts'
import {
  append,
  envelopeOf,
  keyOf,
  leafAt,
  leafClaims,
  payRequest,
  plannerClaims,
  RING,
  ROOT_ID,
  ROOT_KEY,
  root,
  rootClaims,
  withBlocks,
} from './fixtures.ts'
import { honestSource, libraryPayload } from './library-builder.ts'
import { biscuit, rootPublicKey } from './warm.ts'

const verify = (token: string) => verifyToken(biscuit, RING, token, payRequest())
const codeOf = (token: string) => {
  const verdict = verify(token)
  return verdict.ok ? 'ok' : verdict.code
}

/** A leaf block of any Datalog, signed by its rightful signer below the root. */
function leafOf(source: string): string {
  const payload = libraryPayload(biscuit, 1, source)
  const parent = envelopeOf(root().token)
  return signNextBlock({ parent, holder: keyOf(1), payload, sealed: true }).token
}

/** The library alone, as a gateway that trusts it would ask. */
function libraryPermits(token: string, amount: number): boolean {
  const parsed = biscuit.Biscuit.fromBase64(token, rootPublicKey())
  const builder = new biscuit.AuthorizerBuilder()
  builder.addCode(`
    req_operation("pay"); req_amount(${amount}); req_currency("INR"); req_payee("acme");
    req_quote(hex:${Buffer.from(payRequest().quote ?? '', 'base64url').toString('hex')});
    time(2020-01-01T00:00:00Z); allow if true;
  `)
  try {
    const limits = { max_facts: 1e6, max_iterations: 1e6, max_time_micro: 1e9 }
    builder.buildAuthenticated(parsed).authorizeWithLimits(limits)
    return true
  } catch {
    return false
  }
}

describe('Datalog that is not ours', () => {
  it('is accepted by this test’s own tools when it is ours after all', () => {
    expect(codeOf(leafOf(honestSource(leafClaims(1))))).toBe('ok')
  })

  const honest = honestSource(leafClaims(1))
  const additions: readonly [string, string][] = [
    ['a rule', 'allowed($x) <- node($x);'],
    ['a fact', 'note("hello");'],
    ['a second ceiling', 'ceiling("INR", 1000000);'],
    ['a request fact that would satisfy its own check', 'req_amount(1);'],
    ['a fact about the time', 'time(2020-01-01T00:00:00Z);'],
    ['one more check', 'check if true;'],
    ['a reject', 'reject if req_operation("refund");'],
    ['a regular expression', 'check if req_payee($p), $p.matches("a.*");'],
    ['a closure', 'check if [1].any($p -> $p == 1);'],
  ]
  for (const [what, source] of additions) {
    it(`is refused as another grammar: ${what}`, () => {
      expect(codeOf(leafOf(honest + source))).toBe('grammar')
    })
  }

  const replacements: readonly [string, string, string][] = [
    ['a check that any fact may satisfy', 'check all req_amount', 'check if req_amount'],
    ['an upper bound that is gone', ', $value <= 250', ''],
    ['a lower bound that is gone', '$value >= 1, ', ''],
    ['a larger bound than the fact', '$value <= 250', '$value <= 2500'],
    ['a fact smaller than the bound', 'ceiling("INR", 250)', 'ceiling("INR", 25)'],
    ['another payee in the check', '{"acme"}.contains', '{"globex"}.contains'],
    ['an operation more', '{"pay"}.contains', '{"pay", "search"}.contains'],
    ['a loose comparison', '=== "INR"', '== "INR"'],
    [
      'a later time in the check',
      'check all time($value), $value <=',
      'check all time($value), 1970-01-01T00:00:00Z <=',
    ],
    ['another name for the variable', '$value', '$v'],
  ]
  for (const [what, from, to] of replacements) {
    it(`is refused as another grammar: ${what}`, () => {
      expect(honest).toContain(from)
      expect(codeOf(leafOf(honest.replaceAll(from, to)))).toBe('grammar')
    })
  }

  it('is refused when facts stand in another order or payees are not sorted', () => {
    const claims = plannerClaims(1)
    const source = honestSource({ ...claims, payees: [...claims.payees].reverse() })
    const payload = libraryPayload(biscuit, 1, source)
    const parent = envelopeOf(root().token)
    const { token } = signNextBlock({ parent, holder: keyOf(1), payload, sealed: false })
    expect(codeOf(token)).toBe('grammar')
    expect(codeOf(leafOf(honest.replace('kind("leaf"); ', '').concat('kind("leaf");')))).toBe(
      'grammar',
    )
  })

  it('is refused with no payee and with 33', () => {
    expect(codeOf(leafOf(honest.replace('payee("acme");', '')))).toBe('grammar')
    const many = Array.from({ length: 33 }, (_, i) => `p${String(i).padStart(2, '0')}`)
    const parent = envelopeOf(root().token)
    const source = honestSource(plannerClaims(1, { payees: many }))
    const payload = libraryPayload(biscuit, 1, source)
    const { token } = signNextBlock({ parent, holder: keyOf(1), payload, sealed: false })
    expect(codeOf(token)).toBe('grammar')
  })

  it('is refused with an identifier that only quoting would keep apart from Datalog', () => {
    const source = honest.replace('node("nd_1")', 'node("nd_1\\"); ceiling(\\"INR")')
    expect(codeOf(leafOf(source))).toBe('grammar')
  })

  it('is refused in block 0 too, whoever signed it', () => {
    const source = `${honestSource(rootClaims())} check if true;`
    const payload = libraryPayload(biscuit, 0, source)
    const { token } = signFirstBlock({ rootKey: ROOT_KEY, rootKeyId: ROOT_ID, payload })
    expect(codeOf(token)).toBe('grammar')
  })
})

describe('the forgeries that print like honest blocks', () => {
  /** Symbols of a payload, for those edits that no Datalog text can express. */
  const editSymbols = (payload: Uint8Array, edit: (symbol: string) => string): Buffer => {
    const parts: Buffer[] = []
    let at = 0
    while (payload[at] === 0x0a) {
      const length = payload[at + 1] ?? 0
      const symbol = Buffer.from(payload.subarray(at + 2, at + 2 + length)).toString()
      const text = Buffer.from(edit(symbol))
      parts.push(lengthPrefixed(0x0a, text))
      at += 2 + length
    }
    return Buffer.concat([...parts, payload.subarray(at)])
  }
  const lengthPrefixed = (tag: number, bytes: Uint8Array): Buffer => {
    const { length } = bytes
    const size = length < 128 ? [length] : [(length % 128) | 128, length >> 7]
    return Buffer.concat([Buffer.from([tag, ...size]), bytes])
  }
  const below = (payload: Uint8Array) =>
    signNextBlock({ parent: envelopeOf(root().token), holder: keyOf(1), payload, sealed: true })
      .token

  it('a variable whose name holds the text of the other checks: permitted by the library, refused here', () => {
    const facts = honestSource(leafClaims(1))
      .split('\n')
      .filter((line) => !line.startsWith('check'))
    const source = `${facts.join('\n')} check all req_operation($hidden), {"pay"}.contains($hidden);`
    const name =
      'value), {"pay"}.contains($value); check all req_amount($value), $value >= 1, $value <= 250; check all req_operation($x'
    const payload = editSymbols(libraryPayload(biscuit, 1, source), (symbol) =>
      symbol === 'hidden' ? name : symbol,
    )
    const token = below(payload)
    expect(libraryPermits(token, 999)).toBe(true)
    expect(codeOf(token)).toBe('grammar')
  })

  it('a hidden scope on a check: refused', () => {
    const payload = libraryPayload(biscuit, 1, honestSource(leafClaims(1)))
    const scoped = libraryPayload(
      biscuit,
      1,
      honestSource(leafClaims(1)).replace(
        'check all req_amount($value), $value >= 1, $value <= 250;',
        'check all req_amount($value), $value >= 1, $value <= 250 trusting previous;',
      ),
    )
    expect(Buffer.from(scoped).equals(payload)).toBe(false)
    expect(codeOf(below(scoped))).toBe('grammar')
  })

  it('a hidden scope on the whole block: accepted by the library, refused here', () => {
    // `scope` is field 7, after the checks; its type 1 is `previous`.
    const scope = Buffer.from([0x3a, 0x02, 0x08, 0x01])
    const token = below(Buffer.concat([encodeBlock(leafClaims(1), 1), scope]))
    expect(libraryPermits(token, 250)).toBe(true)
    expect(codeOf(token)).toBe('grammar')
  })

  it('a context: accepted by the library, refused here', () => {
    const payload = Buffer.from(encodeBlock(leafClaims(1), 1))
    let at = 0
    while (payload[at] === 0x0a) at += 2 + (payload[at + 1] ?? 0)
    const context = lengthPrefixed(0x12, Buffer.from('pay anything'))
    const token = below(Buffer.concat([payload.subarray(0, at), context, payload.subarray(at)]))
    expect(libraryPermits(token, 250)).toBe(true)
    expect(codeOf(token)).toBe('grammar')
  })

  it('unknown fields inside a block: accepted by the library, refused here', () => {
    const payload = Buffer.from(encodeBlock(leafClaims(1), 1))
    const token = below(Buffer.concat([payload, lengthPrefixed(0x7a, Buffer.from([1, 1]))]))
    expect(libraryPermits(token, 250)).toBe(true)
    expect(codeOf(token)).toBe('grammar')
  })
})

describe('a recorded child, appended to its parent again', () => {
  it('verifies in the engine and has another chain of revocation ids', () => {
    const parent = root()
    const child = append(parent.token, leafClaims(1))
    const block = envelopeOf(child.token).blocks[1]
    const repeated = reappend(parent.token, block?.payload, block?.external)
    const verdict = verify(repeated)
    expect(verdict).toMatchObject({ ok: true, token: { authorised: true } })
    if (!verdict.ok) throw new Error('expected a token')
    expect(verdict.token.blocks).toEqual([rootClaims(), leafClaims(1)])
    expect(verdict.token.revocationIds[0]).toBe(child.revocationIds[0])
    expect(verdict.token.revocationIds[1]).not.toBe(child.revocationIds[1])
  })

  /** Only the holder's signature is kept; the rest is signed anew with the secret that an open token carries. */
  function reappend(
    parentToken: string,
    payload: Uint8Array | undefined,
    external: ReturnType<typeof envelopeOf>['blocks'][number]['external'],
  ): string {
    if (payload === undefined || external === undefined) throw new Error('expected a signed block')
    const parent = envelopeOf(parentToken)
    const made = signNextBlock({ parent, holder: keyOf(1), payload, sealed: true })
    const fresh = envelopeOf(made.token).blocks[1]?.external
    // Ed25519 is deterministic: the holder's signature is the same one, so it need not be put back.
    expect(Buffer.from(fresh?.signature ?? []).equals(external.signature)).toBe(true)
    return made.token
  }
})

describe('a chain that was cut and put together again', () => {
  const swap = <T>(items: readonly T[], i: number, j: number): T[] => {
    const copy = [...items]
    const [a, b] = [copy[i], copy[j]]
    if (a !== undefined && b !== undefined) {
      copy[i] = b
      copy[j] = a
    }
    return copy
  }

  it('is refused without its last block, without a middle one and without its first', () => {
    const { token } = leafAt(3)
    for (const missing of [0, 1, 2, 3]) {
      const cut = withBlocks(token, (blocks) => blocks.filter((_, i) => i !== missing))
      expect(codeOf(cut)).toBe('token_invalid')
    }
  })

  it('is refused when an open token is cut back to an ancestor', () => {
    const { token } = append(root().token, plannerClaims(1))
    expect(codeOf(withBlocks(token, (blocks) => blocks.slice(0, 1)))).toBe('token_invalid')
  })

  it('is refused with two blocks in each other’s place or one twice', () => {
    const { token } = leafAt(3)
    expect(codeOf(withBlocks(token, (blocks) => swap(blocks, 1, 2)))).toBe('token_invalid')
    expect(codeOf(withBlocks(token, (blocks) => swap(blocks, 2, 3)))).toBe('token_invalid')
    const doubled = withBlocks(token, (blocks) =>
      blocks.flatMap((b, i) => (i === 2 ? [b, b] : [b])),
    )
    expect(codeOf(doubled)).toBe('token_invalid')
  })

  it('is refused with a block of another run’s token', () => {
    const other = append(root(rootClaims({ run: 'run_two' })).token, leafClaims(1))
    const stolen = envelopeOf(other.token).blocks[1]
    const { token } = append(root().token, leafClaims(1))
    const spliced = withBlocks(token, ([first]) => (first && stolen ? [first, stolen] : []))
    expect(codeOf(spliced)).toBe('token_invalid')
  })

  it('is refused when a holder’s signature is carried over to another parent', () => {
    const payload = encodeBlock(leafClaims(1), 1)
    const one = append(root().token, leafClaims(1))
    const external = envelopeOf(one.token).blocks[1]?.external
    const parent = envelopeOf(root(rootClaims({ run: 'run_two' })).token)
    const two = signNextBlock({ parent, holder: keyOf(1), payload, sealed: true })
    const carried = withBlocks(two.token, ([first, second]) =>
      first && second && external ? [first, { ...second, external }] : [],
    )
    expect(codeOf(carried)).toBe('token_invalid')
  })

  it('is refused with anything behind a sealed leaf', () => {
    const { token } = append(root().token, leafClaims(1))
    const open = append(root().token, leafClaims(1), { sealed: false })
    const longer = append(open.token, leafClaims(2))
    const extra = envelopeOf(longer.token).blocks[2]
    expect(() => append(token, leafClaims(2))).toThrow(TypeError)
    const appended = withBlocks(token, (blocks) => (extra ? [...blocks, extra] : blocks))
    expect(codeOf(appended)).toBe('token_invalid')
    const reopened = writeEnvelope({
      ...envelopeOf(token),
      proof: { nextSecret: new Uint8Array(32).fill(1) },
    })
    expect(codeOf(reopened.toString('base64url'))).toBe('token_invalid')
  })
})

describe('a block by the wrong signer', () => {
  it('is refused when a thief of the token signs with a key of its own', () => {
    const { token } = append(root().token, leafClaims(1), { signer: 66 })
    expect(codeOf(token)).toBe('signer')
  })

  it('is refused when a grandparent or the child itself signs', () => {
    const middle = append(root().token, plannerClaims(1))
    expect(codeOf(append(middle.token, leafClaims(2), { signer: 1 }).token)).toBe('signer')
    expect(codeOf(append(middle.token, leafClaims(2), { signer: 3 }).token)).toBe('signer')
    expect(codeOf(append(middle.token, leafClaims(2)).token)).toBe('ok')
  })

  it('is refused when a key holds two places', () => {
    const child = append(root().token, plannerClaims(1, { holder: rootClaims().holder }))
    expect(codeOf(child.token)).toBe('signer')
    const two = append(root().token, plannerClaims(1))
    const three = append(two.token, leafClaims(2, { holder: rootClaims().holder }))
    expect(codeOf(three.token)).toBe('signer')
  })

  it('is refused when nobody signed it: a first-party block, as the library appends them', () => {
    const parsed = biscuit.Biscuit.fromBase64(root().token, rootPublicKey())
    for (const source of ['check if true;', honestSource(leafClaims(1))]) {
      const block = biscuit.Biscuit.block_builder()
      block.addCode(source)
      const appended = parsed.appendBlock(block).toBase64()
      expect(codeOf(appended)).toBe('signer')
    }
  })

  it('is refused at any place of a longer chain', () => {
    for (const wrong of [1, 2, 3]) {
      let { token } = root()
      for (const n of [1, 2]) {
        const signer = n === wrong ? 66 : n
        token = append(token, plannerClaims(n), { signer }).token
      }
      token = append(token, leafClaims(3), { signer: wrong === 3 ? 66 : 3 }).token
      expect(codeOf(token)).toBe('signer')
    }
  })
})

describe('P-256', () => {
  it('is refused as a root key, a next key and a holder’s key, whatever it signs', () => {
    const { KeyPair, SignatureAlgorithm } = biscuit
    const p256 = new KeyPair(SignatureAlgorithm.Secp256r1)
    const builder = biscuit.Biscuit.builder()
    builder.addCode(honestSource(rootClaims()))
    builder.setRootKeyId(ROOT_ID)
    expect(codeOf(builder.build(p256.getPrivateKey()).toBase64())).toBe('token_invalid')

    const parsed = biscuit.Biscuit.fromBase64(root().token, rootPublicKey())
    const block = biscuit.Biscuit.block_builder()
    block.addCode(honestSource(leafClaims(1)))
    const signed = parsed.getThirdPartyRequest().createBlock(p256.getPrivateKey(), block)
    const external = parsed.appendThirdPartyBlock(p256.getPublicKey(), signed).sealToken()
    expect(codeOf(external.toBase64())).toBe('token_invalid')

    const named = withBlocks(leafAt(1).token, (blocks) =>
      blocks.map((b) => ({ ...b, nextKey: { ...b.nextKey, algorithm: 1 } })),
    )
    expect(codeOf(named)).toBe('token_invalid')
  })

  it('is refused as a next key under a signature that holds, which the library takes', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const point = publicKey.export({ format: 'der', type: 'spki' }).subarray(-64)
    const parity = 2 + ((point[63] ?? 0) & 1)
    const nextKey = { algorithm: 1, bytes: Buffer.from([parity, ...point.subarray(0, 32)]) }
    const { proof: _proof, ...rest } = envelopeOf(root().token)
    const blocks = rest.blocks.map((block) => signedInFormat1({ ...block, nextKey }))
    const { d = '' } = privateKey.export({ format: 'jwk' })
    const proof = { nextSecret: Buffer.from(d, 'base64url') }
    const token = writeEnvelope({ ...rest, blocks, proof }).toString('base64url')
    using lenient = biscuit.Biscuit.fromBase64(token, rootPublicKey())
    expect(lenient.countBlocks()).toBe(1)
    expect(codeOf(token)).toBe('token_invalid')
  })
})

describe('another encoding of a token', () => {
  it('is refused, so that a token has one', () => {
    const bytes = Buffer.from(leafAt(1).token, 'base64url')
    const unknownField = Buffer.concat([bytes, Buffer.from([0x7a, 0x01, 0x00])])
    using lenient = biscuit.Biscuit.fromBytes(unknownField, rootPublicKey())
    expect(Buffer.from(lenient.toBytes()).equals(bytes)).toBe(true)
    expect(codeOf(unknownField.toString('base64url'))).toBe('token_invalid')
    expect(codeOf(`${bytes.toString('base64url')}====`)).toBe('token_invalid')
    expect(codeOf(`${bytes.toString('base64')}\n`)).toBe('token_invalid')
  })

  it('is refused even where it says the same: a format of 0 that need not be written', () => {
    const reader = new Reader(Buffer.from(root().token, 'base64url'))
    const writer = new Writer()
    reader.expect(varintTag(1))
    writer.uint(1, reader.varint())
    reader.expect(chunkTag(2))
    writer.chunk(2, Buffer.concat([reader.chunk(), Buffer.from([varintTag(5), 0])]))
    writer.raw(reader.bytes.subarray(reader.at))
    using lenient = biscuit.Biscuit.fromBytes(writer.finish(), rootPublicKey())
    expect(lenient.getRevocationIdentifiers()).toEqual([expect.any(String)])
    expect(codeOf(writer.finish().toString('base64url'))).toBe('token_invalid')
  })

  it('is refused with a signature format that we do not mint, though the library takes it', () => {
    const token = withBlocks(root().token, (blocks) => blocks.map(signedInFormat1))
    using lenient = biscuit.Biscuit.fromBase64(token, rootPublicKey())
    expect(lenient.countBlocks()).toBe(1)
    expect(codeOf(token)).toBe('grammar')
  })
})

function signedInFormat1(block: SignedBlock): SignedBlock {
  const parts = [
    Buffer.from('\0BLOCK\0\0VERSION\0\x01\0\0\0\0PAYLOAD\0'),
    block.payload,
    Buffer.from(`\0ALGORITHM\0${String.fromCharCode(block.nextKey.algorithm)}\0\0\0\0NEXTKEY\0`),
    block.nextKey.bytes,
  ]
  return { ...block, version: 1, signature: sign(null, Buffer.concat(parts), ROOT_KEY) }
}

describe('a ceiling of the largest number', () => {
  it('verifies exactly, and one more is refused', () => {
    const most = minor(Number.MAX_SAFE_INTEGER)
    expect(codeOf(root(rootClaims({ ceiling: most })).token)).toBe('ok')
    const source = honestSource(rootClaims({ ceiling: most })).replaceAll(
      String(most),
      '9007199254740992',
    )
    const payload = libraryPayload(biscuit, 0, source)
    const { token } = signFirstBlock({ rootKey: ROOT_KEY, rootKeyId: ROOT_ID, payload })
    expect(codeOf(token)).toBe('grammar')
  })
})
