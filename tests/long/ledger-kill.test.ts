/**
 * A process that writes to a real SQLite file by twelve lanes at once and is killed with SIGKILL at random moments,
 * while it opens the file and recovers it as well. Whatever it had acknowledged is there afterwards, whatever it had not
 * is there whole or not at all: balances, records and chains agree, at every node.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import { startWriter, type Writer } from '../support/ledger-process.ts'
import { assertKept, assertVerifies, assertWhole } from '../support/ledger-whole.ts'
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

function randomOf(start: number): () => number {
  let state = start
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
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
