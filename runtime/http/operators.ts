/**
 * Who is an operator: the bearer of the operator token or of a named operator's own, or of a session that a one-time
 * login code opened, which is whose the code was. The server keeps only hashes of secrets, compares them in constant
 * time, and gives a page nothing but an opaque cookie. An agent's credential is never one of these.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type Digest, sha256 } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import { type Clock, later, nowSeconds, type Seconds } from '../core/time.ts'

/** An authenticated operator. `name` goes into records; it holds no secret. */
export interface Operator {
  readonly kind: 'token' | 'session'
  readonly name: string
  /** Which person: absent where the token is the data folder's, because that says only that somebody may read it. */
  readonly person?: string
  /** False once the session has ended; asked again at each heartbeat of a stream. */
  isStillIn(): boolean
}

export interface LoginCode {
  readonly code: string
  readonly expiresAtSeconds: Seconds
}

/** A person with a token of their own, of which only the digest is known here. */
export interface NamedOperator {
  readonly id: string
  /** SHA-256 of the token, base64url. */
  readonly tokenDigest: Digest
}

interface Code {
  readonly expiresAtSeconds: Seconds
  readonly person?: string
}

interface Session {
  readonly name: string
  readonly person?: string
  readonly startedAtSeconds: Seconds
  seenAtSeconds: Seconds
}

export interface Operators {
  /** A fresh code, good for one login, as the person if one is named. */
  newLoginCode(person?: string): LoginCode
  /**
   * Spends a code. The secret is for the cookie; `throttled` for a wrong code when too many were wrong lately. A right
   * one always opens: 60 random bits are beyond guessing, and whoever could shut the door for others by
   * guessing would keep a person from the console, and so from the stops in it.
   */
  login(code: string): { readonly secret: string; readonly operator: Operator } | 'no' | 'throttled'
  logout(secret: string): void
  byToken(token: string): Operator | undefined
  /** Counts as activity of the session. */
  byCookie(secret: string): Operator | undefined
}

/** Crockford's base 32: no letter that can be read as another. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE_CHARS = 12
const OPEN_CODES = 16
const SESSIONS = 64
const WRONG_PER_MINUTE = 20
/** However busy, a session ends after this long and a person shows up again. */
const SESSION_SECONDS = 12 * 3600

const sameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)))

function randomCode(): string {
  const letters = [...randomBytes(CODE_CHARS)].map((byte) => ALPHABET[byte % 32]).join('')
  return letters.replace(/(.{4})(?=.)/g, '$1-')
}

const normalCode = (text: string): string =>
  text.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')

function dropOldest(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size < most) return
    map.delete(key)
  }
}

const byPerson = (person: string | undefined) => (person === undefined ? {} : { person })

export function createOperators(options: {
  token: string
  named?: readonly NamedOperator[]
  clock: Clock
}): Operators {
  const { token, named = [], clock } = options
  const codes = new Map<string, Code>()
  const sessions = new Map<string, Session>()
  let wrong: Seconds[] = []

  const live = (key: string): Session | undefined => {
    const session = sessions.get(key)
    if (session === undefined) return undefined
    const now = nowSeconds(clock)
    const ended =
      now > later(session.seenAtSeconds, LIMITS.sessionIdleSeconds) ||
      now > later(session.startedAtSeconds, SESSION_SECONDS)
    if (!ended) return session
    sessions.delete(key)
    return undefined
  }

  const asOperator = (key: string, session: Session): Operator => ({
    kind: 'session',
    name: session.name,
    ...byPerson(session.person),
    isStillIn: () => live(key) !== undefined,
  })

  return {
    newLoginCode: (person) => {
      const now = nowSeconds(clock)
      for (const [key, { expiresAtSeconds }] of codes) {
        if (expiresAtSeconds < now) codes.delete(key)
      }
      dropOldest(codes, OPEN_CODES)
      const code = randomCode()
      const expiresAtSeconds = later(now, LIMITS.loginCodeSeconds)
      codes.set(sha256(normalCode(code)), { expiresAtSeconds, ...byPerson(person) })
      return { code, expiresAtSeconds }
    },
    login: (code) => {
      const now = nowSeconds(clock)
      wrong = wrong.filter((at) => at + 60 > now)
      const key = sha256(normalCode(code))
      const spent = codes.get(key)
      codes.delete(key)
      if (spent === undefined || spent.expiresAtSeconds < now) {
        if (wrong.length >= WRONG_PER_MINUTE) return 'throttled'
        wrong.push(now)
        return 'no'
      }
      dropOldest(sessions, SESSIONS)
      const secret = randomBytes(32).toString('base64url')
      const sessionKey = sha256(secret)
      const id = `session:${randomBytes(6).toString('base64url')}`
      const session: Session = {
        name: spent.person === undefined ? id : `${spent.person}:${id}`,
        ...byPerson(spent.person),
        startedAtSeconds: now,
        seenAtSeconds: now,
      }
      sessions.set(sessionKey, session)
      return { secret, operator: asOperator(sessionKey, session) }
    },
    logout: (secret) => {
      sessions.delete(sha256(secret))
    },
    byToken: (given) => {
      const kind = 'token' as const
      const isStillIn = () => true
      if (sameSecret(given, token)) return { kind, name: 'token', isStillIn }
      const digest = sha256(given)
      const found = named.find(({ tokenDigest }) => sameSecret(tokenDigest, digest))
      return found && { kind, name: found.id, person: found.id, isStillIn }
    },
    byCookie: (secret) => {
      const key = sha256(secret)
      const session = live(key)
      if (session === undefined) return undefined
      session.seenAtSeconds = nowSeconds(clock)
      return asOperator(key, session)
    },
  }
}
