/**
 * What the tools ask a gateway for. The process behind stdio answers with `createClient`; the service answers by its own
 * doors, with the caller's one proof. Either keeps token and key to itself: a tool sees questions and answers only.
 */
import type { Client } from '../client/client.ts'
import type { NodeId, RunId } from '../core/ids.ts'

/** Every call throws ClientError for anything but the answer that it names. */
export interface Calls
  extends Pick<
    Client,
    'ownNode' | 'search' | 'product' | 'quote' | 'pay' | 'decide' | 'closeNode'
  > {
  /** The node whose token this is, and its run, as the token itself says. */
  readonly node: NodeId
  readonly run: RunId
}
