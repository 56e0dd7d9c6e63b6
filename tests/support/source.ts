/** The project's own files, as the tidy test reads them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

/** Not ours, or made by running: never judged. `*.x` is an ending, `/x` lies at the top, `x/` anywhere. */
const SKIPPED = ['.git', ...readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n')]
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.replace(/\/$/, ''))

const isSkipped = (path: string, name: string): boolean =>
  SKIPPED.some((pattern) =>
    pattern.startsWith('*')
      ? name.endsWith(pattern.slice(1))
      : [name, `/${path}`].includes(pattern),
  )

function walk(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (isSkipped(path, entry.name)) return []
    return entry.isDirectory() ? walk(path) : [path]
  })
}

/** Every file, as a path from the root with forward slashes. */
export const FILES: readonly string[] = walk('').sort()

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Files below any of the folders with one of the endings. */
export const filesIn = (folders: readonly string[], endings: readonly string[]): string[] =>
  FILES.filter(
    (path) =>
      folders.some((folder) => path.startsWith(`${folder}/`)) &&
      endings.some((ending) => path.endsWith(ending)),
  )

/** The source with its comments blanked, line by line, so that line numbers stay true. */
export const withoutComments = (source: string): string =>
  source
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|[\s;{}(,])\/\/[^\n]*/g, '$1')

const SPECIFIER =
  /(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'|\bnew URL\(\s*'(\.[^']+)'\s*,\s*import\.meta\.url/g

/** What a file imports: paths from the root for its own project, names for everything else. */
export function importsOf(path: string, source = read(path)): string[] {
  return [...withoutComments(source).matchAll(SPECIFIER)].map((match) => {
    const specifier = match[1] ?? match[2] ?? ''
    if (!specifier.startsWith('.')) return specifier
    return posix.normalize(posix.join(posix.dirname(path), specifier))
  })
}

/** `path:line: text` of every line that the pattern matches, comments left out. */
export const linesWith = (path: string, pattern: RegExp): string[] =>
  withoutComments(read(path))
    .split('\n')
    .flatMap((line, index) =>
      pattern.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 80)}`] : [],
    )

/** Rows of the Markdown table whose header row holds these cells; empty when there is none. */
export function tableRows(markdown: string, header: readonly string[]): string[][] {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => cell.trim())
  const lines = markdown.split('\n')
  const start = lines.findIndex(
    (line) => line.startsWith('|') && cells(line).join('|') === header.join('|'),
  )
  if (start < 0) return []
  const rows = lines.slice(start + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end < 0 ? undefined : end).map(cells)
}
