/** The numbered vectors say what our verifier, proof check and depth rule say, each read from its file alone. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { seconds } from '../../runtime/core/time.ts'
import { type Biscuit, loadBiscuit } from '../../runtime/tokens/library.ts'
import { checkProof } from '../../runtime/tokens/proof.ts'
import { verifyToken } from '../../runtime/tokens/verify.ts'
import { files } from '../vectors/generate.ts'

const FOLDER = join(import.meta.dirname, '../vectors')
const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'))
const vectorSchema = z.strictObject({
  title: z.string(),
  shows: z.string(),
  keys: z.string(),
  rootKeys: z.array(z.strictObject({ id: z.number(), jwk: z.looseObject({ x: z.string() }) })),
  token: z.string(),
  request: z.strictObject({ method: z.string(), url: z.string(), now: z.number() }),
  proof: z.string().optional(),
  seenProofs: z.array(z.string()),
  recorded: z.array(z.string()),
  depth: z.number(),
  expected: z.union([
    z.strictObject({ ok: z.literal(true), chain: z.array(z.unknown()) }),
    z.strictObject({ ok: z.literal(false), code: z.string() }),
  ]),
})

let biscuit: Biscuit
beforeAll(async () => {
  biscuit = await loadBiscuit()
})

function judge({ token, request, proof = '', ...rest }: z.infer<typeof vectorSchema>) {
  const refused = (code: string) => ({ ok: false, code })
  const { method, url, now } = request
  const possession = checkProof({ proof, method, url, token, now: seconds(now) })
  if (!possession.ok) return refused('proof_invalid')
  const ring = new Map(rest.rootKeys.map(({ id, jwk }) => [id, Buffer.from(jwk.x, 'base64url')]))
  const verdict = verifyToken(biscuit, ring, token, undefined, possession.holder)
  if (!verdict.ok) return refused(verdict.code)
  const { blocks, revocationIds, widenedAt } = verdict.token
  if (revocationIds.join() !== rest.recorded.join()) return refused('token_invalid')
  if (rest.seenProofs.includes(possession.jti)) return refused('proof_replayed')
  if (widenedAt !== undefined) return refused('widened')
  const deep = blocks.length - 1
  return deep === 0 || deep > rest.depth ? refused('depth') : { ok: true, chain: blocks }
}

it('are at least 40', () => {
  expect(names.length).toBeGreaterThanOrEqual(40)
})

it.each(names)('%s is judged as it says', (name) => {
  const vector = vectorSchema.parse(JSON.parse(readFileSync(join(FOLDER, name), 'utf8')))
  expect(judge(vector)).toEqual(vector.expected)
})

it('are made again with the same bytes', () => {
  const stored = names.map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')])
  expect(files()).toEqual(stored)
})
