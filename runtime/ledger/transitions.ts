/**
 * The ledger's rules, for every store: one pure transition per command, from documents to changes or a refusal.
 * They read no clock, do no input or output, and hold nothing between two commands. What must hold after each:
 *
 * - `ceiling = available + reserved + spent + allotted` at every node, and `allotted` is the sum of the children's
 *   ceilings. Money moves only inside one account or between a node and its parent.
 * - A step that is recorded already is found first and answered without a change.
 * - Every change of money appends the event that states the balances it leaves, and no event is appended to an account
 *   that differs from its last one.
 *
 * A store loads what a transition yields, in one transaction, and commits the draft's writes and events together.
 */
import type { OrganisationId } from '../core/ids.ts'
import type { Hearing } from '../core/inbox.ts'
import type { CommandName, Commands } from '../core/ledger.ts'
import { askAuthorisation, authorised, draw, moveAuthorisation } from './authorisations.ts'
import { complete } from './completing.ts'
import { decided } from './decisions.ts'
import { Draft, type Load, runSteps, type Steps } from './draft.ts'
import { erase, eraseParts } from './erasure.ts'
import { decideHold, refuse } from './holds.ts'
import { hear, heard, takeMessage, withHearing } from './inbox.ts'
import { markUnknown, release, settle } from './outcomes.ts'
import { acknowledge, outside, walked } from './outside.ts'
import { reserve, submit } from './payments.ts'
import { refund, refunded, refundFailed, refundUnknown } from './refunds.ts'
import { resolve } from './resolve.ts'
import { regain, reverse } from './reversals.ts'
import { createRun, finishRun, haltRun, note, saveStep } from './runs.ts'
import { close, setStanding, split } from './tree.ts'
import { lease, leaseRun, markOverdue } from './waiting.ts'

export type Transitions = {
  readonly [K in CommandName]: (
    input: Commands[K]['input'],
    draft: Draft,
  ) => Steps<Commands[K]['result']>
}

export const TRANSITIONS: Transitions = {
  createRun,
  split,
  reserve,
  submit,
  settle,
  release,
  markUnknown,
  lease,
  markOverdue,
  resolve,
  reverse,
  regain,
  refund,
  refunded,
  refundFailed,
  refundUnknown,
  refuse,
  decided,
  decideHold,
  setStanding,
  close,
  note,
  saveStep,
  haltRun,
  leaseRun,
  finishRun,
  eraseParts,
  erase,
  complete,
  askAuthorisation,
  authorised,
  draw,
  moveAuthorisation,
  hear,
  takeMessage,
  heard,
  outside,
  acknowledge,
  walked,
}

/** What a store runs of one command: its transition, and the end of the message that it names. */
export const stepsOf = <K extends CommandName>(
  transitions: Transitions,
  name: K,
  input: Commands[K]['input'] & Hearing,
  draft: Draft,
): Steps<Commands[K]['result']> => withHearing<K>(transitions[name](input, draft), input, draft)

export interface Decision<K extends CommandName> {
  readonly result: Commands[K]['result']
  /** Absent when there is nothing to commit: a refusal, or a step that was recorded before. */
  readonly draft?: Draft
}

/** Decides one command against a store that loads at once; the caller commits `draft` atomically. */
export function decide<K extends CommandName>(
  name: K,
  input: Commands[K]['input'],
  {
    organisation,
    load,
    transitions = TRANSITIONS,
  }: {
    readonly organisation: OrganisationId
    readonly load: Load
    readonly transitions?: Transitions
  },
): Decision<K> {
  const draft = new Draft(organisation, input.now)
  const result = runSteps(stepsOf(transitions, name, input, draft), draft, load)
  return result.ok && draft.isDirty ? { result, draft } : { result }
}
