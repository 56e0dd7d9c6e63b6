/**
 * HTML that is safe by how it is written: a template's own text is markup, every value put into it is escaped, and only
 * what another template made goes in as it is. Values belong between tags or in quoted attributes; addresses in `href`
 * are made of ids, never of somebody's text.
 */

/** Markup that a template made; nothing else can make one. */
export class Html {
  readonly #markup: string

  private constructor(markup: string) {
    this.#markup = markup
  }

  static from(parts: TemplateStringsArray, values: readonly HtmlValue[]): Html {
    const markup = parts.map((part, i) => part + safe(values[i]))
    return new Html(markup.join(''))
  }

  static markupOf(html: Html): string {
    return html.#markup
  }
}

export type HtmlValue = string | number | Html | readonly HtmlValue[] | undefined

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}

/** Controls, bidirectional overrides and invisible characters, but for the joiners that some scripts are written with. */
const ODD = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]/gu

/** An outsider's text as it is shown: what is invisible stands as a replacement character. */
const escaped = (text: string): string =>
  text.replace(ODD, '\ufffd').replace(/[&<>"'`]/g, (c) => ENTITIES[c] ?? '')

function safe(value: HtmlValue): string {
  if (value === undefined) return ''
  if (value instanceof Html) return Html.markupOf(value)
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value))
  return value.map(safe).join('')
}

export const html = (parts: TemplateStringsArray, ...values: HtmlValue[]): Html =>
  Html.from(parts, values)

/** The text of it. */
export const markupOf = (of: Html): string => Html.markupOf(of)
