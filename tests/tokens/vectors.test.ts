/** The numbered vectors say what our verifier, proof check and depth rule say, each read from its file alone. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import type { RequestFacts } from '../../runtime/core/block.ts'
import { currencySchema, type Minor } from '../../runtime/core/money.ts'
import { type Seconds, secondsSchema } from '../../runtime/core/time.ts'
import { type Biscuit, loadBiscuit } from '../../runtime/tokens/library.ts'
import { checkProof } from '../../runtime/tokens/proof.ts'
import { inForce } from '../../runtime/tokens/tasks.ts'
import { verifyToken } from '../../runtime/tokens/verify.ts'
import { files } from '../vectors/generate.ts'

const FOLDER = join(import.meta.dirname, '../vectors')
const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'))
const vectorSchema = z.strictObject({
  title: z.string(),
  shows: z.string(),
  keys: z.string(),
  rootKeys: z.array(
    z.strictObject({
      id: z.number(),
      jwk: z.looseObject({ x: z.string() }),
      retiresAt: secondsSchema.optional(),
    }),
  ),
  token: z.string(),
  request: z.strictObject({
    method: z.string(),
    url: z.string(),
    now: secondsSchema,
    facts: z
      .strictObject({
        operation: z.enum(['pay', 'search']),
        // Less than nothing is what an honest gateway never asks, and the engine must refuse all the same.
        amount: z.int().transform((amount) => amount as Minor),
        currency: currencySchema,
        payee: z.string(),
        quote: z.string().optional(),
      })
      .optional(),
  }),
  proof: z.string().optional(),
  seenProofs: z.array(z.string()),
  recorded: z.array(z.string()),
  depth: z.number(),
  expected: z.union([
    z.strictObject({
      ok: z.literal(true),
      authorised: z.literal(true).optional(),
      chain: z.array(z.unknown()),
    }),
    z.strictObject({
      ok: z.literal(false),
      code: z.string(),
      authorised: z.literal(false).optional(),
    }),
  ]),
})

let biscuit: Biscuit
beforeAll(async () => {
  biscuit = await loadBiscuit()
})

type Facts = NonNullable<z.infer<typeof vectorSchema>['request']['facts']>

const requestOf = ({ quote, ...facts }: Facts, nowSeconds: Seconds): RequestFacts => ({
  ...facts,
  nowSeconds,
  ...(quote !== undefined && { quote }),
})

function judge({ token, request, proof = '', ...rest }: z.infer<typeof vectorSchema>) {
  const refused = (code: string) => ({ ok: false, code })
  const { method, url, now, facts } = request
  const possession = checkProof({ proof, method, url, token, now })
  if (!possession.ok) return refused('proof_invalid')
  const ring = rest.rootKeys.map(({ id, jwk, retiresAt }) => ({
    id,
    publicKey: Buffer.from(jwk.x, 'base64url'),
    ...(retiresAt !== undefined && { retiresAtSeconds: retiresAt }),
  }))
  const asked = facts && requestOf(facts, now)
  const verdict = verifyToken(biscuit, inForce(ring, now), token, asked, possession.holder)
  if (!verdict.ok) return refused(verdict.code)
  const { blocks, revocationIds, widenedAt, authorised } = verdict.token
  if (revocationIds.join() !== rest.recorded.join()) return refused('token_invalid')
  if (rest.seenProofs.includes(possession.jti)) return refused('proof_replayed')
  if (widenedAt !== undefined) return refused('widened')
  const deep = blocks.length - 1
  if (deep === 0 || deep > rest.depth) return refused('depth')
  if (authorised === false) return { ...refused('capability'), authorised }
  return { ok: true, ...(authorised && { authorised }), chain: blocks }
}

it('are at least 40', () => {
  expect(names.length).toBeGreaterThanOrEqual(40)
})

it.each(names)('%s is judged as it says', (name) => {
  const vector = vectorSchema.parse(JSON.parse(readFileSync(join(FOLDER, name), 'utf8')))
  expect(judge(vector)).toEqual(vector.expected)
})

it('state both what a token permits and what it does not', () => {
  const texts = names.map((name) => readFileSync(join(FOLDER, name), 'utf8'))
  const counted = (line: string) => texts.filter((text) => text.includes(line)).length
  expect(counted('"authorised": true')).toBeGreaterThanOrEqual(5)
  expect(counted('"authorised": false')).toBeGreaterThanOrEqual(10)
  expect(counted('"retiresAt"')).toBeGreaterThanOrEqual(7)
})

it('are made again with the same bytes', () => {
  const stored = names.map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')])
  expect(files()).toEqual(stored)
})
