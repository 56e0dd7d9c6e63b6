/** What the commands of this folder have in common: what they take for a mistake of the caller, and how they say so. */

/** A call that cannot be understood. Its message is followed by how the command is used. */
export class UsageError extends Error {}

export function wholeNumber(text: string, name: string): number {
  const value = Number(text)
  if (!/^[0-9]{1,9}$/.test(text) || value < 1)
    throw new UsageError(`--${name} takes a whole number from 1 on`)
  return value
}

interface Complaint {
  /** Of the command, as after `npm run`. */
  readonly name: string
  readonly usage: string
  readonly err: (text: string) => void
}

/** Says why a command could not do what it was asked; the exit code is 2 for a mistake of the caller, otherwise 1. */
export function complain(error: unknown, { name, usage, err }: Complaint): number {
  const isUsage =
    error instanceof UsageError ||
    (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE'))
  const message = error instanceof Error ? error.message : 'failed'
  err(isUsage ? `${name}: ${message}\n\n${usage}` : `${name}: ${message}\n`)
  return isUsage ? 2 : 1
}
