/** Hostile texts that others collected, where they lie beside this repository: instructions hidden in what an agent reads. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './source.ts'

const FOLDER = join(ROOT, '../shared/data/corpora')

export const hasCorpora = existsSync(FOLDER)

export const NO_CORPORA = 'the corpora of injected instructions are not beside this repository'

const textOf = (...path: readonly string[]): string => readFileSync(join(FOLDER, ...path), 'utf8')
const jsonOf = (...path: readonly string[]): unknown => JSON.parse(textOf(...path))

/** Every string below a value. */
function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(strings)
}

/** Values of one name, wherever they stand. */
function named(value: unknown, name: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === name && typeof inner === 'string' ? [inner] : named(inner, name),
  )
}

/** Money-related instructions, alone and as a tool would have answered with them (InjecAgent). */
const injecAgent = (): string[] => {
  const cases = jsonOf('injecagent', 'money_subset.json')
  return [...named(cases, 'Attacker Instruction'), ...named(cases, 'Tool Response')]
}

/** Goals of an attacker at a bank, each in every wrapping that is known (AgentDojo). */
function agentDojo(): string[] {
  const goals = named(jsonOf('agentdojo-banking', 'injection_tasks.json'), 'goal')
  const wrappings = strings(jsonOf('agentdojo-banking', 'attack_templates.json')).filter((text) =>
    text.includes('{goal}'),
  )
  return goals.flatMap((goal) => [goal, ...wrappings.map((text) => text.replace('{goal}', goal))])
}

/** Whole documents of manipulated businesses (Magentic Marketplace). */
function magentic(): string[] {
  const folder = join('magentic-manipulation', 'malicious_description')
  return readdirSync(join(FOLDER, folder)).flatMap((kind) =>
    readdirSync(join(FOLDER, folder, kind, 'businesses')).map((file) =>
      textOf(folder, kind, 'businesses', file),
    ),
  )
}

/** By corpus, each text once; nothing where they are absent. */
export const corpora = (): Readonly<Record<string, readonly string[]>> =>
  hasCorpora
    ? {
        'InjecAgent, money': [...new Set(injecAgent())],
        'AgentDojo, banking': [...new Set(agentDojo())],
        'Magentic Marketplace': [...new Set(magentic())],
      }
    : {}
