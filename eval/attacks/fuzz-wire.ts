/** What the gateway's process and the fuzzer's tell each other. The keys are made for one world and die with it. */
import type { PrivateJwk } from '../../runtime/core/keys.ts'
import type { Arm, Shot } from './fuzz-shots.ts'

export type SentArm = Omit<Arm, 'holder'> & { readonly key: PrivateJwk }

/** An honest request that must succeed among all that must not. */
export interface Control {
  readonly arm: SentArm
  readonly path: string
  readonly body: unknown
}

export interface Order {
  readonly origin: string
  readonly url: string
  readonly seed: number
  readonly requests: number
  readonly planners: readonly SentArm[]
  readonly arms: readonly SentArm[]
  readonly nodesPath: string
  readonly child: SentArm
  readonly controls: readonly Control[]
}

/** A hostile request that was not refused; whole, so that it can be sent again. */
export interface Failure extends Shot {
  readonly index: number
  readonly status: number
}

export interface Report {
  done: number
  readonly statuses: Record<number, number>
  readonly kinds: Record<string, number>
  controlsOk: number
  readonly failures: Failure[]
  readonly ended: boolean
}
