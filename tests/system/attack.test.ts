import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { LAYERS } from '../../eval/attacks/types.ts'

const ROOT = join(import.meta.dirname, '../..')
const MAIN = join(ROOT, 'eval/attacks/main.ts')

const documentSchema = z.strictObject({
  cases: z.number().int(),
  stopped: z.number().int(),
  wrong: z.array(z.strictObject({ id: z.string(), why: z.string() })),
  /** Money that went within what was signed, and for a worse thing: minor units of its currency. */
  residuals: z.array(z.strictObject({ id: z.string(), residual: z.number().int() })),
  notApplicable: z.array(
    z.strictObject({ id: z.string(), layer: z.enum(LAYERS), reason: z.string() }),
  ),
})

interface Ended {
  readonly code: number
  readonly out: string
  readonly errors: string
}

/** As `npm run attack -- …` does. */
function attack(...args: readonly string[]): Promise<Ended> {
  const node = ['--disable-warning=ExperimentalWarning', MAIN, ...args]
  return new Promise((resolve) => {
    const options = { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 }
    const child = execFile(process.execPath, node, options, (_error, out, errors) =>
      resolve({ code: child.exitCode ?? -1, out, errors }),
    )
  })
}

// The whole list is a suite of its own, `npm run attack`, and CI runs it beside this one.
describe('npm run attack', () => {
  it('runs the cases that are named, and prints one document and nothing else', async () => {
    const { code, out, errors } = await attack('--layer', 'token', '--only', 'T01,T25', '--json')
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    const document = documentSchema.parse(JSON.parse(out))
    // And the log of the one world that was needed.
    expect(document).toMatchObject({ cases: 3, stopped: 3, wrong: [], residuals: [] })
    expect(document.notApplicable.map(({ id }) => id)).toEqual(['T10'])
  })

  it('lists without running, and says how it is used', async () => {
    const listed = await attack('--list')
    expect(listed.out).toContain('T25')
    const help = await attack('--help')
    expect(help).toMatchObject({ code: 0, errors: '' })
    expect(help.out).toContain('--ablate')
  })

  it.each([
    ['--only Z99'],
    ['--layer moon'],
    ['--nonsense'],
    ['--layer token --only L02'],
    ['--ablate --only T25'],
    ['--fuzz 10 --layer token'],
    ['--fuzz 0'],
  ])('ends with 2 and a sentence for %s', async (args) => {
    const { code, out, errors } = await attack(...args.split(' '))
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(errors).toContain('Usage')
  })
})
