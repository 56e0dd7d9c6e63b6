/** Disks that are really full: what does not fit is refused with a fault that may be tried again, and nothing is lost. */
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import {
  aChild,
  accepted,
  addChild,
  aSplit,
  paySubmitted,
  startChain,
  startRun,
} from '../support/ledger.ts'
import { startWriter } from '../support/ledger-process.ts'
import { assertKept, assertVerifies, assertWhole } from '../support/ledger-whole.ts'
import { temporaryFolder, withoutThread } from '../support/sqlite.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function place(): Promise<string> {
  const folder = await temporaryFolder()
  ends.push(folder.remove)
  return folder.path
}

async function open(path: string): Promise<Ledger> {
  const ledger = await openSqliteLedger({ path, organisation: 'acme', spawn: withoutThread })
  ends.push(() => ledger.close())
  return ledger
}

const full = { code: 'store_unavailable', retryable: true }

it('a file that may grow no further refuses, keeps all that was acknowledged, and takes more once it may', async () => {
  const path = join(await place(), 'ledger.db')
  // The operating system's own limit on the size of a file (RLIMIT_FSIZE): a megabyte or two, as shells count blocks.
  const writer = startWriter(path, 0, 3_000)
  ends.push(() => writer.child.kill('SIGKILL'))
  await writer.says('ready')
  writer.child.stdin?.write('go\n')
  await writer.ended
  expect(writer.faults).toMatchObject([{ fault: 'store_unavailable', retryable: true }])
  expect(writer.told.length).toBeGreaterThan(50)

  const ledger = await open(path)
  await assertKept(ledger, writer.told)
  for (const run of await ledger.runs({ limit: 9 })) await assertWhole(ledger, run)
  await assertVerifies(ledger)
  const { leaf } = await startChain(ledger, { jti: 'afterwards' })
  expect((await paySubmitted(ledger, leaf)).state).toBe('submitted')
}, 60_000)

/** A disk of its own, 2 MiB; undefined where this user may mount none. */
function smallDisk(at: string): true | undefined {
  const shell = (line: string) => spawnSync('sh', ['-c', line, at]).status === 0
  if (!shell('mount -t tmpfs -o size=2m tmpfs "$0"')) return undefined
  ends.push(() => shell('umount "$0"'))
  return true
}

it('a disk without a free block refuses, and the same process goes on when there is room again', async (test) => {
  const folder = await place()
  if (smallDisk(folder) === undefined) {
    process.stdout.write('a small disk is not tried: this user may mount none\n')
    test.skip('mounting a tmpfs takes root')
  }
  const ledger = await open(join(folder, 'ledger.db'))
  const { run, root } = await startRun(ledger, { nodes: 10_000 })
  const before = await addChild(ledger, root, 'before')
  const ballast = join(folder, 'ballast')
  const free = Number(
    spawnSync('stat', ['-f', '-c', '%a', folder], { encoding: 'utf8' }).stdout.trim(),
  )
  writeFileSync(ballast, Buffer.alloc(free * 4_096))

  const attempt = (i: number) =>
    ledger.execute('split', aSplit(aChild(root, `c${i}`, { ceiling: 1 }), { fanOut: 1_000 }))
  const [done, faults]: [number[], unknown[]] = [[], []]
  for (let i = 0; i < 200 && faults.length < 3; i += 1) {
    await attempt(i).then(
      () => void done.push(i),
      (fault: unknown) => void faults.push(fault),
    )
  }
  expect(faults).toMatchObject([full, full, full])
  await expect(ledger.ping()).rejects.toMatchObject(full)
  expect((await ledger.account(root.id))?.allotted).toBe(before.ceiling + done.length)

  rmSync(ballast)
  await ledger.ping()
  for (const i of [500, 501, 502]) accepted(await attempt(i))
  expect((await paySubmitted(ledger, before)).state).toBe('submitted')
  await assertVerifies(ledger)
  expect((await ledger.tree(run.id)).length).toBe(2 + done.length + 3)
}, 60_000)
