/** Strangers' words, cut to size. */

/** The first `max` UTF-16 units of a text, never half a character. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text
  const short = text.slice(0, max)
  return short.isWellFormed() ? short : short.slice(0, -1)
}
