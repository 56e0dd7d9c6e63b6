import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { modelsText } from '../../runtime/cli/tree.ts'
import { CURRENCIES, formatMoney } from '../../runtime/core/money.ts'
import type { ModelUseView, NodeView } from '../../runtime/core/wire.ts'
import { FAR, HOSTILE, nodes } from '../support/console-data.ts'
import { CONSOLE_DIR } from '../support/console-stub.ts'

interface Text {
  money(amount: number, currency: string): string
  plain(text: string, cap?: number): string
  oneLine(text: string): string
  duration(seconds: number): string
  modelsUsed(used: ModelUseView): string
}

interface Item {
  readonly node: NodeView
  readonly level: number
  readonly sums: Record<'spent' | 'reserved' | 'available' | 'ceiling', number>
  readonly held: number
  readonly state: { readonly state: string; readonly word: string }
}

interface TreeModel {
  buildTree(
    nodes: readonly NodeView[],
    held: ReadonlySet<string>,
    nowSeconds: number,
  ): { items: ReadonlyMap<string, Item>; roots: readonly Item[] }
  openAtFirst(roots: readonly Item[]): ReadonlySet<string>
}

// Plain JavaScript, checked by its own configuration below: its types are said here once more.
const text = (await import(join(CONSOLE_DIR, 'text.js'))) as Text
const model = (await import(join(CONSOLE_DIR, 'tree-model.js'))) as TreeModel

const tree = (list = nodes(), held: string[] = [], now = FAR - 1_000) =>
  model.buildTree(list, new Set(held), now)

const sumsOf = (id: string) => tree().items.get(id)?.sums

describe('text of the console', () => {
  it('formats money exactly as the command line does, for every currency', () => {
    for (const currency of CURRENCIES) {
      for (const amount of [0, 1, 9, 10, 99, 100, 999, 1_000, 123_456_789, 2 ** 53 - 1]) {
        expect(text.money(amount, currency)).toBe(formatMoney(amount, currency))
      }
    }
  })

  it('says what models used as the command line does', () => {
    for (const costMicros of [0, 1, 999_999, 1_000_000, 12_345_678]) {
      const used = { calls: 1, inputTokens: 33_000, outputTokens: 1_000, costMicros }
      const view = { ...used, unanswered: 2, fallbacks: 0, byModel: {} }
      expect(text.modelsUsed(view)).toBe(modelsText(view))
    }
  })

  it('makes one line of many for a title, and hides nothing else that is odd', () => {
    expect(text.oneLine('Buy:\n\n- a desk \r\n- a chair\n')).toBe('Buy: - a desk - a chair')
    expect(text.plain(text.oneLine('a\n\u202Eb'))).toBe('a [U+202E]b')
  })

  it('guesses no decimal places for a currency that it does not know', () => {
    expect(text.money(1_234, 'XTS')).toBe('XTS 1234 minor units')
  })

  it.each([
    ['bidi override', 'a\u202Eb', 'a[U+202E]b'],
    ['bidi isolate', 'a\u2066b', 'a[U+2066]b'],
    ['zero-width space', 'a\u200Bb', 'a[U+200B]b'],
    ['soft hyphen', 'a\u00ADb', 'a[U+00AD]b'],
    ['newline', 'a\nb', 'a[U+000A]b'],
    ['escape', 'a\u001B[31mb', 'a[U+001B][31mb'],
    ['tag character', 'a\u{E0041}b', 'a[U+E0041]b'],
    ['variation selector', 'a\uFE0Fb', 'a[U+FE0F]b'],
    ['blank Hangul filler', 'a\u3164b', 'a[U+3164]b'],
    ['blank Braille', 'a\u2800b', 'a[U+2800]b'],
    ['lone surrogate', 'a\uD800b', 'a[U+D800]b'],
    ['private use', 'a\uE000b', 'a[U+E000]b'],
    ['combining grapheme joiner', 'a\u034Fb', 'a[U+034F]b'],
    ['a fourth mark on one letter', 'a\u0301\u0301\u0301\u0301b', 'a\u0301\u0301\u0301[U+0301]b'],
  ])('makes a %s visible', (_name, given, shown) => {
    expect(text.plain(given)).toBe(shown)
  })

  it.each(['Büromaterial', 'कागज़', '紙とインク', 'قلم', '🖨 printer', '<b>&amp;</b>'])(
    'leaves ordinary words as they are: %s',
    (words) => {
      expect(text.plain(words)).toBe(words)
    },
  )

  it('keeps as many characters as the cap and counts the rest', () => {
    expect(text.plain('x'.repeat(10), 10)).toBe('x'.repeat(10))
    expect(text.plain('x'.repeat(11), 10)).toBe(`${'x'.repeat(10)}[… and 1 more]`)
    expect(text.plain(HOSTILE.repeat(99)).length).toBeLessThan(600)
  })

  it('never says a negative duration', () => {
    expect(text.duration(-5)).toBe('0 s')
    expect(text.duration(245.9)).toBe('4 min 05 s')
  })
})

describe('the tree of the console', () => {
  it('adds a branch up to the ceiling of its top, at every node', () => {
    for (const { node, sums } of tree().items.values()) {
      expect(sums.spent + sums.reserved + sums.available).toBe(node.ceiling)
    }
    expect(sumsOf('nd_paper')).toEqual({
      spent: 80_000,
      reserved: 30_000,
      available: 90_000,
      ceiling: 200_000,
    })
  })

  it('counts what is held below a node', () => {
    const { items } = tree(nodes(), ['nd_leaf4', 'nd_leaf3'])
    expect(items.get('nd_root')?.held).toBe(2)
    expect(items.get('nd_ink')?.held).toBe(1)
    expect(items.get('nd_chairs')?.held).toBe(0)
  })

  it('tells what stops a node before what it waits for', () => {
    const held = ['nd_leaf4', 'nd_leaf5']
    const word = (id: string, now?: number) => tree(nodes(), held, now).items.get(id)?.state.word
    expect(word('nd_leaf4')).toBe('held')
    expect(word('nd_leaf5')).toBe('frozen above')
    expect(word('nd_leaf1')).toBe('closed')
    expect(word('nd_leaf2', FAR)).toBe('expired')
    expect(word('nd_leaf2', FAR - 1)).toBe('live')
  })

  it('opens a large tree only as far as it can be read, and the way to what is held', () => {
    const [root] = nodes()
    if (root === undefined) throw new Error('expected a root')
    const child = (id: string, parent: string): NodeView => ({
      ...root,
      id: `nd_${id}`,
      parent: `nd_${parent}`,
    })
    const branches = Array.from({ length: 100 }, (_, i) => child(`b${i}`, 'root'))
    const leaves = branches.flatMap((_, i) =>
      Array.from({ length: 40 }, (_unused, j) => child(`b${i}.${j}`, `b${i}`)),
    )
    const { roots } = tree([root, ...branches, ...leaves], ['nd_b7.3'])
    expect([...model.openAtFirst(roots)]).toEqual(['nd_root', 'nd_b7', 'nd_b7.3'])
  })
})

describe('the console’s own types', () => {
  it('check against the shapes on the wire', async () => {
    const bin = join(import.meta.dirname, '../../node_modules/.bin/tsc')
    const config = join(CONSOLE_DIR, 'jsconfig.json')
    const { stdout } = await promisify(execFile)(bin, ['-p', config]).catch((error) => error)
    expect(stdout).toBe('')
  })
})
