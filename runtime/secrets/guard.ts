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
  const packed = createNeedles(PACKED, LEAST)
  const bare = createNeedles(BARE, LEAST_BARE)
  const watchText = (text: string) => {
    packed.add(text)
    bare.add(text)
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
      return readings(text).some((each) => {
        const reading = plain(each)
        return packed.isIn(reading) || bare.isIn(reading)
      })
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

/** Of characters beyond ASCII the letters and digits alone, in their plainest form: nothing invisible, no width, no accent. */
const plain = (text: string): string =>
  text.replace(/\P{ASCII}+/gu, (run) =>
    run
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{ASCII}]|\p{DI}/gu, ''),
  )

/** What each character of ASCII is compared as; 0 is passed over. */
type Folding = Uint8Array
const folding = (of: (character: string) => string): Folding =>
  Uint8Array.from({ length: 128 }, (_, code) => of(String.fromCharCode(code)).charCodeAt(0) || 0)

/** Without case and whitespace; base64 of URLs as the other one. */
const PACKED = folding((c) =>
  c
    .toLowerCase()
    .replace(/[\s\p{C}]/u, '')
    .replace('-', '+')
    .replace('_', '/'),
)
/** Letters and digits alone. */
const BARE = folding((c) => c.toLowerCase().replace(/[^a-z0-9]/, ''))

/** Codes of UTF-16 that are compared. */
function fold(text: string, by: Folding): Uint16Array {
  const codes = new Uint16Array(text.length)
  let length = 0
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    const folded = code < 128 ? (by[code] ?? 0) : code
    if (folded !== 0) {
      codes[length] = folded
      length += 1
    }
  }
  return codes.subarray(0, length)
}

const TABLE = 1 << 16
const FACTOR = 31
/** What the code that leaves the window has been multiplied by. */
const LEAVING = Array.from({ length: LEAST - 1 }).reduce<number>((by) => Math.imul(by, FACTOR), 1)

const placeOf = (hash: number): number => (hash ^ (hash >>> 16)) & (TABLE - 1)

function hashOf(codes: Uint16Array): number {
  let hash = 0
  for (let i = 0; i < LEAST; i += 1) hash = (Math.imul(hash, FACTOR) + (codes[i] ?? 0)) | 0
  return hash
}

/** Texts to look for, found by the hash of their first codes (Rabin and Karp). */
function createNeedles(by: Folding, least: number) {
  const table = new Uint8Array(TABLE)
  const byHash = new Map<number, Uint16Array[]>()
  const standsAt = (codes: Uint16Array, at: number, hash: number): boolean =>
    (byHash.get(hash) ?? []).some((needle) => needle.every((code, i) => codes[at + i] === code))
  return {
    isEmpty: () => byHash.size === 0,
    add: (text: string) => {
      const needle = fold(plain(text), by)
      if (needle.length < least) return
      const hash = hashOf(needle)
      table[placeOf(hash)] = 1
      byHash.set(hash, [...(byHash.get(hash) ?? []), needle])
    },
    /** Takes a text that is `plain`. */
    isIn: (text: string): boolean => {
      const codes = fold(text, by)
      if (codes.length < LEAST) return false
      let hash = hashOf(codes)
      for (let at = 0; ; at += 1) {
        if (table[placeOf(hash)] === 1 && standsAt(codes, at, hash)) return true
        if (at + LEAST >= codes.length) return false
        hash = (hash - Math.imul(codes[at] ?? 0, LEAVING)) | 0
        hash = (Math.imul(hash, FACTOR) + (codes[at + LEAST] ?? 0)) | 0
      }
    },
  }
}
