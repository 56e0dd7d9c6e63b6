/** Every case, in the order of the layers; and those of the public list that this runner has nothing to try on. */
import type { AttackCase } from '../types.ts'
import { COLLECTED_CASES } from './agent/collected.ts'
import { FUNNEL_CASES } from './agent/funnel.ts'
import { LABEL_CASES } from './agent/labels.ts'
import { OUTSIDE_CASES } from './agent/outside.ts'
import { RULE_CASES } from './agent/rules.ts'
import { TOLD_CASES } from './agent/told.ts'
import { TOOL_CASES } from './agent/tools.ts'
import { REFUND_CASES } from './ledger/refunds.ts'
import { LEDGER_CASES } from './ledger/sums.ts'
import { LEGIT_CASES } from './legit/legit.ts'
import { MODEL_CASES } from './monitor/models.ts'
import { MONITOR_CASES } from './monitor/monitor.ts'
import { ACT_CASES } from './operator/acts.ts'
import { DOOR_CASES } from './operator/doors.ts'
import { RAIL_CASES } from './rail/rail.ts'
import { WEBHOOK_CASES } from './rail/webhooks.ts'
import { BODY_CASES } from './request/body.ts'
import { QUOTE_CASES } from './request/quote.ts'
import { VALUE_CASES } from './request/values.ts'
import { CHAIN_CASES } from './token/chain.ts'
import { DEPTH_CASES } from './token/depth.ts'
import { GRAMMAR_CASES } from './token/grammar.ts'
import { HOLDER_CASES } from './token/holder.ts'

export const CASES: readonly AttackCase[] = [
  ...CHAIN_CASES,
  ...GRAMMAR_CASES,
  ...HOLDER_CASES,
  ...DEPTH_CASES,
  ...BODY_CASES,
  ...VALUE_CASES,
  ...QUOTE_CASES,
  ...LEDGER_CASES,
  ...REFUND_CASES,
  ...OUTSIDE_CASES,
  ...RULE_CASES,
  ...FUNNEL_CASES,
  ...TOLD_CASES,
  ...LABEL_CASES,
  ...TOOL_CASES,
  ...COLLECTED_CASES,
  ...MONITOR_CASES,
  ...MODEL_CASES,
  ...DOOR_CASES,
  ...ACT_CASES,
  ...RAIL_CASES,
  ...WEBHOOK_CASES,
  ...LEGIT_CASES,
]
