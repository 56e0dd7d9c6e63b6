/** Google's own emulator, where this machine has it: started by its archive alone, ended by its process id. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'

const JAR =
  '/usr/lib/google-cloud-sdk/platform/cloud-firestore-emulator/cloud-firestore-emulator.jar'

const PROGRAM = 'java'
const MAIN = 'com.google.cloud.datastore.emulator.firestore.CloudFirestore'

/** As its own start script has it. */
const JAVA = ['-Xmx512m', '-Duser.language=en', '-cp', JAR, MAIN, 'start']

export const hasEmulator = existsSync(JAR)

/** For the screen: which of the two a test used, or why it was left out. */
export const EMULATOR_NOTE = hasEmulator
  ? 'Google’s Firestore emulator is on this machine and is tested too'
  : 'Google’s Firestore emulator is not on this machine: tested on the double alone'

export interface Emulator {
  readonly host: string
  close(): Promise<void>
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}

/** Resolves when it answers; rejects with what it printed if it ends before. */
export async function startEmulator(): Promise<Emulator> {
  const port = await freePort()
  const child = spawn(PROGRAM, [...JAVA, '--host=127.0.0.1', `--port=${port}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await ready(child)
  return {
    host: `127.0.0.1:${port}`,
    close: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let printed = ''
    const take = (chunk: Buffer) => {
      printed += chunk.toString('utf8')
      if (printed.includes('Dev App Server is now running')) resolve()
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`the emulator ended: ${printed}`)))
  })
}
