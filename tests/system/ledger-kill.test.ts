/**
 * A process that writes to a real SQLite file by twelve lanes at once and is killed with SIGKILL at random moments,
 * while it opens the file and recovers it as well. Whatever it had acknowledged is there afterwards, whatever it had not
 * is there whole or not at all: balances, records and chains agree, at every node.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { parseEvent } from '../../runtime/core/events.ts'
import type { NodeId, PaymentId } from '../../runtime/core/ids.ts'
import type { Ledger, NodeState } from '../../runtime/core/ledger.ts'
import type { RunRecord } from '../../runtime/core/records.ts'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import type { Told } from '../support/ledger-writer.ts'
import { temporaryFolder, withoutThread } from '../support/sqlite.ts'

/** A few among all other tests; the README's command asks for more. */
const KILLS = Number(process.env.LEDGER_KILLS ?? 20)
const seed = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000)
/** Longest life, of every other one from the word to begin on, of the rest from when the file was open. */
const OPENING_MS = 300
const WRITING_MS = 400
/** A file lives through so many kills: each verifies all that the ones before left. */
const KILLS_A_FILE = 10

const WRITER = join(import.meta.dirname, '../support/ledger-writer.ts')

function randomOf(start: number): () => number {
  let state = start
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

interface Writer {
  readonly child: ChildProcess
  readonly told: Told[]
  readonly says: (word: string) => Promise<unknown>
  readonly ended: Promise<void>
}

/** Ready to begin: it waits for its line. */
function startWriter(path: string, round: number): Writer {
  const args = ['--disable-warning=ExperimentalWarning', WRITER, path, String(round)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const told: Told[] = []
  const words = new Map(['ready', 'open'].map((word) => [word, Promise.withResolvers<void>()]))
  const ended = (async () => {
    if (child.stdout === null) throw new Error('expected output')
    for await (const line of createInterface({ input: child.stdout })) {
      words.get(line)?.resolve()
      // The last line may be cut: nobody was told what it would have said.
      if (line.startsWith('{') && line.endsWith('}')) told.push(JSON.parse(line) as Told)
    }
  })()
  child.stdin?.on('error', () => undefined)
  const says = (word: string) => Promise.race([words.get(word)?.promise, ended])
  return { child, told, says, ended }
}

async function killLater(
  { child, says, ended }: Writer,
  random: () => number,
  isWriting: boolean,
): Promise<void> {
  await says('ready')
  child.stdin?.write('go\n')
  if (isWriting) await says('open')
  await sleep(random() * (isWriting ? WRITING_MS : OPENING_MS))
  child.kill('SIGKILL')
  await ended
}

/** Each acknowledged command, by what only it would have left. */
async function assertKept(ledger: Ledger, told: readonly Told[]): Promise<void> {
  for (const { name, node, id, head } of told) {
    const stream = node as NodeId
    if (head !== undefined) {
      const [event] = await ledger.events(stream, head.seq - 1, 1)
      expect([name, event?.seq, event?.hash]).toEqual([name, head.seq, head.hash])
    }
    const payment = id === undefined ? undefined : await ledger.payment(id as PaymentId)
    if (name === 'settle') expect(payment).toMatchObject({ state: 'settled', settledAmount: 7 })
    if (name === 'release') expect(payment?.state).toBe('released')
    if (name === 'reserve') expect(payment).toBeDefined()
    if (name === 'submit') expect(payment?.nonce).toBe(node)
    if (name === 'markUnknown') expect(['unknown', 'settled']).toContain(payment?.state)
    if (name === 'split') expect(await ledger.node(stream)).toBeDefined()
    if (name === 'close') expect((await ledger.standing(stream)).state).toBe('closed')
    if (name === 'saveStep') expect(await ledger.step(stream, 'bought')).toBeDefined()
    if (name === 'refuse') expect((await typesOf(ledger, stream)).includes('held')).toBe(true)
  }
}

const typesOf = async (ledger: Ledger, stream: NodeId) =>
  (await ledger.events(stream, 0, 100)).map(({ body }) => parseEvent(body).type)

/** Balances at every node, and each record against the events that speak of it: no command is half there. */
async function assertWhole(ledger: Ledger, run: RunRecord): Promise<void> {
  const tree = await ledger.tree(run.id)
  const below = Map.groupBy(tree, ({ node }: NodeState) => node.parent)
  let counted = 0
  for (const { node, account, payment, standing } of tree) {
    const { ceiling, available, reserved, spent, allotted, head } = account
    expect(ceiling).toBe(available + reserved + spent + allotted)
    const given = (below.get(node.id) ?? []).reduce((sum, child) => sum + child.account.ceiling, 0)
    expect(allotted).toBe(given)
    const events = await ledger.events(node.id, 0, 100_000)
    expect([events.length, events.at(-1)?.hash]).toEqual([head.seq, head.hash])
    if (node.kind !== 'leaf') continue
    const types = events.map(({ body }) => parseEvent(body).type)
    const last = types.findLast((type) => STATES.has(type))
    expect(payment?.state).toBe(last)
    if (payment !== undefined && payment.state !== 'released') counted += 1
    expect(standing.state === 'closed').toBe(types.includes('ended'))
    expect((await ledger.step(node.id, 'bought')) !== undefined).toBe(types.includes('chose'))
  }
  const round = run.jti.replace('round-', '')
  const day = { node: run.root, counters: [`day-${round}`] }
  expect((await ledger.snapshot(day))?.counters[0]?.count).toBe(counted)
}

const STATES: ReadonlySet<string> = new Set([
  'reserved',
  'submitted',
  'settled',
  'released',
  'unknown',
])

async function assertVerifies(ledger: Ledger): Promise<number> {
  const lines: string[] = []
  for await (const line of exportLog(ledger)) lines.push(line)
  const verdict = verifyExport(lines)
  expect(verdict.broken).toBeUndefined()
  return verdict.events
}

describe(`a ledger killed ${KILLS} times at random moments (KILL_SEED=${seed})`, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  const left = new Set<Writer>()
  beforeAll(async () => {
    folder = await temporaryFolder()
  })
  afterAll(async () => {
    for (const { child } of left) child.kill('SIGKILL')
    await folder.remove()
  })

  it('keeps all that it acknowledged, whole, and its log verifies', {
    timeout: 600_000,
  }, async () => {
    const random = randomOf(seed)
    const fileOf = (kill: number) =>
      join(folder.path, `${Math.floor(kill / KILLS_A_FILE)}-ledger.db`)
    const start = (kill: number) => {
      const writer = startWriter(fileOf(kill), kill)
      left.add(writer)
      return writer
    }
    let next = start(0)
    const acknowledged: Told[] = []
    let [commands, events] = [0, 0]
    for (let kill = 0; kill < KILLS; kill += 1) {
      const writer = next
      await killLater(writer, random, kill % 2 === 1)
      left.delete(writer)
      if (kill + 1 < KILLS) next = start(kill + 1)
      if (kill % KILLS_A_FILE === 0) acknowledged.length = 0
      commands += writer.told.length
      acknowledged.push(...writer.told)
      const path = fileOf(kill)
      const ledger = await openSqliteLedger({ path, organisation: 'acme', spawn: withoutThread })
      try {
        await assertKept(ledger, writer.told)
        const isLastOfFile = kill % KILLS_A_FILE === KILLS_A_FILE - 1 || kill === KILLS - 1
        for (const run of await ledger.runs({ limit: isLastOfFile ? 100 : 1 })) {
          await assertWhole(ledger, run)
        }
        if (!isLastOfFile) continue
        await assertKept(ledger, acknowledged)
        events += await assertVerifies(ledger)
      } finally {
        await ledger.close()
      }
    }
    process.stdout.write(
      `ledger killed ${KILLS} times: ${commands} commands acknowledged, ${events} events kept\n`,
    )
    // A machine may be slow, but then most kills would have met a writer that had not begun.
    expect(commands).toBeGreaterThan(KILLS)
  })
})
