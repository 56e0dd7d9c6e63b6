import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openCheckpoint } from '../../runtime/audit/checkpoint.ts'
import { checkpointFile, checkpointLog } from '../../runtime/audit/checkpoint-file.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { ed25519FromSeed } from '../../runtime/core/keys.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import type { EventRecord } from '../../runtime/core/records.ts'
import { openCheckpoints } from '../../runtime/gateway/checkpoints.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { signer } from '../audit/log.ts'
import { fixedClock, NOW, paySubmitted, startChain, startRun } from '../support/ledger.ts'

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'checkpoints-'))
  file = join(dir, 'checkpoints.ndjson')
})
afterEach(() => rmSync(dir, { recursive: true }))

const deps = (ledger: Ledger, more: object = {}) => ({
  ledger,
  signer,
  file: checkpointFile(file),
  clock: fixedClock,
  ...more,
})

const kept = () =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const jws: string = JSON.parse(line).checkpoint
      const claims = openCheckpoint(jws, signer)
      if (claims === undefined) throw new Error('expected a checkpoint of ours')
      return { jws, ...claims }
    })

const acts = async (ledger: Ledger) =>
  (await ledger.events('gateway', 0, 1_000)).map(({ body }) => JSON.parse(body).data)

/** The same ledger as some of its streams stood before: `change` gives the events of a stream that are there. */
const seenAs = (
  ledger: Ledger,
  change: (events: readonly EventRecord[], stream: string) => readonly EventRecord[],
): Ledger => ({
  ...ledger,
  events: async (stream, after, limit) =>
    change(await ledger.events(stream, 0, 1_000), stream).slice(after, after + limit),
})

async function paidOnce() {
  const ledger = createMemoryLedger({ organisation: 'acme' })
  const chain = await startChain(ledger)
  await paySubmitted(ledger, chain.leaf)
  return { ledger, ...chain }
}

describe('a checkpoint', () => {
  it('is outside with every head, and then in the gateway’s stream, with the same root', async () => {
    const { ledger } = await paidOnce()
    const heads = new Map((await ledger.heads()).map(({ stream, head }) => [stream, head]))
    await (await openCheckpoints(deps(ledger))).write()
    const [one, ...more] = kept()
    expect(more).toEqual([])
    expect(one).toMatchObject({ number: 1, iat: NOW, open: 3, gateway: heads.get('gateway') })
    for (const { stream, ...head } of one?.heads ?? []) expect(head).toEqual(heads.get(stream))
    expect((await acts(ledger)).at(-1)).toEqual({
      act: 'checkpoint',
      number: 1,
      root: one?.root,
      open: 3,
      jws: sha256(one?.jws ?? ''),
    })
  })

  it('is not written where nothing has changed, not after another start either', async () => {
    const { ledger, leaf } = await paidOnce()
    const checkpoints = await openCheckpoints(deps(ledger))
    for (let i = 0; i < 3; i += 1) await checkpoints.write()
    await (await openCheckpoints(deps(ledger))).write()
    expect(kept()).toHaveLength(1)
    await ledger.execute('note', { stream: leaf.id, type: 'read', data: {}, now: NOW })
    await checkpoints.write()
    await startRun(ledger, { jti: 'mandate-2' })
    await (await openCheckpoints(deps(ledger))).write()
    expect(kept().map(({ number }) => number)).toEqual([1, 2, 3])
  })

  it('is written again for what came into the log between it and its own event', async () => {
    const { ledger } = await paidOnce()
    let between = 0
    const busy: Ledger = {
      ...ledger,
      execute: async (name, input) => {
        const data = { act: 'other' }
        const other = { stream: 'gateway', type: 'operator', data, now: NOW } as const
        if (between++ === 0) await ledger.execute('note', other)
        return ledger.execute(name, input)
      },
    }
    const checkpoints = await openCheckpoints(deps(busy))
    for (let i = 0; i < 3; i += 1) await checkpoints.write()
    expect(kept()).toHaveLength(2)
  })

  it('has a number of its own where several gateways append to logs that none of them reads', async () => {
    const { ledger, leaf } = await paidOnce()
    const logged: string[] = []
    const toLog = deps(ledger, { file: checkpointLog((jws) => void logged.push(jws)) })
    const [one, other] = [await openCheckpoints(toLog), await openCheckpoints(toLog)]
    for (const [n, gateway] of [one, other, one].entries()) {
      await ledger.execute('note', { stream: leaf.id, type: 'read', data: { n }, now: NOW })
      await gateway.write()
    }
    expect(logged.map((jws) => openCheckpoint(jws, signer)?.number)).toEqual([1, 2, 3])
  })

  it('is none for a log that speaks of it alone: one that cannot be kept outside is not recorded', async () => {
    const { ledger } = await paidOnce()
    const checkpoints = await openCheckpoints(deps(ledger))
    const before = await acts(ledger)
    rmSync(dir, { recursive: true })
    await expect(checkpoints.write()).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(await acts(ledger)).toEqual(before)
    dir = mkdtempSync(dir)
  })
})

describe('a start', () => {
  const started = async () => {
    const all = await paidOnce()
    await (await openCheckpoints(deps(all.ledger))).write()
    return all
  }
  const refused = (ledger: Ledger, message: RegExp) =>
    expect(openCheckpoints(deps(ledger))).rejects.toMatchObject({
      code: 'ledger_corrupt',
      retryable: false,
      message: expect.stringMatching(message),
    })

  it('is refused where a stream is shorter than it was seen, naming it', async () => {
    const { ledger, leaf } = await started()
    const cut = seenAs(ledger, (events, stream) =>
      stream === leaf.id ? events.slice(0, -1) : events,
    )
    await refused(cut, new RegExp(`event 3 of stream ${leaf.id}, and the store ends before it`))
    const gone = seenAs(ledger, (events, stream) => (stream === leaf.id ? [] : events))
    await refused(gone, new RegExp(leaf.id))
  })

  it('is refused where another event stands there, and where its text is another', async () => {
    const { ledger, planner } = await started()
    for (const change of [{ hash: sha256('other') }, { body: '{}' }]) {
      const other = seenAs(ledger, (events, stream) =>
        stream === planner.id ? events.map((event) => ({ ...event, ...change })) : events,
      )
      await refused(other, new RegExp(`${planner.id}, and the store has another event there`))
    }
  })

  it('is refused where the gateway’s stream is shorter', async () => {
    const { ledger } = await started()
    const cut = seenAs(ledger, (events, stream) => (stream === 'gateway' ? [] : events))
    await refused(cut, /event 1 of stream gateway/)
  })

  it('goes on where more has been written since', async () => {
    const { ledger, leaf } = await started()
    await ledger.execute('note', { stream: leaf.id, type: 'read', data: {}, now: NOW })
    await openCheckpoints(deps(ledger))
  })

  it('is refused where the file is missing or behind what the log says, until that is accepted', async () => {
    const { ledger, leaf } = await started()
    const first = readFileSync(file)
    await ledger.execute('note', { stream: leaf.id, type: 'read', data: {}, now: NOW })
    await (await openCheckpoints(deps(ledger))).write()
    writeFileSync(file, first)
    await refused(
      ledger,
      /the log has a checkpoint 2 and the file of checkpoints has 1 as its last/,
    )
    rmSync(file)
    await refused(ledger, /checkpoint 2 .* has none/)
    await openCheckpoints(deps(ledger, { acceptRollback: true }))
    expect((await acts(ledger)).at(-2)).toEqual({
      act: 'accept_rollback',
      checkpoint: 2,
      missing: 2,
    })
    expect(kept().map(({ number }) => number)).toEqual([3])
    await openCheckpoints(deps(ledger))
  })

  it('with an older store goes on once an operator accepts it, says so in the log, and never again', async () => {
    const { ledger } = await started()
    const [last] = kept()
    const older = createMemoryLedger({ organisation: 'acme' })
    await startRun(older, { jti: 'mandate-2' })
    await refused(older, /checkpoint 1 saw event 1 of stream gateway.*--accept-rollback$/)
    await openCheckpoints(deps(older, { acceptRollback: true }))
    expect((await acts(older)).at(-2)).toEqual({
      act: 'accept_rollback',
      checkpoint: 1,
      stream: 'gateway',
      seq: 1,
    })
    expect(kept().map(({ number }) => number)).toEqual([1, 2])
    await openCheckpoints(deps(older))
    await refused(ledger, /checkpoint 2/)
    expect(kept()[0]).toEqual(last)
  })

  it('says nothing in the log where there is nothing to accept', async () => {
    const { ledger } = await started()
    const before = await acts(ledger)
    await openCheckpoints(deps(ledger, { acceptRollback: true }))
    expect(await acts(ledger)).toEqual(before)
  })

  it('passes over a torn last line, and is refused by a signature that does not hold', async () => {
    const { ledger } = await started()
    appendFileSync(file, '{"checkpoint":"eyJ')
    await openCheckpoints(deps(ledger))
    const jws = /"([\w.-]+)"}/.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
    appendFileSync(file, `\n{"checkpoint":"${jws.slice(0, -8)}AAAAAAAA"}\n`)
    const accepting = { acceptRollback: true }
    for (const more of [{}, accepting]) {
      await expect(openCheckpoints(deps(ledger, more))).rejects.toThrow(/not one that this gateway/)
    }
  })

  it('is refused by a clock that went back an hour, until that is accepted', async () => {
    const { ledger } = await started()
    const at = (seconds: number) => ({ clock: { nowMs: () => (NOW + seconds) * 1000 } })
    await openCheckpoints(deps(ledger, at(-60)))
    const before = await acts(ledger)
    await expect(openCheckpoints(deps(ledger, at(-3600)))).rejects.toMatchObject({
      code: 'clock_untrusted',
      retryable: false,
      message: expect.stringMatching(
        /^the clock stands 3600 seconds before checkpoint 1 was signed/,
      ),
    })
    expect(await acts(ledger)).toEqual(before)
    await openCheckpoints(deps(ledger, { ...at(-3600), acceptRollback: true }))
    expect((await acts(ledger)).at(-2)).toMatchObject({ act: 'accept_rollback', signed: NOW })
    await openCheckpoints(deps(ledger, at(-3600)))
  })

  it('is refused by another gateway’s file', async () => {
    const { ledger } = await started()
    const other = { ...signer, key: ed25519FromSeed(Buffer.alloc(32, 9)) }
    await expect(openCheckpoints(deps(ledger, { signer: other }))).rejects.toMatchObject({
      code: 'ledger_corrupt',
    })
  })

  it('is refused where the file cannot be written', async () => {
    const { ledger } = await paidOnce()
    const nowhere = { file: checkpointFile(join(dir, 'none', 'file')) }
    await expect(openCheckpoints(deps(ledger, nowhere))).rejects.toMatchObject({
      code: 'store_unavailable',
    })
  })
})
