/** What a case is given to work on: one composed gateway with everything outside of it real. */
import type { KeyObject } from 'node:crypto'
import type { WorldMerchant } from '../../../runtime/cli/world.ts'
import type { ConfigFile } from '../../../runtime/config.ts'
import type { TokenEngine } from '../../../runtime/core/engine.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import type { ModelStandIn } from '../../../tests/support/model-stand-in.ts'
import type { WorldName } from '../types.ts'
import type { BenchMonitor } from './bench-monitor.ts'
import type { Obedient } from './obedient.ts'
import type { RailDesk } from './rail-desk.ts'
import type { TalkingShops } from './talking-shops.ts'

/** A shop whose signing key is the runner's: its quotes can say anything, and the signature is always right. */
export interface Shop {
  readonly id: string
  readonly account: string
  readonly kid: string
  readonly key: KeyObject
}

export interface World {
  readonly name: WorldName
  /** Where the server listens: `http://127.0.0.1:PORT`. */
  readonly origin: string
  /** The gateway's public URL: what proofs are signed over. */
  readonly url: string
  readonly gatewayId: string
  readonly operatorToken: string
  /** As the operator would have written it to a file. */
  readonly configFile: ConfigFile
  readonly principal: { readonly id: string; readonly kid: string; readonly key: KeyObject }
  /** `shops[0]` is the usual payee, `shops[1]` another. Both are registered and on every default mandate. */
  readonly shops: readonly [Shop, Shop]
  /** Registered like the others, but on no default mandate. */
  readonly stranger: Shop
  /** The storefront's shops, honest and hostile. */
  readonly market: readonly WorldMerchant[]
  readonly desk: RailDesk
  readonly railKey: string
  /** Only where the rail sends whoever asks to another host: how often each was asked. */
  readonly astray?: { readonly asked: number; readonly elsewhere: number }
  /** Only where the rail sends messages: what it signs this body with. */
  readonly signature?: (body: string) => string
  /** Only in a world that has one. */
  readonly monitor?: BenchMonitor
  /** Only where agents obey what they read: they, and the shops that talk to them. */
  readonly talk?: { readonly shops: TalkingShops; readonly obedient: Obedient }
  /** Only where a model watches: the provider that answers for it. */
  readonly watcher?: ModelStandIn
  /**
   * Refusals by checks 1 and 2 so far, by code, as the gateway counts them: on the wire they are all one and the
   * same 401, and only this tells them apart.
   */
  readonly refusals: () => ReadonlyMap<string, number>
  /** What signs new runs now. */
  readonly root: { readonly id: number; readonly key: KeyObject }
  /** The store's own door, for a state that no request can bring about: a bug of ours, an edited store. */
  readonly ledger: Ledger
  readonly engine: TokenEngine
  /** Changes the store's file behind the gateway's back, as whoever owns the disk could. */
  readonly editStore: (sql: string, ...values: readonly (string | number)[]) => void
  /** What this gateway takes for now, in milliseconds. */
  readonly nowMs: () => number
  /**
   * The gateway is stopped, its operator replaces the root key by `headgate keys rotate`, and it is started again; the
   * old key is in force for this long.
   */
  readonly rotateRootKey: (graceSeconds: number) => Promise<void>
  /** Only in a world whose clock is ours. */
  readonly pushClock: (ms: number) => void
  /** A fresh one-time code, as `headgate login-code` prints it. */
  readonly newLoginCode: () => string
  /** Strings that may appear in no answer, event or log: keys, tokens, codes. */
  readonly secrets: readonly string[]
  /** What the server would have written to its operator's log. */
  readonly log: readonly string[]
  readonly close: () => Promise<void>
}
