/**
 * A tool as data: what a model reads of it, the schemas that its arguments and its result are held to, and what it asks
 * the gateway for. The table of tools is what `tools/list` answers, what the manifest's digest is over, and what calls go
 * through; nothing of it changes while a process lives.
 */
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { NodeKind } from '../core/block.ts'
import type { Clock } from '../core/time.ts'
import type { Calls } from './calls.ts'
import type { Children } from './children.ts'
import { type Failure, failureOf, isUnexpected, malformed, unavailable } from './failure.ts'
import type { InOrder } from './lanes.ts'

/** The parts of a description, in the order in which they are told; a test scores each. */
export interface Described {
  /** What happens. */
  readonly effect: string
  /** What of it cannot be undone, or that nothing changes. */
  readonly undone: string
  /** What the same call again does. */
  readonly again: string
  /** The fields of the result. */
  readonly result: string
  /** Which refusals there are, by code. */
  readonly refused: string
}

/** What a call may use. */
export interface ToolContext {
  readonly calls: Calls
  readonly clock: Clock
  /** Which node's tools these are, and their digest. */
  readonly manifest: ManifestNote
  /** Acts once whatever this caller asked for before, and that changes something, has ended. */
  readonly inOrder: InOrder
  /** Makes children whose secrets stay here; absent where nobody could keep them. */
  readonly children?: Children | undefined
}

export interface ManifestNote {
  readonly version: string
  readonly digest: string
  readonly tools: readonly string[]
}

/** What a tool found; `links` are resources that a client may read again. */
export interface Found<T> {
  readonly found: T
  readonly links?: readonly { readonly uri: string; readonly name: string }[]
}

export type Outcome<T> = Found<T> | Failure

interface ToolSpec<I extends z.ZodType, O extends z.ZodType> {
  readonly name: string
  readonly title: string
  readonly kinds: readonly NodeKind[]
  readonly described: Described
  readonly input: I
  readonly output: O
  readonly annotations: Required<Omit<ToolAnnotations, 'title'>>
  /** Whether it needs a folder for children's secrets. */
  readonly needsChildren?: boolean
  readonly run: (input: z.output<I>, context: ToolContext) => Promise<Outcome<z.input<O>>>
}

/** As `tools/list` tells it. */
export interface ListedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema: JsonSchema
  readonly annotations: ToolAnnotations
}

export type JsonSchema = { readonly type: 'object'; readonly [key: string]: unknown }

/** A tool whose types have been put away; arguments and results are held to its own schemas. */
export interface Tool {
  readonly name: string
  readonly kinds: readonly NodeKind[]
  readonly described: Described
  readonly listed: ListedTool
  readonly needsChildren: boolean
  /** Never throws; `onBug` is told of what should not have been thrown. */
  readonly call: (
    given: unknown,
    context: ToolContext,
    onBug: (error: unknown) => void,
  ) => Promise<CallToolResult>
}

export function tool<I extends z.ZodType, O extends z.ZodType>(spec: ToolSpec<I, O>): Tool {
  const { name, title, kinds, described, annotations, input, output } = spec
  return {
    name,
    kinds,
    described,
    needsChildren: spec.needsChildren ?? false,
    listed: {
      name,
      title,
      description: descriptionOf(described),
      inputSchema: jsonSchema(input, 'input'),
      outputSchema: jsonSchema(output, 'output'),
      annotations: { title, ...annotations },
    },
    call: async (given, context, onBug) => {
      const parsed = input.safeParse(given ?? {})
      if (!parsed.success) return failed(malformed(fieldOf(parsed.error, input)))
      try {
        const act = () => spec.run(parsed.data, context)
        const outcome = await (annotations.readOnlyHint ? act() : context.inOrder(act))
        if ('error' in outcome) return failed(outcome)
        const checked = output.safeParse(outcome.found)
        if (checked.success) return succeeded(checked.data, outcome.links ?? [])
        onBug(new TypeError(`a result of ${name} is not what its schema says`))
        return failed(unavailable())
      } catch (error) {
        if (isUnexpected(error)) onBug(error)
        return failed(failureOf(error))
      }
    },
  }
}

/** One paragraph a part: models read the beginning best, and people find a part by its word. */
export const descriptionOf = ({ effect, undone, again, result, refused }: Described): string =>
  [
    effect,
    `Undoing: ${undone}`,
    `Calling again: ${again}`,
    `Result: ${result}`,
    `Refusals: ${refused}`,
  ].join('\n')

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    target: 'draft-2020-12',
  })
  return { ...rest, type: 'object' }
}

/** The first argument that is not what the schema says, if it is one that the schema names. */
function fieldOf(error: z.ZodError, schema: z.ZodType): string | undefined {
  const first = error.issues[0]?.path[0]
  const names = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
  return names.find((name) => name === first)
}

/** Old clients read the text, which is the same document. */
const text = (value: unknown) => ({ type: 'text' as const, text: JSON.stringify(value) })

const succeeded = (
  value: unknown,
  links: NonNullable<Found<unknown>['links']>,
): CallToolResult => ({
  content: [
    text(value),
    ...links.map((link) => ({
      type: 'resource_link' as const,
      mimeType: 'application/json',
      ...link,
    })),
  ],
  structuredContent: Object(value),
})

const failed = (failure: Failure): CallToolResult => ({
  content: [text(failure)],
  structuredContent: failure,
  isError: true,
})
