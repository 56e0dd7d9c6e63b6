import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Processes that tests start read our TypeScript from Node's own cache; most of their life is their start. */
const env = { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/node') }

/** What takes long and changes seldom; elsewhere than in these folders its name says so. */
const LONG = ['tests/stores/**/*.test.ts', 'tests/long/**/*.test.ts', 'tests/**/*.long.test.ts']

export default defineConfig({
  test: {
    reporters: ['default'],
    // Two cores must be enough: whole servers as child processes beside one another wait more than they work.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'rooms',
          include: ['tests/**/*.test.ts'],
          exclude: ['tests/system/**', 'tests/tokens/**', ...LONG],
          // Nothing here changes what it shares with the next file, and loading it all anew takes as long as the tests.
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          env,
        },
      },
      {
        // Each in a process of its own: these break the token library, or put it back to its first moment.
        test: { name: 'tokens', include: ['tests/tokens/**/*.test.ts'], testTimeout: 30_000, env },
      },
      {
        // Minutes, so not for every change: the whole contract over each way in which Firestore may behave, processes
        // that are killed, a browser, runs with models, and what the evaluation's own tools are worth.
        test: {
          name: 'long',
          include: LONG,
          testTimeout: 240_000,
          hookTimeout: 60_000,
          env,
        },
      },
      {
        test: {
          name: 'system',
          include: ['tests/system/**/*.test.ts'],
          exclude: LONG,
          testTimeout: 240_000,
          hookTimeout: 60_000,
          env,
        },
      },
    ],
  },
})
