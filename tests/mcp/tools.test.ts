import { describe, expect, it } from 'vitest'
import { ClientError } from '../../runtime/client/errors.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { canonicalJson } from '../../runtime/core/json.ts'
import type { InOrder } from '../../runtime/mcp/lanes.ts'
import { manifestOf, TOOLS, toolsOf } from '../../runtime/mcp/manifest.ts'
import { type Described, descriptionOf, type Tool } from '../../runtime/mcp/tool.ts'
import { score } from './rubric.ts'

const NAMES = TOOLS.map(({ name }) => name)
const toolNamed = (name: string): Tool => {
  const found = TOOLS.find((each) => each.name === name)
  if (found === undefined) throw new Error(`no tool ${name}`)
  return found
}

describe('descriptions', () => {
  it.each(NAMES)('of %s has all five points of the rubric', (name) => {
    expect(score(toolNamed(name))).toEqual({ points: 5, missing: [] })
  })

  it.each(['effect', 'undone', 'again', 'result', 'refused'] as const)(
    'loses a point of the rubric without its %s',
    (part) => {
      for (const tool of TOOLS) {
        const described: Described = { ...tool.described, [part]: 'Does things.' }
        const listed = { ...tool.listed, description: descriptionOf(described) }
        expect([tool.name, score({ ...tool, described, listed }).missing]).toEqual([
          tool.name,
          [part],
        ])
      }
    },
  )

  it.each(NAMES)('of %s is short enough to be read, and every argument has its own', (name) => {
    const { listed } = toolNamed(name)
    expect(listed.description.length).toBeLessThan(2_000)
    for (const [argument, schema] of Object.entries(Object(listed.inputSchema.properties))) {
      expect([argument, typeof Object(schema).description]).toEqual([argument, 'string'])
    }
  })
})

describe('schemas', () => {
  it.each(NAMES)('of %s are closed on both sides', (name) => {
    const { inputSchema, outputSchema } = toolNamed(name).listed
    expect([inputSchema.type, inputSchema.additionalProperties]).toEqual(['object', false])
    expect([outputSchema.type, outputSchema.additionalProperties]).toEqual(['object', false])
  })

  it('name tools in snake_case, and annotate each with all four hints', () => {
    for (const { name, listed } of TOOLS) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/)
      const { title, ...hints } = listed.annotations
      expect(title).toBe(listed.title)
      expect(Object.values(hints).map((hint) => typeof hint)).toEqual(Array(4).fill('boolean'))
    }
  })

  it('call destructive what spends or closes for good, and nothing else', () => {
    const destructive = TOOLS.filter(({ listed }) => listed.annotations.destructiveHint)
    expect(destructive.map(({ name }) => name)).toEqual(['pay', 'close_child'])
    const changing = TOOLS.filter(({ listed }) => !listed.annotations.readOnlyHint)
    expect(changing.map(({ name }) => name)).toEqual(['pay', 'delegate', 'close_child'])
  })
})

describe('a call', () => {
  it('of what changes something takes its turn, and of what only reads does not', async () => {
    const args: Readonly<Record<string, object>> = {
      search: { text: 'lamp' },
      read_product: { merchant: 'shop', sku: 'lamp' },
      get_quote: { merchant: 'shop', lines: [{ sku: 'lamp', quantity: 1 }] },
      pay: { quote: 'a.b.c' },
      decide: { quote: 'a.b.c' },
      delegate: { name: 'look', kind: 'looker' },
      close_child: { node: 'nd_child' },
    }
    const gone = async () => {
      throw new ClientError('gone', { status: 0, code: 'unreachable' })
    }
    const calls = {
      node: 'nd_own',
      run: 'run_own',
      ownNode: gone,
      search: gone,
      product: gone,
      quote: gone,
      pay: gone,
      decide: gone,
      closeNode: gone,
    } as const
    const inTurn: string[] = []
    for (const tool of TOOLS) {
      const inOrder: InOrder = (act) => {
        inTurn.push(tool.name)
        return act()
      }
      const context = { calls, clock: { nowMs: () => 0 }, inOrder, manifest: manifestOf(TOOLS) }
      const result = await tool.call(args[tool.name], context, () => undefined)
      expect([tool.name, result.isError]).toEqual([tool.name, true])
    }
    expect(inTurn).toEqual(['pay', 'delegate', 'close_child'])
  })
})

describe('the tools of a node', () => {
  it('are those of its kind, `about` first, and no child is made where nobody keeps its key', () => {
    const of = (...args: Parameters<typeof toolsOf>) => toolsOf(...args).map(({ name }) => name)
    expect(of('looker', false)).toEqual(['about', 'search', 'read_product', 'get_quote'])
    expect(of('leaf', true)).toEqual(['about', 'decide', 'pay', 'payment_status'])
    expect(of('planner', false)).toEqual(['about', 'close_child', 'payments'])
    expect(of('planner', true)).toEqual(['about', 'delegate', 'close_child', 'payments'])
  })

  it('have one digest that anybody can recompute from tools/list, and any change of a word changes it', () => {
    const tools = toolsOf('leaf', false)
    const { digest } = manifestOf(tools)
    expect(digest).toBe(sha256(canonicalJson(tools.map(({ listed }) => listed))))
    const changed = tools.map((tool, i) => {
      const description = `${tool.listed.description} `
      return i === 0 ? { ...tool, listed: { ...tool.listed, description } } : tool
    })
    expect(manifestOf(changed).digest).not.toBe(digest)
  })
})
