import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Checkpoint, checkpointOf, signCheckpoint } from '../../runtime/audit/checkpoint.ts'
import { checkpointFile } from '../../runtime/audit/checkpoint-file.ts'
import { exportLog } from '../../runtime/audit/export.ts'
import { signSeal } from '../../runtime/audit/seal.ts'
import { checkpointsIn, verifyExport } from '../../runtime/audit/verify.ts'
import { ed25519FromSeed } from '../../runtime/core/keys.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import type { StreamId } from '../../runtime/core/records.ts'
import { openCheckpoints } from '../../runtime/gateway/checkpoints.ts'
import { closeSubtree } from '../../runtime/ledger/closing.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import {
  accepted,
  addChild,
  aReserve,
  aSubmit,
  fixedClock,
  NOW,
  paySubmitted,
  startChain,
  startRun,
} from '../support/ledger.ts'
import { type Body, bodyOf, collect, forge, jwksOf, signer } from './log.ts'

const FILE = fileURLToPath(new URL('../../runtime/audit/verify.ts', import.meta.url))
const jwks = jwksOf(signer.key, signer.kid)

const made = () => createMemoryLedger({ organisation: 'acme' })

async function claimsOf(ledger: Ledger, number = 1): Promise<Checkpoint> {
  const at = { number, gateway: signer.gateway, now: NOW }
  const claims = checkpointOf(await ledger.heads('unsealed'), at)
  if (claims === undefined) throw new Error('expected a checkpoint')
  return claims
}

const checkpoint = async (ledger: Ledger, number = 1) =>
  signCheckpoint(await claimsOf(ledger, number), signer)

const linesOf = (ledger: Ledger) => collect(exportLog(ledger))

/** Frozen and live again: what was version 1 is version 3. */
async function stopped(ledger: Ledger, node: StreamId) {
  const act = { node, by: 'op', now: NOW }
  accepted(await ledger.execute('setStanding', { ...act, state: 'frozen' }))
  accepted(await ledger.execute('setStanding', { ...act, state: 'live' }))
}

const note = (ledger: Ledger, stream: StreamId, type: 'read' | 'operator' = 'read') =>
  ledger.execute('note', { stream, type, data: {}, now: NOW })

describe('a checkpoint that was kept', () => {
  it('agrees with the log that it was taken of, and with everything that came later', async () => {
    const ledger = made()
    const { leaf } = await startChain(ledger)
    const first = await checkpoint(ledger, 1)
    await stopped(ledger, 'gateway')
    await paySubmitted(ledger, leaf)
    const checkpoints = [first, await checkpoint(ledger, 2)]
    await startChain(ledger, { jti: 'mandate-2' })
    const lines = await linesOf(ledger)
    expect(verifyExport(lines, { checkpoints, jwks })).toMatchObject({ ok: true, streams: 7 })
  })

  it('names the stream whose tail was cut, and an older file', async () => {
    const ledger = made()
    const { leaf } = await startChain(ledger)
    const older = await linesOf(ledger)
    await note(ledger, leaf.id)
    const checkpoints = [await checkpoint(ledger)]
    const cut = { stream: leaf.id, seq: 2, why: 'the log ends before checkpoint 1' }
    expect(verifyExport(older)).toMatchObject({ ok: true })
    expect(verifyExport(older, { checkpoints, jwks }).broken).toEqual(cut)
    await note(ledger, 'gateway', 'operator')
    checkpoints.push(await checkpoint(ledger, 2))
    expect(verifyExport(older, { checkpoints: checkpoints.slice(1), jwks }).broken).toEqual({
      stream: 'gateway',
      seq: 2,
      why: 'the log ends before checkpoint 2',
    })
  })

  it('names the event that stands where it saw another', async () => {
    const [one, other] = [made(), made()]
    await Promise.all([startRun(one), startRun(other)])
    const { root } = await startRun(one)
    await note(one, root.id)
    await other.execute('note', { stream: root.id, type: 'read', data: { n: 1 }, now: NOW })
    const checkpoints = [await checkpoint(one)]
    expect(verifyExport(await linesOf(other), { checkpoints, jwks }).broken).toEqual({
      stream: root.id,
      seq: 2,
      why: 'checkpoint 1 saw another event here',
    })
  })

  it('finds a whole run that was left out with everything that names it', async () => {
    const ledger = made()
    await startChain(ledger)
    const second = await startChain(ledger, { jti: 'mandate-2' })
    const checkpoints = [await checkpoint(ledger)]
    const without = (await linesOf(ledger)).filter((line) => bodyOf(line).run !== second.run.id)
    expect(verifyExport(without)).toMatchObject({ ok: true, streams: 4 })
    expect(verifyExport(without, { checkpoints, jwks }).broken).toMatchObject({ stream: 'gateway' })
  })

  it('finds a stream that nothing else in the log names', async () => {
    const ledger = made()
    await startChain(ledger)
    const [claims, heads] = [await claimsOf(ledger), await ledger.heads()]
    await startRun(ledger, { jti: 'mandate-2' })
    const gone = (await ledger.heads()).slice(-1)
    const { root, heads: more } =
      checkpointOf([...heads, ...gone], { ...claims, now: NOW, gateway: '' }) ?? claims
    const jws = signCheckpoint({ ...claims, root, heads: more }, signer)
    const lines = (await linesOf(ledger)).filter((line) => bodyOf(line).stream !== gone[0]?.stream)
    const rest = lines.filter((line) => bodyOf(line).seq === 1 || bodyOf(line).stream !== 'gateway')
    expect(verifyExport(rest, { checkpoints: [jws], jwks }).broken).toEqual({
      stream: gone[0]?.stream,
      seq: 1,
      why: 'this stream is missing, and checkpoint 1 names it',
    })
  })

  it('of everything serves for one run too, and shows where that one was cut', async () => {
    const ledger = made()
    const { run, leaf } = await startChain(ledger)
    await startChain(ledger, { jti: 'mandate-2' })
    const options = { checkpoints: [await checkpoint(ledger)], jwks, run: run.id }
    const lines = await collect(exportLog(ledger, run.id))
    expect(verifyExport(lines, options)).toMatchObject({ ok: true, streams: 3 })
    await note(ledger, leaf.id)
    const later = { ...options, checkpoints: [await checkpoint(ledger)] }
    expect(verifyExport(lines, later).broken?.stream).toBe(leaf.id)
  })

  it('of other things is counted as such, and not as one that proves this run', async () => {
    const ledger = made()
    await startChain(ledger)
    const before = await checkpoint(ledger)
    const { run } = await startChain(ledger, { jti: 'mandate-2' })
    const lines = await collect(exportLog(ledger, run.id))
    const of = (...checkpoints: string[]) => verifyExport(lines, { checkpoints, jwks, run: run.id })
    expect(of(before)).toMatchObject({ ok: true, checkpoints: 0 })
    expect(of(before, await checkpoint(ledger, 2))).toMatchObject({ ok: true, checkpoints: 1 })
    expect(of().checkpoints).toBeUndefined()
  })

  it('is believed only with its signature, its root and as the one that was recorded', async () => {
    const ledger = made()
    await startChain(ledger)
    const claims = await claimsOf(ledger)
    const lines = await linesOf(ledger)
    const why = (jws: string) => verifyExport(lines, { checkpoints: [jws], jwks }).broken?.why
    const other = { ...signer, key: ed25519FromSeed(Buffer.alloc(32, 9)) }
    expect(why(signCheckpoint(claims, other))).toBe('the signature does not hold')
    expect(why(signCheckpoint({ ...claims, heads: claims.heads.slice(1) }, signer))).toBe(
      'its root is not that of its heads',
    )
    const folder = mkdtempSync(join(tmpdir(), 'recorded-'))
    const deps = { ledger, signer, clock: fixedClock, file: checkpointFile(join(folder, 'file')) }
    await (await openCheckpoints(deps)).write()
    rmSync(folder, { recursive: true })
    const recorded = await linesOf(ledger)
    const again = signCheckpoint({ ...claims, iat: NOW + 1 } as Checkpoint, signer)
    const options = { checkpoints: [signCheckpoint(claims, signer)], jwks }
    expect(verifyExport(recorded, options)).toMatchObject({ ok: true })
    expect(verifyExport(recorded, { ...options, checkpoints: [again] }).broken).toEqual({
      stream: 'gateway',
      seq: 2,
      why: 'another checkpoint of this number was recorded',
    })
  })

  it('says that an operator accepted an older store, where that is why they differ', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'accepted-'))
    const file = join(folder, 'file')
    const [first, older] = [made(), made()]
    await startChain(first)
    await startRun(older, { jti: 'mandate-2' })
    const deps = { signer, clock: fixedClock, file: checkpointFile(file) }
    await (await openCheckpoints({ ...deps, ledger: first })).write()
    const checkpoints = [await checkpoint(first)]
    await openCheckpoints({ ...deps, ledger: older, acceptRollback: true })
    rmSync(folder, { recursive: true })
    expect(verifyExport(await linesOf(older), { checkpoints, jwks }).broken?.why).toBe(
      'checkpoint 1 saw another event here; an operator accepted an older store in gateway event 2',
    )
  })
})

describe('a file of checkpoints', () => {
  it('is lines or one signed text; what was torn is no line and what is strange does not verify', async () => {
    const line = (jws: string) => `{"checkpoint":"${jws}"}\n`
    expect(checkpointsIn(line('a.b.c') + line('d.e.f'))).toEqual(['a.b.c', 'd.e.f'])
    expect(checkpointsIn('a.b.c\n')).toEqual(['a.b.c'])
    expect(checkpointsIn(`${line('a.b.c')}{"checkpoint":"d.e`)).toEqual(['a.b.c'])
    expect(checkpointsIn(`{"check\n${line('a.b.c')}`)).toEqual(['a.b.c'])
    expect(checkpointsIn('{"other":1}\n')).toEqual(['{"other":1}'])
    const { broken } = verifyExport([], { checkpoints: ['{"other":1}'], jwks })
    expect(broken?.why).toBe('expected a signed text of this type')
  })

  it('is taken by the verifier alone, from the command line', async () => {
    const ledger = made()
    const { leaf } = await startChain(ledger)
    const lines = await linesOf(ledger)
    await note(ledger, leaf.id)
    const folder = mkdtempSync(join(tmpdir(), 'alone-'))
    const at = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const jws = await checkpoint(ledger)
    const args = [
      ...[FILE, at('log', lines.join('\n')), '--jwks', at('keys', JSON.stringify(jwks))],
      ...['--checkpoint', at('checkpoints', `{"checkpoint":"${jws}"}\n{"check`)],
    ]
    const said = await new Promise<string>((resolve) => {
      execFile(process.execPath, args, (error, out) => resolve(`${error?.code} ${out}`))
    })
    rmSync(folder, { recursive: true })
    expect(said).toMatch(
      new RegExp(`^1 .*${leaf.id} event 2: the log ends before checkpoint 1`, 's'),
    )
  }, 30_000)
})

/** Puts another version into the standings of an event of a leaf. */
const reads = (place: number, version: number) => (body: Body) =>
  void (body.data.standings as number[]).splice(place, 1, version)

const isOf = (stream: string, of: string) => (body: Body) =>
  body.stream === stream && body.type === of

describe('a freeze and a payment of another stream', () => {
  it('are in order where the run was created after the gateway’s freeze', async () => {
    const ledger = made()
    await startRun(ledger, { jti: 'mandate-2' })
    await stopped(ledger, 'gateway')
    const { leaf } = await startChain(ledger)
    await paySubmitted(ledger, leaf)
    const lines = await linesOf(ledger)
    expect(verifyExport(lines)).toMatchObject({ ok: true })
    const forged = forge(lines, reads(0, 1), isOf(leaf.id, 'reserved'))
    expect(verifyExport(forged).broken).toMatchObject({
      stream: leaf.id,
      why: 'reserved by standing 1 of gateway, but 3 came before it',
    })
  })

  it('are in order where the leaf was split off after its planner’s freeze', async () => {
    const ledger = made()
    const { planner } = await startChain(ledger)
    await stopped(ledger, planner.id)
    const leaf = await addChild(ledger, planner, 'after', { ceiling: 900 })
    await paySubmitted(ledger, leaf)
    const forged = forge(await linesOf(ledger), reads(2, 1), isOf(leaf.id, 'submitted'))
    expect(verifyExport(forged).broken).toMatchObject({
      stream: leaf.id,
      why: `submitted by standing 1 of ${planner.id}, but 3 came before it`,
    })
  })

  it('are in order where both are in one stream', async () => {
    const ledger = made()
    const { leaf } = await startChain(ledger)
    await stopped(ledger, leaf.id)
    await paySubmitted(ledger, leaf)
    const lines = await linesOf(ledger)
    expect(verifyExport(lines)).toMatchObject({ ok: true })
    const forged = forge(lines, reads(3, 1), isOf(leaf.id, 'reserved'))
    expect(verifyExport(forged).broken?.why).toMatch(
      /by standing 1 of nd_.*, but 3 came before it$/,
    )
  })

  it('are in order where the leaf itself has read the newer standing before', async () => {
    const ledger = made()
    const { leaf } = await startChain(ledger)
    await stopped(ledger, 'gateway')
    accepted(await ledger.execute('reserve', aReserve(leaf)))
    accepted(await ledger.execute('submit', aSubmit(leaf, 'n')))
    const forged = forge(await linesOf(ledger), reads(0, 1), isOf(leaf.id, 'submitted'))
    expect(verifyExport(forged).broken?.why).toBe(
      'submitted by standing 1 of gateway, but 3 came before it',
    )
  })

  it('are in order where a checkpoint lies between them', async () => {
    const ledger = made()
    const { leaf, planner } = await startChain(ledger)
    await stopped(ledger, 'gateway')
    await stopped(ledger, planner.id)
    const checkpoints = [await checkpoint(ledger)]
    await paySubmitted(ledger, leaf)
    const lines = await linesOf(ledger)
    expect(verifyExport(lines, { checkpoints, jwks })).toMatchObject({ ok: true })
    for (const [place, name] of [
      [0, 'gateway'],
      [2, planner.id],
    ] as const) {
      const older = forge(lines, reads(place, 1), isOf(leaf.id, 'reserved'))
      // Two streams that never meet: without a checkpoint nobody can tell.
      expect(verifyExport(older)).toMatchObject({ ok: true })
      expect(verifyExport(older, { checkpoints, jwks }).broken).toMatchObject({
        stream: leaf.id,
        why: `reserved by standing 1 of ${name}, but 3 came before it`,
      })
    }
  })

  it('are in order where the payment came first: it has not read what came after its run', async () => {
    const ledger = made()
    const { run, root, leaf } = await startChain(ledger)
    const { id } = await paySubmitted(ledger, leaf)
    accepted(
      await ledger.execute('release', { payment: id, from: 'submitted', reason: 'x', now: NOW }),
    )
    const open = await checkpoint(ledger, 1)
    accepted(await closeSubtree(ledger, root.id, 'op', fixedClock))
    const account = await ledger.account(root.id)
    if (account === undefined) throw new Error('expected an account')
    const seal = signSeal(run, account, signer, NOW)
    accepted(await ledger.execute('finishRun', { run: run.id, state: 'failed', seal, now: NOW }))
    await stopped(ledger, 'gateway')
    const lines = await linesOf(ledger)
    expect(verifyExport(lines, { checkpoints: [open], jwks })).toMatchObject({ ok: true })
    const newer = forge(lines, reads(0, 3), isOf(leaf.id, 'submitted'))
    expect(verifyExport(newer).broken?.why).toBe(
      'submitted by standing 3 of gateway, but only 1 had come by then',
    )
  })

  it('are in order where a checkpoint saw the payment and not the freeze', async () => {
    const ledger = made()
    const { leaf } = await startChain(ledger)
    await paySubmitted(ledger, leaf)
    const { gateway } = await claimsOf(ledger)
    await stopped(ledger, 'gateway')
    const newer = forge(await linesOf(ledger), reads(0, 3), isOf(leaf.id, 'submitted'))
    expect(verifyExport(newer)).toMatchObject({ ok: true })
    // Whoever holds the key as well signs the forged heads.
    const heads = (await ledger.heads('unsealed')).map(({ stream, head }) => {
      const own = newer.map((line) => ({ ...bodyOf(line), hash: JSON.parse(line).hash }))
      const last = own.findLast((body) => body.stream === stream)
      return { stream, head: stream === 'gateway' ? gateway : { ...head, hash: last?.hash } }
    })
    const claims = checkpointOf(heads, { number: 1, gateway: signer.gateway, now: NOW })
    if (claims === undefined) throw new Error('expected a checkpoint')
    const checkpoints = [signCheckpoint(claims, signer)]
    expect(verifyExport(newer, { checkpoints, jwks }).broken?.why).toBe(
      'submitted by standing 3 of gateway, but only 1 had come by then',
    )
  })
})
