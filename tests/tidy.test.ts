/** Style as a test: what may import what, how long things may be, which words have a better one, what the README says. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parseConfig } from '../runtime/config.ts'
import { budgetsSchema, MODELS } from '../runtime/config-models.ts'
import { PROVIDER_KEYS, PROVIDERS } from '../runtime/core/agents.ts'
import { CHECKS, CODES } from '../runtime/core/codes.ts'
import { FILES, filesIn, importsOf, linesWith, ROOT, read, tableRows } from './support/source.ts'

const PRODUCT = ['runtime', 'agents', 'merchant', 'console', 'eval']

/** From left to right: a room may import itself and every room of a column to its left. */
const RANKS: readonly (readonly string[])[] = [
  ['core'],
  ['client'],
  ['mcp'],
  ['tokens', 'policy', 'rails', 'secrets'],
  ['audit'],
  ['ledger'],
  ['funnel', 'gateway'],
  ['http'],
  ['config-models.ts'],
  ['config.ts'],
  ['models.ts'],
  ['compose.ts'],
  ['cli'],
  ['main.ts'],
  ['start.mjs'],
]

const rankOf = (room: string) => RANKS.findIndex((column) => column.includes(room))

/** The room of a file of the runtime: its folder, or the file itself where it lies in none. */
const roomOf = (path: string) => path.split('/')[1] ?? ''

/** Read by others without our help, so each file says everything; its length is the price. */
const MAY_BE_LONG: Readonly<Record<string, string>> = {
  'runtime/audit/verify.ts':
    'an auditor reads the verifier as one file that depends on nothing of ours',
}

const LONGEST_FILE = 400
const LONGEST_FUNCTION = 70

/** What may stand at the top of the repository besides files that begin with a dot. */
const TOP = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'biome.json',
  'knip.json',
  'vitest.config.ts',
  'runtime',
  'agents',
  'merchant',
  'console',
  'eval',
  'tests',
  'deploy',
  'README.md',
  'LICENSE',
]

interface Banned {
  readonly word: RegExp
  readonly instead: string
  readonly except?: readonly string[]
}

const BANNED: readonly Banned[] = [
  { word: /\bDate\.now\b/, instead: 'take a Clock', except: ['runtime/core/clock.ts'] },
  { word: /\bnew Date\(\)/, instead: 'take a Clock', except: ['runtime/core/clock.ts'] },
  { word: /\bMath\.random\b/, instead: 'node:crypto, or freshId of core/ids.ts' },
  { word: /\bprocess\.env\b/, instead: 'readEnvironment', except: ['runtime/config.ts'] },
  {
    word: /\bprocess\.exit\(/,
    instead: 'return, or set process.exitCode',
    except: ['runtime/main.ts', 'runtime/start.mjs'],
  },
  { word: /\bconsole\.\w/, instead: 'the Io or the log that you are given' },
  { word: /\bparseFloat\b/, instead: 'integer minor units; money is never a fraction' },
  { word: /\bas any\b|: any\b|<any>/, instead: 'unknown, and a schema' },
  { word: /\bexport default\b/, instead: 'a named export' },
  { word: /\bexport \* from\b/, instead: 'an import of the file that has it' },
]

const packageSchema = z.looseObject({
  scripts: z.record(z.string(), z.string()),
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
})
const manifest = packageSchema.parse(JSON.parse(read('package.json')))

describe('imports', () => {
  const runtime = filesIn(['runtime'], ['.ts', '.mjs'])

  it('finds every room of the runtime in the order of rooms', () => {
    const rooms = new Set(runtime.map(roomOf))
    expect([...rooms].filter((room) => rankOf(room) < 0)).toEqual([])
  })

  it('go from a room of the runtime to itself or to its left', () => {
    const wrong = runtime.flatMap((path) =>
      importsOf(path)
        .filter((target) => target.startsWith('runtime/'))
        .filter((target) => {
          const [from, to] = [roomOf(path), roomOf(target)]
          return from !== to && rankOf(to) >= rankOf(from)
        })
        .map((target) => `${path} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it('reach the agents only from the place where everything is put together', () => {
    const wrong = [...runtime, ...filesIn(['merchant', 'console'], ['.ts', '.js'])].filter(
      (path) =>
        path !== 'runtime/models.ts' &&
        importsOf(path).some((target) => target.startsWith('agents/')),
    )
    expect(wrong).toEqual([])
  })

  it.each([
    ['agents', ['agents/', 'runtime/core/', 'runtime/client/']],
    ['merchant', ['merchant/', 'runtime/core/']],
    ['console', ['console/']],
    ['runtime', ['runtime/', 'agents/']],
  ])('of %s stay within %j', (folder, allowed) => {
    const wrong = filesIn([folder], ['.ts', '.js', '.mjs']).flatMap((path) =>
      importsOf(path)
        .filter((target) => /^\w+\/.*\.(ts|js|mjs)$/.test(target) || target.startsWith('..'))
        .filter((target) => !allowed.some((prefix) => target.startsWith(prefix)))
        .map((target) => `${path} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it('of the verifier are of Node alone, so that an auditor needs nothing else', () => {
    const foreign = importsOf('runtime/audit/verify.ts').filter((name) => !name.startsWith('node:'))
    expect(foreign).toEqual([])
  })
})

describe('sizes', () => {
  it(`keep a file within ${LONGEST_FILE} lines`, () => {
    const long = filesIn(PRODUCT, ['.ts', '.js', '.mjs'])
      .filter((path) => !/\/(catalogue|data)\//.test(path) && MAY_BE_LONG[path] === undefined)
      .map((path) => ({ path, lines: read(path).split('\n').length - 1 }))
      .filter(({ lines }) => lines > LONGEST_FILE)
    expect(long).toEqual([])
  })

  it(`keep a function within ${LONGEST_FUNCTION} lines`, async () => {
    expect(await longFunctions()).toEqual([])
  }, 60_000)
})

/** Biome's own count, by its parser: lines of a function without its comments. */
async function longFunctions(): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidy-'))
  const rule = { level: 'error', options: { maxLines: LONGEST_FUNCTION } }
  const config = {
    root: true,
    formatter: { enabled: false },
    assist: { enabled: false },
    linter: { rules: { preset: 'none', complexity: { noExcessiveLinesPerFunction: rule } } },
  }
  writeFileSync(join(folder, 'biome.json'), JSON.stringify(config))
  const biome = join(ROOT, 'node_modules/.bin/biome')
  const args = ['lint', `--config-path=${folder}`, '--reporter=json', '--max-diagnostics=none']
  const options = { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)(biome, [...args, ...PRODUCT], options).catch(
    (error: { stdout: string }) => error,
  )
  rmSync(folder, { recursive: true })
  const diagnostic = z.looseObject({
    category: z.string(),
    message: z.string(),
    location: z.looseObject({
      path: z.string(),
      start: z.looseObject({ line: z.number() }),
    }),
  })
  const report = z
    .looseObject({
      summary: z.looseObject({ unchanged: z.number() }),
      diagnostics: z.array(diagnostic),
    })
    .parse(JSON.parse(stdout))
  if (report.summary.unchanged < 20) throw new Error('expected the linter to read the product')
  return report.diagnostics
    .filter(({ category }) => category.endsWith('noExcessiveLinesPerFunction'))
    .map(({ location, message }) => `${location.path}:${location.start.line}: ${message}`)
}

describe('words', () => {
  it.each(BANNED.map((rule) => [rule.word.source, rule.instead, rule] as const))(
    'of the runtime have no %s: %s',
    (_word, _instead, { word, except = [] }) => {
      const found = filesIn(['runtime'], ['.ts', '.mjs'])
        .filter((path) => !except.includes(path))
        .flatMap((path) => linesWith(path, word))
      expect(found).toEqual([])
    },
  )

  it('silence no checker of types', () => {
    const silencer = /@ts-(ignore|nocheck|expect-error)/
    const files = filesIn([...PRODUCT, 'tests'], ['.ts', '.js', '.mjs'])
    const found = files.filter((path) => path !== 'tests/tidy.test.ts' && silencer.test(read(path)))
    expect(found).toEqual([])
  })

  it('draw no banner', () => {
    const banner = /^\s*(\/\/|\/?\*+)\s*([-=*#~─═]\s*){4,}/m
    const found = filesIn([...PRODUCT, 'tests'], ['.ts', '.js', '.mjs', '.css']).filter((path) =>
      banner.test(read(path)),
    )
    expect(found).toEqual([])
  })

  it('open every file of the runtime with what it is for', () => {
    const silent = filesIn(['runtime'], ['.ts']).filter(
      (path) =>
        !read(path)
          .replace(/^#!.*\n/, '')
          .startsWith('/**'),
    )
    expect(silent).toEqual([])
  })

  it('name no folder of anybody’s machine', () => {
    const machine = new RegExp(
      `(^|[\\s'"\`(=])/(${['work', 'home', 'root', 'Users'].join('|')})/\\w`,
    )
    const found = FILES.filter((path) => !/package-lock|\/vectors\//.test(path))
      .filter((path) => /\.(ts|js|mjs|json|md|css|html|sh)$|^\.ci\//.test(path))
      .filter((path) => machine.test(read(path)))
    expect(found).toEqual([])
  })
})

describe('the layout', () => {
  it('has at its top only what is named here', () => {
    const top = new Set(FILES.map((path) => path.split('/')[0] ?? ''))
    const strange = [...top].filter((name) => !name.startsWith('.') && !TOP.includes(name))
    expect(strange).toEqual([])
    for (const name of ['README.md', 'LICENSE', 'package.json', 'runtime', '.ci']) {
      expect([...top]).toContain(name)
    }
  })

  it('names source files in kebab-case and has no barrel', () => {
    const files = filesIn([...PRODUCT, 'tests'], ['.ts', '.js', '.mjs'])
    const odd = files.filter((path) => {
      const name = path.slice(path.lastIndexOf('/') + 1)
      return (
        !/^[a-z0-9]+(-[a-z0-9]+)*((\.long)?\.test)?\.(ts|js|mjs)$/.test(name) ||
        /^index\./.test(name)
      )
    })
    expect(odd).toEqual([])
  })
})

describe('decision records', () => {
  it('begin with the number of their file, no number twice, and keep to half a page', () => {
    const records = filesIn(['runtime/decisions'], ['.md'])
    const numbers = records.map((path) => /\/(\d{4})-[a-z0-9-]+\.md$/.exec(path)?.[1])
    expect(records).toContain('runtime/decisions/0014-late-money.md')
    expect(new Set(numbers).size).toBe(records.length)
    for (const [i, path] of records.entries()) {
      expect(read(path)).toMatch(new RegExp(`^# ${numbers[i]}: `))
      expect([path, read(path).split('\n').length <= 31]).toEqual([path, true])
    }
  })
})

describe('the README', () => {
  const readme = read('README.md')
  const code = (text: string) => `\`${text}\``

  it('lists the nine checks as the code has them', () => {
    const rows = tableRows(readme, ['#', 'check', 'refuses when'])
    expect(rows).toEqual(
      CHECKS.map(({ n, name, refusesWhen }) => [String(n), code(name), refusesWhen]),
    )
  })

  it('lists every code that an agent can be given, with its check and its advice', () => {
    const rows = tableRows(readme, ['code', 'check', 'advice', 'what it says'])
    expect(rows).toEqual(
      Object.entries(CODES).map(([name, { check, advice, message }]) => [
        code(name),
        code(check),
        code(advice),
        message,
      ]),
    )
  })

  it('says of every dependency what it is for, and of nothing else', () => {
    const rows = tableRows(readme, ['package', 'what for', 'why this one'])
    expect(rows.map(([name]) => name)).toEqual(Object.keys(manifest.dependencies).map(code))
    for (const row of rows) expect(row.filter((cell) => cell.length > 3)).toHaveLength(3)
  })

  it('says of every tool what it is for', () => {
    const rows = tableRows(readme, ['tool', 'what for'])
    const tools = [
      ...Object.keys(manifest.devDependencies),
      ...Object.keys(manifest.optionalDependencies),
    ]
    expect(rows.map(([name]) => name)).toEqual(tools.map(code))
  })

  it('names only scripts that exist, and names them all', () => {
    const named = [...readme.matchAll(/\bnpm (?:run (?:-s )?([\w:-]+)|(test|start)\b)/g)]
    const scripts = new Set(named.map((match) => match[1] ?? match[2] ?? ''))
    expect([...scripts].filter((name) => manifest.scripts[name] === undefined)).toEqual([])
    expect(Object.keys(manifest.scripts).filter((name) => !scripts.has(name))).toEqual([])
  })

  it('names the models and the budgets that a gateway has where nothing is said', () => {
    const rows = tableRows(readme, ['kind', 'credential', 'model, unless `"model"` names another'])
    const named = PROVIDERS.map((kind) => [kind, PROVIDER_KEYS[kind], MODELS[kind]].map(code))
    expect(rows).toEqual(named)
    const { run, node } = budgetsSchema.parse({ run: {}, node: {} })
    const said = (most: typeof run) => {
      const [calls, ...more] = [most.calls, most.tokens, most.costMicros].map((n) =>
        n.toLocaleString('en'),
      )
      return `${calls}, ${more.join(' and ')} for a`
    }
    const text = readme.replace(/\s+/g, ' ')
    expect(text).toContain(`${said(run)} run`)
    expect(text).toContain(`${said(node)} node`)
  })

  it('shows a configuration that the gateway accepts, without models and with', () => {
    const [shown = '', models = ''] = [...readme.matchAll(/```json\n([\s\S]*?)```/g)].map(
      (match) => match[1],
    )
    const key = 'A'.repeat(43)
    const filled = shown.replaceAll('"x": "…"', `"x": "${key}"`).replaceAll('"…"', '"k1"')
    expect(parseConfig(filled).gateway.id).toBe('headgate.acme')
    const withModels = parseConfig(filled.replace(/\}\s*$/, `, ${models}}`))
    expect(withModels.engine.kind).toBe('gemini')
  })

  it('names only files that exist', () => {
    const named = [
      ...readme.matchAll(
        /[`(]((?:runtime|agents|merchant|console|eval|tests|deploy)\/[\w./-]*)[`)]/g,
      ),
    ]
    const known = (path: string) =>
      FILES.some((file) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`))
    expect(named.map((match) => match[1] ?? '').filter((path) => !known(path))).toEqual([])
  })
})
