/**
 * What a description is worth to a model that must decide whether to call, five points a tool:
 * 1 effect: what happens, and whether money moves. 2 undoing: that nothing changes, what is irreversible, or what undoes it.
 * 3 calling again: whether a retry is safe. 4 result: every field that is always there, by name. 5 refusals: codes that
 * exist, by name, and that `unavailable` is none.
 */
import { CODES } from '../../runtime/core/codes.ts'
import type { Described, Tool } from '../../runtime/mcp/tool.ts'

export interface Scored {
  readonly points: number
  readonly missing: readonly string[]
}

/** Codes that the interface has beside those of checks. */
const OTHER_CODES = ['unauthenticated', 'not_found', 'unavailable', 'name_taken']

const named = (text: string): string[] =>
  [...text.matchAll(/`([a-zA-Z_.]+)`/g)].map(([, name = '']) => name)

type Judged = Pick<Tool, 'name' | 'listed'> & { readonly described: Described }

const RUBRIC: Readonly<Record<keyof Described, (tool: Judged) => boolean>> = {
  effect: ({ described: { effect }, listed: { annotations } }) =>
    effect.length >= 60 &&
    (annotations.readOnlyHint
      ? /^(Tells|Lists|Searches|Reads|Asks)/.test(effect)
      : /\b(moves?|spend|spent)\b/.test(effect)),
  undone: ({ described: { undone }, listed: { annotations } }) => {
    if (annotations.readOnlyHint) return /\bnothing\b/.test(undone)
    return annotations.destructiveHint ? /^irreversible\b/.test(undone) : /`[a-z_]+`/.test(undone)
  },
  again: ({ described: { again }, listed: { annotations } }) =>
    /\bsafe\b/.test(again) &&
    (annotations.readOnlyHint || /\bthe same\b/.test(again)) &&
    (annotations.idempotentHint || /\beach call\b/.test(again)),
  result: ({ described: { result }, listed: { outputSchema } }) => {
    const names = named(result).map((name) => name.split('.')[0])
    const always = Array.isArray(outputSchema.required) ? outputSchema.required : []
    const fields = Object.keys(Object(outputSchema.properties))
    return (
      always.every((field) => names.includes(field)) && names.some((n) => fields.includes(n ?? ''))
    )
  },
  refused: ({ described: { refused } }) => {
    const codes = named(refused).filter((name) => name in CODES || OTHER_CODES.includes(name))
    return new Set(codes).size >= 4 && codes.includes('unavailable') && /call again/.test(refused)
  },
}

export function score(tool: Judged): Scored {
  const missing = Object.entries(RUBRIC)
    .filter(
      ([part, holds]) => !holds(tool) || !tool.listed.description.includes(partOf(tool, part)),
    )
    .map(([part]) => part)
  return { points: 5 - missing.length, missing }
}

const partOf = ({ described }: Judged, part: string): string =>
  Object.entries(described).find(([name]) => name === part)?.[1] ?? ''
