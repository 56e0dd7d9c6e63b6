import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      {
        test: {
          name: 'rooms',
          include: ['tests/**/*.test.ts'],
          exclude: ['tests/system/**'],
          testTimeout: 30_000,
        },
      },
      {
        // Whole servers as child processes: one file at a time, so that two cores are enough.
        test: {
          name: 'system',
          include: ['tests/system/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
