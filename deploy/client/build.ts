/**
 * The client as a package of its own: plain JavaScript with types, for agents that live outside this repository. It is
 * written to `dist/client`, or to the folder that `--out` names.
 *
 *     npm run build:client
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'

const HERE = import.meta.dirname
const ROOT = join(HERE, '../..')

const manifestSchema = z.looseObject({
  version: z.string(),
  license: z.string(),
  dependencies: z.looseObject({ jose: z.string(), zod: z.string() }),
})

/** What a user of the package imports, all from its one entry. */
const ENTRY = [
  ['client/client', 'createClient'],
  ['client/errors', 'ClientError'],
  ['client/mint', 'mintChild, readToken'],
  ['client/node', 'HeldNode, openNode, retrying'],
  ['client/proof-fetch', 'proofFetch'],
  ['core/clock', 'systemClock'],
  ['core/errors', 'Rejected'],
] as const

const TYPES = [
  ['client/client', 'Client, ClientOptions, Fetch, FetchAnswer'],
  ['client/mint', 'Holder'],
  ['client/node', 'ChildWish, NodeOptions'],
  ['client/proof-fetch', 'ProofFetchOptions'],
  ['client/watch', 'WatchOptions'],
  ['core/block', 'BlockClaims, NodeKind'],
  ['core/codes', 'Advice'],
  ['core/time', 'Clock'],
  ['core/wire', 'OwnNode, OwnPayment, PaymentAnswer, PaymentStatus, RunDetail'],
] as const

const exported = (keyword: string, lists: readonly (readonly [string, string])[]): string =>
  lists.map(([file, names]) => `${keyword} { ${names} } from './lib/${file}.js'\n`).join('')

function compile(lib: string): void {
  rmSync(lib, { recursive: true, force: true })
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const args = [tsc, '-p', join(HERE, 'tsconfig.json'), '--outDir', lib]
  execFileSync(process.execPath, args, { stdio: 'inherit' })
  // The compiler rewrites imports in code alone; in types they would name files that are not there.
  for (const file of globSync(join(lib, '**/*.d.ts'))) {
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(/(['"])(\.{1,2}\/[\w./-]+)\.ts\1/g, '$1$2.js$1'))
  }
}

function writePackage(out: string): void {
  const read = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const { version, license, dependencies } = manifestSchema.parse(read)
  const { jose, zod } = dependencies
  const manifest = {
    name: 'headgate-client',
    version,
    description:
      'What an agent needs to use a Headgate gateway: search, quote, pay, delegate, watch.',
    license,
    type: 'module',
    private: true,
    sideEffects: false,
    // `hash` of node:crypto is that old.
    engines: { node: '>=20.12' },
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
    types: './index.d.ts',
    files: ['index.js', 'index.d.ts', 'lib'],
    dependencies: { jose, zod },
    peerDependencies: { '@types/node': '>=20' },
    peerDependenciesMeta: { '@types/node': { optional: true } },
  }
  writeFileSync(join(out, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  writeFileSync(join(out, 'index.js'), exported('export', ENTRY))
  const types = exported('export', ENTRY) + exported('export type', TYPES)
  writeFileSync(join(out, 'index.d.ts'), types)
  copyFileSync(join(HERE, 'README.md'), join(out, 'README.md'))
  copyFileSync(join(ROOT, 'LICENSE'), join(out, 'LICENSE'))
}

const { values } = parseArgs({ options: { out: { type: 'string' } } })
const out = values.out ?? join(ROOT, 'dist/client')
mkdirSync(out, { recursive: true })
compile(join(out, 'lib'))
writePackage(out)
process.stdout.write(`${out}\n`)
