/**
 * Who is an operator: the bearer of the operator token, or of a session that a one-time login code opened. The
 * server keeps only hashes of secrets, compares them in constant time, and gives a page nothing but an opaque
 * cookie. An agent's credential is never one of these.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { sha256 } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import { type Clock, later, nowSeconds, type Seconds } from '../core/time.ts'

/** An authenticated operator. `name` goes into records; it holds no secret. */
export interface Operator {
  readonly kind: 'token' | 'session'
  readonly name: string
  /** False once the session has ended; asked again at each heartbeat of a stream. */
  isStillIn(): boolean
}

export interface LoginCode {
  readonly code: string
  readonly expiresAtSeconds: Seconds
}

interface Session {
  readonly name: string
  readonly startedAtSeconds: Seconds
  seenAtSeconds: Seconds
}

export interface Operators {
  /** A fresh code, good for one login. */
  newLoginCode(): LoginCode
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

export function createOperators(options: { token: string; clock: Clock }): Operators {
  const { token, clock } = options
  const codes = new Map<string, Seconds>()
  const sessions = new Map<string, Session>()
  let wrong: Seconds[] = []

  const dropOldest = (map: Map<string, unknown>, most: number) => {
    for (const key of map.keys()) {
      if (map.size < most) return
      map.delete(key)
    }
  }

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
    isStillIn: () => live(key) !== undefined,
  })

  return {
    newLoginCode: () => {
      const now = nowSeconds(clock)
      for (const [key, expires] of codes) if (expires < now) codes.delete(key)
      dropOldest(codes, OPEN_CODES)
      const code = randomCode()
      const expiresAtSeconds = later(now, LIMITS.loginCodeSeconds)
      codes.set(sha256(normalCode(code)), expiresAtSeconds)
      return { code, expiresAtSeconds }
    },
    login: (code) => {
      const now = nowSeconds(clock)
      wrong = wrong.filter((at) => at + 60 > now)
      const key = sha256(normalCode(code))
      const expires = codes.get(key)
      codes.delete(key)
      if (expires === undefined || expires < now) {
        if (wrong.length >= WRONG_PER_MINUTE) return 'throttled'
        wrong.push(now)
        return 'no'
      }
      dropOldest(sessions, SESSIONS)
      const secret = randomBytes(32).toString('base64url')
      const sessionKey = sha256(secret)
      const session: Session = {
        name: `session:${randomBytes(6).toString('base64url')}`,
        startedAtSeconds: now,
        seenAtSeconds: now,
      }
      sessions.set(sessionKey, session)
      return { secret, operator: asOperator(sessionKey, session) }
    },
    logout: (secret) => {
      sessions.delete(sha256(secret))
    },
    byToken: (given) =>
      sameSecret(given, token)
        ? { kind: 'token', name: 'token', isStillIn: () => true }
        : undefined,
    byCookie: (secret) => {
      const key = sha256(secret)
      const session = live(key)
      if (session === undefined) return undefined
      session.seenAtSeconds = nowSeconds(clock)
      return asOperator(key, session)
    },
  }
}
