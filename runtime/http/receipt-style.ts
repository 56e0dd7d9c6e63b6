/**
 * The look of a receipt's page: one sheet inside the page, so that a page that was saved or sent on looks as it did. The
 * page's policy admits exactly this text by its hash, and no script, image, font or frame at all.
 */
import { hash } from 'node:crypto'
import { html, markupOf } from '../core/html.ts'

export const STYLE = html`
:root {
  color-scheme: light dark;
  --page: light-dark(#eef1f4, #0e1116);
  --paper: light-dark(#ffffff, #171c23);
  --text: light-dark(#16191d, #e8ecf1);
  --muted: light-dark(#525b66, #a3adb9);
  --line: light-dark(#d8dde3, #2b323c);
  --good: light-dark(#2f5d96, #81cffc);
  --back: light-dark(#80041a, #ff9a9c);
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
}
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; padding: 1rem; background: var(--page); color: var(--text); }
main {
  max-width: 42rem; margin: 1rem auto; padding: 1.5rem;
  background: var(--paper); border: 1px solid var(--line); border-radius: 10px;
}
h1, h2, p, dl, dd, ul, ol, pre { margin: 0; padding: 0; }
ul, ol { list-style: none; }
header { padding-bottom: 1.25rem; border-bottom: 1px solid var(--line); }
h1 { font-size: 1rem; font-weight: 600; color: var(--muted); }
.amount { font-size: 2.1rem; line-height: 1.2; font-weight: 650; margin-block: 0.35rem; font-variant-numeric: tabular-nums; }
.whom { font-size: 1.1rem; overflow-wrap: anywhere; }
.state { display: inline-block; margin-top: 0.75rem; padding: 0.1rem 0.6rem; border: 1px solid currentcolor; border-radius: 999px; color: var(--good); font-weight: 600; font-size: 0.9rem; }
.state.back { color: var(--back); }
h2 { font-size: 1rem; font-weight: 650; margin-block: 1.75rem 0.6rem; }
dl { display: grid; grid-template-columns: 10rem minmax(0, 1fr); gap: 0.45rem 1rem; }
header + dl { margin-top: 1.25rem; }
dt { color: var(--muted); }
dd { overflow-wrap: anywhere; }
code, pre, .id { font-family: var(--mono); font-size: 0.875rem; }
.id { overflow-wrap: anywhere; }
pre { padding: 0.75rem; margin-block: 0.6rem; border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; }
.checks { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 0.3rem 1rem; }
.checks li { display: flex; gap: 0.5rem; align-items: baseline; }
.checks b { color: var(--good); font-weight: 700; }
.checks span span, .note { color: var(--muted); font-size: 0.875rem; }
.note { margin-top: 0.5rem; }
.returns li { display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; padding-block: 0.35rem; border-top: 1px solid var(--line); }
.returns li:first-child { border-top: 0; }
.returns b { font-variant-numeric: tabular-nums; }
.links { display: flex; flex-wrap: wrap; gap: 0.5rem 1.25rem; margin-top: 0.75rem; }
a { color: var(--good); text-underline-offset: 0.2em; }
a:focus-visible { outline: 2px solid currentcolor; outline-offset: 2px; border-radius: 3px; }
@media (max-width: 34rem) {
  body { padding: 0; background: var(--paper); }
  main { margin: 0; padding: 1.25rem; border: 0; border-radius: 0; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: 0.7rem; }
  .links a { padding-block: 0.35rem; }
}
@page { margin: 18mm; }
@media print {
  :root { color-scheme: light; font-size: 10.5pt; }
  body { padding: 0; background: none; }
  main { max-width: none; margin: 0; padding: 0; border: 0; }
  h2 { margin-block: 1rem 0.4rem; break-after: avoid; }
  section { break-inside: avoid; }
  .links { display: none; }
}
`

/** The Content-Security-Policy of these pages. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', markupOf(STYLE), 'base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join(';')
