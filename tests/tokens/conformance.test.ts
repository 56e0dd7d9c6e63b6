/** The samples by which implementations of Biscuit are compared, and what our wrapper of the library makes of them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { libraryLimits } from '../../runtime/tokens/library.ts'
import { parse, verifyToken } from '../../runtime/tokens/verify.ts'
import { payRequest } from './fixtures.ts'
import { biscuit } from './warm.ts'

const FOLDER = join(import.meta.dirname, '../vectors/biscuit')

const samplesSchema = z.object({
  root_public_key: z.string(),
  testcases: z.array(
    z.object({
      title: z.string(),
      filename: z.string(),
      validations: z.record(
        z.string(),
        z.object({
          authorizer_code: z.string(),
          revocation_ids: z.array(z.string()),
          result: z.union([
            z.strictObject({ Ok: z.number() }),
            z.strictObject({ Err: z.record(z.string(), z.unknown()) }),
          ]),
        }),
      ),
    }),
  ),
})

/** The library in WebAssembly takes no functions of a host, so a sample that calls one can be parsed and not asked. */
const NEEDS_A_HOST = ['test035_ffi.bc']
process.stdout.write(`not asked, for it needs functions of a host: ${NEEDS_A_HOST}\n`)

/** Root key id 1 in front of a sample that names none (field 1, not signed), so that more than its id is judged. */
const named = (bytes: Buffer): Buffer =>
  bytes[0] === 0x08 ? bytes : Buffer.concat([Buffer.from([0x08, 0x01]), bytes])

describe('the samples of the Biscuit project', () => {
  const text = readFileSync(join(FOLDER, 'samples.json'), 'utf8')
  const samples = samplesSchema.parse(JSON.parse(text))
  const rootKey = Buffer.from(samples.root_public_key, 'hex')

  it('are all there', () => {
    expect(samples.testcases).toHaveLength(38)
  })

  for (const { title, filename, validations } of samples.testcases) {
    const results = Object.values(validations).map(({ result }) => result)
    const isMisshapen = results.some((result) => 'Err' in result && 'Format' in result.Err)
    const bytes = readFileSync(join(FOLDER, filename))

    it(`${filename} (${title}): ${isMisshapen ? 'does not parse' : 'parses'}`, () => {
      const parsed = parse(biscuit, { bytes, rootKey })
      expect(parsed !== undefined).toBe(!isMisshapen)
      using token = parsed
      for (const { revocation_ids } of token ? Object.values(validations) : []) {
        expect(token?.getRevocationIdentifiers()).toEqual(revocation_ids)
      }
    })

    for (const [name, { authorizer_code, result }] of Object.entries(validations)) {
      if (isMisshapen || NEEDS_A_HOST.includes(filename)) continue
      it(`${filename} ${name}: is authorised as the sample says`, () => {
        using token = parse(biscuit, { bytes, rootKey })
        if (token === undefined) throw new Error('expected a token')
        const answer = ask(token, authorizer_code)
        expect(answer).toEqual(
          'Ok' in result ? { policy: result.Ok } : { failure: kindOf(result.Err) },
        )
      })
    }

    it(`${filename}: is refused as a token of ours, whatever root key id it has, without a throw`, () => {
      const ids = Array.from({ length: 8 }, (_, id) => [id, rootKey] as const)
      for (const text of [bytes, named(bytes)].map((sent) => sent.toString('base64url'))) {
        expect(verifyToken(biscuit, new Map(ids), text, payRequest()).ok).toBe(false)
      }
    })
  }

  /** The one word by which the library's and the samples' errors can be compared. */
  const kindOf = (error: Record<string, unknown>): string => Object.keys(error)[0] ?? ''

  type Answer = { readonly policy: number } | { readonly failure: string }

  /**
   * The library ends some runs that take longer than a millisecond as over their time, however much it is given: on a
   * busy machine one in a few hundred. No sample expects that, so the same is asked again, as the gateway does.
   */
  function ask(token: NonNullable<ReturnType<typeof parse>>, code: string): Answer {
    let answer = askOnce(token, code)
    for (let again = 0; again < 10 && 'failure' in answer; again += 1) {
      if (answer.failure !== 'RunLimit') break
      answer = askOnce(token, code)
    }
    return answer
  }

  function askOnce(token: NonNullable<ReturnType<typeof parse>>, code: string): Answer {
    try {
      const builder = new biscuit.AuthorizerBuilder()
      builder.addCode(code)
      using authorizer = builder.buildAuthenticated(token)
      const limits = { facts: 10_000, iterations: 1_000, microseconds: 10_000_000 }
      return { policy: authorizer.authorizeWithLimits(libraryLimits(limits)) }
    } catch (thrown) {
      return { failure: kindOf(Object(thrown)) }
    }
  }
})
