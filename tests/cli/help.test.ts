import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../runtime/cli/program.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { run } from './io.ts'

const program = createProgram({
  out: () => undefined,
  err: () => undefined,
  isTerminal: false,
  columns: 100,
  rows: 50,
  colour: false,
  ask: async () => undefined,
  askSecret: async () => undefined,
  environment: { noColour: true, underNpm: false, onCloudRun: false, credentials: {} },
  clock: systemClock(),
  signal: new AbortController().signal,
})

function leaves(command: Command, path: readonly string[] = []): string[][] {
  const here = [...path, command.name()]
  if (command.commands.length === 0) return [here]
  return command.commands.flatMap((each) => leaves(each, here))
}

const COMMANDS = leaves(program).map((path) => path.slice(1))

describe('every command', () => {
  it('is one of those that are promised', () => {
    expect(COMMANDS.map((path) => path.join(' ')).sort()).toEqual(
      [
        'approve',
        'audit export',
        'audit verify',
        'backup',
        'cancel',
        'decide',
        'demo',
        'erase',
        'freeze',
        'holds',
        'keys bundle',
        'keys new',
        'keys operator',
        'keys rotate',
        'payments acknowledge',
        'payments alarms',
        'payments refund',
        'payments resolve',
        'payments return',
        'payments settlement',
        'login-code',
        'mandate sign',
        'mcp',
        'rail check',
        'rail register-payee',
        'rail save-instrument',
        'receipt verify',
        'reconcile',
        'refuse',
        'resume',
        'revoke',
        'run',
        'runs',
        'secrets init',
        'secrets list',
        'secrets remove',
        'secrets set',
        'serve',
        'start',
        'token inspect',
        'watch',
      ].sort(),
    )
  })

  it.each(COMMANDS)(
    '%s %s explains itself on stdout, with --json and examples',
    async (...path) => {
      const words = path.filter((word) => typeof word === 'string')
      const { code, out, err } = await run([...words, '--help'])
      expect([code, err]).toEqual([0, ''])
      expect(out).toContain('--json')
      expect(out).toMatch(/Examples:\n {2}\$ headgate /)
      expect(out.split('\n').every((line) => line.length <= 110)).toBe(true)
    },
  )
})

describe('the program', () => {
  it('lists its commands and its exit codes', async () => {
    const { code, out } = await run(['--help'])
    expect(code).toBe(0)
    expect(out).toContain('Exit codes')
    for (const [name] of COMMANDS) expect(out).toContain(name)
  })

  it('refuses what it does not know with one sentence and the code of usage', async () => {
    for (const args of [['nothing'], ['runs', '--nope'], ['watch'], ['keys', 'new']]) {
      const { code, out, err } = await run(args)
      expect([args, code, out]).toEqual([args, 2, ''])
      expect(err.trim().split('\n')).toHaveLength(1)
    }
  })
})
