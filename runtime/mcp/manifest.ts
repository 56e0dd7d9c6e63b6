/**
 * Which tools a node has, and one digest over all that a model reads of them. Whoever trusted these tools once can pin the
 * digest: a description that changes afterwards, the oldest trick there is with tools, changes it.
 */
import type { NodeKind } from '../core/block.ts'
import { sha256 } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import type { ManifestNote, Tool } from './tool.ts'
import { about } from './tools/about.ts'
import { decide, pay, paymentStatus } from './tools/leaf.ts'
import { getQuote, readProduct, search } from './tools/looker.ts'
import { closeChild, delegate, payments } from './tools/planner.ts'

/** Raised with every change of a tool that a client could notice. */
export const TOOLS_VERSION = '1'

/** Every tool there is; `about` comes first, everywhere. */
export const TOOLS: readonly Tool[] = [
  about,
  search,
  readProduct,
  getQuote,
  decide,
  pay,
  paymentStatus,
  delegate,
  closeChild,
  payments,
]

/** What a node of this kind may call; `delegate` only where there is a place for children's secrets. */
export const toolsOf = (kind: NodeKind, canKeepChildren: boolean): readonly Tool[] =>
  TOOLS.filter(
    ({ kinds, needsChildren }) => kinds.includes(kind) && (canKeepChildren || !needsChildren),
  )

/** SHA-256 over the canonical JSON (RFC 8785) of the list exactly as `tools/list` gives it. */
export const manifestOf = (tools: readonly Tool[]): ManifestNote => ({
  version: TOOLS_VERSION,
  digest: sha256(canonicalJson(tools.map(({ listed }) => listed))),
  tools: tools.map(({ name }) => name),
})
