/**
 * What is kept of a rail's own words: messages that it sent, money that moved without us, and how far its list of what
 * moved was read. Ids and states only, never a body: what a message is about is asked of the rail again.
 */
import type { OutsideId, PaymentId } from './ids.ts'
import type { Result } from './ledger.ts'
import type { RailObject } from './rail.ts'
import type { PaymentRecord } from './records.ts'
import type { Seconds } from './time.ts'

/** A message is one by the rail and the rail's own id of it, however often it comes. */
export interface MessageKey {
  readonly rail: string
  readonly id: string
}

export interface MessageRecord extends MessageKey {
  readonly name: string
  /** What `RailEvents.fetch` takes; absent where the message concerns nothing that moves. */
  readonly ref?: string
  /** `done` is final. */
  readonly state: 'parked' | 'done'
  readonly heardAtSeconds: Seconds
  /** While parked: nobody takes it up before. */
  readonly dueAtSeconds: Seconds
  /** How often it was taken up, and the mark of whoever did so last. */
  readonly attempts: number
  readonly taken?: string
  /** The alarm about a message that stays parked: raised once, by one attempt. */
  readonly stuck?: { readonly atSeconds: Seconds; readonly attempt: string }
  readonly doneAtSeconds?: Seconds
}

/** On any command: this message is `done` in the same transaction, or neither happens. `not_found` without one. */
export interface Hearing {
  readonly heard?: MessageKey
}

/** Writes a message down, parked. One that is there stays as it is. */
export interface Hear extends MessageKey {
  readonly name: string
  readonly ref?: string
  readonly now: Seconds
}

/** Takes a parked message up: until its next time nobody else does. Each time it waits twice as long. */
export interface TakeMessage extends MessageKey {
  /** This call's own mark. */
  readonly attempt: string
  readonly now: Seconds
}

/** Money that moved on the account without any payment or refund of ours, or after we had given it up. */
export interface OutsideRecord {
  readonly id: OutsideId
  readonly rail: string
  /** The rail's own id of what moved. */
  readonly object: string
  readonly type: RailObject['type']
  readonly direction: RailObject['direction']
  readonly amount: number
  /** ISO 4217, also one that no payment of ours has. */
  readonly currency: string
  readonly status: string
  /** When it moved, by the rail; and when we first heard of it. */
  readonly atSeconds: Seconds
  readonly heardAtSeconds: Seconds
  /** A payment of ours that had been released when the rail settled it after all. */
  readonly payment?: PaymentId
  readonly acknowledged?: {
    readonly by: string
    readonly evidence: string
    readonly salt: string
    readonly atSeconds: Seconds
  }
}

/** Once for each id: whatever else is said of it later changes nothing. */
export interface NoteOutside {
  readonly outside: OutsideRecord
  readonly now: Seconds
}

/** A person's word that this is known: ends the alarm. */
export interface Acknowledge {
  readonly outside: OutsideId
  readonly evidence: string
  readonly by: string
  /** This call's own mark, and the salt of the evidence's digest. */
  readonly attempt: string
  readonly now: Seconds
}

/** How far the rail's list of what moved was compared with ours. */
export interface WalkRecord {
  readonly rail: string
  readonly untilSeconds: Seconds
}

export interface Walked extends WalkRecord {
  readonly now: Seconds
}

/** By what a rail may mean a payment: a key of ours, of itself or of a refund of it; or the rail's own id of one of these. */
export type RailName = { readonly key: string } | { readonly reference: string }

/** What the ledger is told of the rail's word; part of `Commands`. */
export interface InboxCommands {
  /** `fresh` is false for a message that was there before. */
  hear: { input: Hear; result: Result<{ message: MessageRecord; fresh: boolean }> }
  /** `conflict` where it is done or not due yet; `raised` for the call that raised the alarm about it. */
  takeMessage: { input: TakeMessage; result: Result<{ message: MessageRecord; raised: boolean }> }
  /** For a message that changes nothing else. */
  heard: { input: Required<Hearing> & { now: Seconds }; result: Result<object> }
  outside: { input: NoteOutside; result: Result<{ outside: OutsideRecord; noted: boolean }> }
  /** `conflict` where somebody has acknowledged it before. */
  acknowledge: { input: Acknowledge; result: Result<{ outside: OutsideRecord }> }
  /** Only ever further. */
  walked: { input: Walked; result: Result<{ walk: WalkRecord }> }
}

/** What the ledger answers of it; part of `Ledger`. */
export interface InboxReads {
  /** Whose name at the rail this is; undefined also where a rail gives one name to several. */
  paymentNamed(name: RailName): Promise<PaymentRecord | undefined>
  message(key: MessageKey): Promise<MessageRecord | undefined>
  /** Parked ones, those first that are due first. */
  parked(limit: number): Promise<readonly MessageRecord[]>
  outside(id: OutsideId): Promise<OutsideRecord | undefined>
  /** What nobody has acknowledged yet, heard of first. */
  unacknowledged(limit: number): Promise<readonly OutsideRecord[]>
  walk(rail: string): Promise<WalkRecord | undefined>
}
