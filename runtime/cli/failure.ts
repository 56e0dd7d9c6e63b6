/** Why a command ended: one sentence for a person, and an exit code that a script can tell apart by cause. */

/** Exit codes of the command line. 0 is success; 1 means that it ran and the answer is no. */
export const EXIT = {
  ok: 0,
  no: 1,
  usage: 2,
  config: 3,
  dataFolder: 4,
  storeNewer: 5,
  dataInUse: 6,
  portTaken: 7,
  unreachable: 8,
  notAllowed: 9,
  notFound: 10,
  refused: 11,
  unavailable: 12,
  internal: 13,
  // 14 is start.mjs: Node is too old.
  passphrase: 15,
  secretsFile: 16,
  secretsNewer: 17,
  /** What was played again went otherwise than it was recorded. */
  replayDiffers: 19,
  /** A receipt that does not hold, and one that holds and is about something else than was asked. */
  receiptFalse: 20,
  receiptOther: 21,
  /** The rail's list is not what the ledger says. */
  differs: 18,
  interrupted: 130,
} as const

export type ExitName = keyof typeof EXIT

/** An expected end of a command. The message is one sentence and holds no secret. */
export class Failure extends Error {
  readonly exit: ExitName

  constructor(exit: ExitName, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.name = 'Failure'
    this.exit = exit
  }
}
