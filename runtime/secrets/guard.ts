/**
 * Notices a secret in text that is about to leave: as it is, in base64 at any alignment (so also within a Basic header
 * that joins two of them), in hexadecimal, percent-, JSON- or HTML-escaped, in full-width letters, and with whitespace,
 * invisible characters or punctuation between. It errs on the side of noticing. One pass over a text, however many
 * secrets there are: a window of eight characters is looked up in a table, and only a hit is compared.
 */
import type { TextGuard } from '../core/agents.ts'
import type { Secret } from './secret.ts'

/** Below this a match would be chance; above it, every secret of the catalogue lies. */
const LEAST = 8
/** Without punctuation fewer characters are left to tell by. */
const LEAST_BARE = 12

export interface SecretGuard extends TextGuard {
  /** From here on it is noticed; one that is shorter than 8 characters never is. */
  watch(...secrets: readonly Secret[]): void
  /** As `watch`, of bytes that are written as text in some way or other. */
  watchBytes(bytes: Uint8Array): void
}

export function createSecretGuard(): SecretGuard {
  const packed = createNeedles()
  const bare = createNeedles()
  const watchText = (text: string) => {
    if ([...text].length < LEAST) return
    packed.add(pack(text), LEAST)
    bare.add(strip(text), LEAST_BARE)
  }
  const watchBytes = (bytes: Uint8Array) => {
    for (const text of writtenIn(bytes)) watchText(text)
  }
  return {
    watch: (...secrets) => {
      for (const secret of secrets) {
        const value = secret.reveal()
        if ([...value].length < LEAST) continue
        watchText(value)
        watchBytes(Buffer.from(value, 'utf8'))
      }
    },
    watchBytes,
    holdsSecret: (text) => {
      if (packed.isEmpty()) return false
      return readings(text).some((each) => packed.isIn(pack(each)) || bare.isIn(strip(each)))
    },
  }
}

/** Hexadecimal, base64 at each of its three alignments without what neighbours would change, and bytes as characters. */
function writtenIn(bytes: Uint8Array): string[] {
  const plain = Buffer.from(bytes)
  const encoded = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), plain]).toString('base64')
    return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + plain.length) * 8) / 6))
  })
  const isText = plain.every((byte) => byte >= 0x20 && byte < 0x7f)
  return [plain.toString('hex'), ...encoded, ...(isText ? [] : [plain.toString('latin1')])]
}

/** Escapes of URLs, JSON, JavaScript and HTML. */
const ESCAPE =
  /%([0-9a-f]{2})|\\u([0-9a-f]{4})|\\u\{([0-9a-f]{1,6})\}|\\x([0-9a-f]{2})|&#x([0-9a-f]{1,6});|&#([0-9]{1,7});|&(amp|lt|gt|quot|apos);|\\(["\\/])/gi
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
/** Nobody escapes more often than this by mistake. */
const ROUNDS = 3

/** The text as it is and as it reads once its escapes are taken away, round by round. */
function readings(text: string): string[] {
  const all = [text]
  for (let round = 0; round < ROUNDS; round += 1) {
    const last = all.at(-1) ?? ''
    if (!/[%\\&]/.test(last)) break
    const next = last.replace(ESCAPE, unescaped)
    if (next === last) break
    all.push(next)
  }
  return all
}

function unescaped(match: string, ...groups: readonly unknown[]): string {
  const [percent, unicode, braced, byte, hex, decimal, named, plain] = groups
  if (typeof named === 'string') return NAMED[named.toLowerCase()] ?? match
  if (typeof plain === 'string') return plain
  const code =
    typeof decimal === 'string'
      ? Number.parseInt(decimal, 10)
      : Number.parseInt(String(percent ?? unicode ?? braced ?? byte ?? hex), 16)
  return code <= 0x10_ffff ? String.fromCodePoint(code) : match
}

/** Compared without case, width, whitespace and what cannot be seen; base64 of URLs as the other one. */
const pack = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s\p{C}\p{M}\p{DI}]+/gu, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')

/** Letters and digits alone. */
const strip = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')

const TABLE = 1 << 16
const FACTOR = 31
/** What the character that leaves the window has been multiplied by. */
const LEAVING = Array.from({ length: LEAST - 1 }).reduce<number>((by) => Math.imul(by, FACTOR), 1)

const placeOf = (hash: number): number => (hash ^ (hash >>> 16)) & (TABLE - 1)

function hashOf(text: string): number {
  let hash = 0
  for (let i = 0; i < LEAST; i += 1) hash = (Math.imul(hash, FACTOR) + text.charCodeAt(i)) | 0
  return hash
}

/** Texts to look for, found by the hash of their first characters (Rabin and Karp). */
function createNeedles() {
  const table = new Uint8Array(TABLE)
  const byHash = new Map<number, Set<string>>()
  const startsAt = (text: string, at: number, hash: number): boolean =>
    [...(byHash.get(hash) ?? [])].some((needle) => text.startsWith(needle, at))
  return {
    isEmpty: () => byHash.size === 0,
    add: (needle: string, least: number) => {
      if (needle.length < least) return
      const hash = hashOf(needle)
      table[placeOf(hash)] = 1
      byHash.set(hash, (byHash.get(hash) ?? new Set()).add(needle))
    },
    isIn: (text: string): boolean => {
      if (text.length < LEAST) return false
      let hash = hashOf(text)
      for (let at = 0; ; at += 1) {
        if (table[placeOf(hash)] === 1 && startsAt(text, at, hash)) return true
        if (at + LEAST >= text.length) return false
        hash = (hash - Math.imul(text.charCodeAt(at), LEAVING)) | 0
        hash = (Math.imul(hash, FACTOR) + text.charCodeAt(at + LEAST)) | 0
      }
    },
  }
}
