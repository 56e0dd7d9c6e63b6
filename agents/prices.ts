/**
 * What models cost. Providers change their prices; a configuration's `prices` go over these. Only models that were
 * looked up are here, and a model without a price is not asked: what it costs could not be bounded.
 */
import type { ModelUsage, Provider } from '../runtime/core/agents.ts'

export interface Price {
  /** Millionths of a US dollar for a million tokens. */
  readonly inputMicros: number
  readonly outputMicros: number
}

const price = (inputMicros: number, outputMicros: number): Price => ({ inputMicros, outputMicros })

/**
 * As of November 2026. Of a model whose price depends on the length of the question, the price of the longest; of one
 * that is cheaper for a time, the price after it; what is read again from a cache costs as much as anything else. So a
 * cost by this table is never less than the vendor's, as long as the table is not older than his page.
 */
const PRICES: { readonly [provider in Provider]: { readonly [model: string]: Price } } = {
  // https://ai.google.dev/gemini-api/docs/pricing, paid tier, text; output includes thoughts.
  gemini: {
    'gemini-3.8-flash': price(1_500_000, 7_500_000),
    'gemini-3.5-flash': price(1_500_000, 9_000_000),
    'gemini-3.5-flash-lite': price(300_000, 2_500_000),
    'gemini-3.1-pro-preview': price(4_000_000, 18_000_000),
    'gemini-2.5-pro': price(2_500_000, 15_000_000),
    'gemini-2.5-flash': price(300_000, 2_500_000),
    'gemini-2.5-flash-lite': price(100_000, 400_000),
  },
  // https://console.groq.com/docs/models, on demand; the two that take a strict schema.
  groq: {
    'openai/gpt-oss-120b': price(150_000, 600_000),
    'openai/gpt-oss-20b': price(75_000, 300_000),
  },
}

/** The price of a model, by the configuration or by our table; undefined where neither knows it. */
export function priceOf(
  provider: Provider,
  model: string,
  configured: Readonly<Record<string, Price>> = {},
): Price | undefined {
  if (Object.hasOwn(configured, model)) return configured[model]
  const known = PRICES[provider]
  return Object.hasOwn(known, model) ? known[model] : undefined
}

/** Tokens with their cost in millionths of a US dollar, rounded up. Counts are integers below 2^31. */
export function usageOf(price: Price, inputTokens: number, outputTokens: number): ModelUsage {
  const parts =
    BigInt(inputTokens) * BigInt(price.inputMicros) +
    BigInt(outputTokens) * BigInt(price.outputMicros)
  return { inputTokens, outputTokens, costMicros: Number((parts + 999_999n) / 1_000_000n) }
}
