/** Faults that a test asks of the double: answers and requests of commits that are lost, once, and calls that are slow. */
import type { FirestoreDouble } from './double.ts'
import { Refusal, STATUS } from './refusal.ts'

/** What a client may be told about a commit that did happen. */
export const LOST_ANSWERS = {
  UNAVAILABLE: STATUS.UNAVAILABLE,
  UNKNOWN: STATUS.UNKNOWN,
  DEADLINE_EXCEEDED: STATUS.DEADLINE_EXCEEDED,
  INTERNAL: STATUS.INTERNAL,
  CANCELLED: STATUS.CANCELLED,
  ABORTED: STATUS.ABORTED,
  RESOURCE_EXHAUSTED: STATUS.RESOURCE_EXHAUSTED,
  UNAUTHENTICATED: STATUS.UNAUTHENTICATED,
  ALREADY_EXISTS: STATUS.ALREADY_EXISTS,
  FAILED_PRECONDITION: STATUS.FAILED_PRECONDITION,
  PERMISSION_DENIED: STATUS.PERMISSION_DENIED,
} as const

interface Loss {
  readonly code: number
  /** Done after the commit and before its client hears of it. */
  readonly meanwhile?: () => Promise<unknown>
}

/** Whether a commit is a command's, and not one that gives events their places. */
const isCommand = (request: { writes?: readonly { update?: { name: string } }[] }): boolean =>
  request.writes?.some(({ update }) => update?.name.includes('/feeds/')) === false

/** Loses the answer to the next command that commits; says whether it has. */
export function loseAnswer(double: FirestoreDouble, { code, meanwhile }: Loss): () => boolean {
  let isLost = false
  double.after = async (method, request) => {
    if (isLost || method !== 'Commit' || !isCommand(request)) return
    isLost = true
    await meanwhile?.()
    throw new Refusal(code, 'the answer is lost')
  }
  return () => isLost
}

/** Loses the next command on its way: nothing has happened. */
export function loseRequest(double: FirestoreDouble, code: number): () => boolean {
  let isLost = false
  double.before = (method, request) => {
    if (isLost || method !== 'Commit' || !isCommand(request)) return
    isLost = true
    throw new Refusal(code, 'the request is lost')
  }
  return () => isLost
}

/** Every call takes so long. */
export function slow(double: FirestoreDouble, ms: number): void {
  double.before = () => new Promise((resolve) => setTimeout(resolve, ms))
}
