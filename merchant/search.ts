/** Text search in one shop: words of title, category and description, rarer words count more, ties by SKU. */
import type { Product } from './catalogue.ts'

export interface SearchIndex {
  /** Best first; the same text always gives the same order. */
  search(text: string, limit: number): readonly Product[]
}

const STOP_WORDS = new Set(
  'a an and any are as at be by for from in is it of on or our pack per that the their them to we with you'.split(
    ' ',
  ),
)

const FIELDS = [
  { of: (product: Product) => product.title, weight: 8, names: true },
  { of: (product: Product) => product.category, weight: 6, names: true },
  { of: (product: Product) => product.description, weight: 2, names: false },
]

interface Weighed {
  readonly product: Product
  /** By stem: a word in a short title or category says more than one in a long text. */
  readonly weights: ReadonlyMap<string, number>
  /** Stems of title and category: what the product is called, not what is said about it. */
  readonly names: ReadonlySet<string>
}

/** What people call things beside what the shops call them. */
const SAME_AS: readonly (readonly [string, string])[] = [
  ['screen', 'monitor'],
  ['display', 'monitor'],
  ['mover', 'move'],
  ['relocation', 'move'],
  ['cleaner', 'clean'],
  ['carton', 'box'],
  ['lead', 'cable'],
  ['cord', 'cable'],
  ['seat', 'chair'],
  ['notepad', 'notebook'],
  ['notepad', 'pad'],
  ['fridge', 'refrigerator'],
  ['present', 'gift'],
  ['cup', 'mug'],
]

/** Plural and a few endings off, so that `boxes` finds `box` and `cleaning` finds `clean`. */
function stem(word: string): string {
  let root = word
  if (/[^aeiou]ies$/.test(root) && root.length > 4) root = `${root.slice(0, -3)}y`
  else if (/(?:[sxz]|ch|sh)es$/.test(root) && root.length > 4) root = root.slice(0, -2)
  else if (/[^suiae]s$|[ae]s$/.test(root) && root.length > 3) root = root.slice(0, -1)
  if (/ing$/.test(root) && root.length > 5) {
    root = root.slice(0, -3).replace(/([bdgmnprt])\1$/, '$1')
  }
  return root.length > 3 ? root.replace(/e$/, '') : root
}

/** The stems of a text in order. Invisible characters are taken out first: they would hide words. */
export function stemsOf(text: string): string[] {
  const visible = text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  const words = visible.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return words.filter((word) => !STOP_WORDS.has(word)).map(stem)
}

const SYNONYMS = new Map<string, readonly string[]>()
for (const [a, b] of SAME_AS.map(([x, y]) => [stem(x), stem(y)] as const)) {
  SYNONYMS.set(a, [...(SYNONYMS.get(a) ?? []), b])
  SYNONYMS.set(b, [...(SYNONYMS.get(b) ?? []), a])
}

function weigh(product: Product): Weighed {
  const weights = new Map<string, number>()
  const names = new Set<string>()
  for (const field of FIELDS) {
    const stems = stemsOf(field.of(product))
    for (const word of new Set(stems)) {
      weights.set(word, (weights.get(word) ?? 0) + field.weight / Math.sqrt(stems.length))
      if (field.names) names.add(word)
    }
  }
  return { product, weights, names }
}

/** One word that was asked for, with what else it is called. */
interface Term {
  readonly words: readonly { readonly word: string; readonly factor: number }[]
}

/** Another name counts a little less than the word itself. */
const SYNONYM_FACTOR = 0.8

function termsOf(text: string, entries: readonly Weighed[]): readonly Term[] {
  const rarity = (word: string): number => {
    const holders = entries.filter(({ weights }) => weights.has(word)).length
    return Math.log(1 + entries.length / (1 + holders))
  }
  return [...new Set(stemsOf(text))].map((word) => {
    const others = SYNONYMS.get(word) ?? []
    const named = others.map((other) => ({ word: other, factor: rarity(other) * SYNONYM_FACTOR }))
    return { words: [{ word, factor: rarity(word) }, ...named] }
  })
}

/** 0 unless a term names the product: a description alone, which may say anything, finds nothing. */
function scoreOf(terms: readonly Term[], { weights, names }: Weighed): number {
  let sum = 0
  let matched = 0
  let isNamed = false
  for (const { words } of terms) {
    const best = Math.max(...words.map(({ word, factor }) => (weights.get(word) ?? 0) * factor))
    sum += best
    if (best > 0) matched += 1
    isNamed ||= words.some(({ word }) => names.has(word))
  }
  // Rounded so that no order rests on the last bits of a float.
  return isNamed ? Math.round((1_000 * sum * matched) / terms.length) : 0
}

/** Results weaker than this part of the best one are noise. */
const WEAKEST = 0.2

export function createIndex(products: readonly Product[]): SearchIndex {
  const entries = products.map(weigh)
  return {
    search(text, limit) {
      const terms = termsOf(text, entries)
      if (terms.length === 0) return []
      const found = entries
        .map((entry) => ({ product: entry.product, score: scoreOf(terms, entry) }))
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score || (a.product.sku < b.product.sku ? -1 : 1))
      const weakest = (found[0]?.score ?? 0) * WEAKEST
      return found
        .filter(({ score }) => score >= weakest)
        .slice(0, limit)
        .map(({ product }) => product)
    },
  }
}
