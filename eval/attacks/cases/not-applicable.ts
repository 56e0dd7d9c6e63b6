/** Cases of the public list that are not tried here, each with the reason. Nothing stands here that could be tried. */
import { type Layer, layerOf } from '../types.ts'
import { UNCOLLECTED } from './agent/collected.ts'

export interface NotApplicable {
  readonly id: string
  readonly layer: Layer
  readonly reason: string
}

const REASONS: { readonly [reason: string]: string } = {
  'a payment has one field, so no fact can be stated twice; T10a, T10b, Q23 and Q31 try it': 'T10',
  'callers choose no idempotency key: it derives from leaf and quote; Q14a, Q16a bring one':
    'Q14 Q16',
  'a payment has no memo of the caller’s; Q30a brings some': 'Q30',
  'needs the gateway as a process that is killed and started again: tests/long': 'L07 L08 L20',
  'no amount below one minor unit can be stated; Q10 tries it': 'L16',
  'a run has one currency and converts nothing': 'L18',
  'a payout has no capture of its own; R13 is the rail that moves more': 'L19',
  'no rule knows categories of goods: a residual within the authority, bounded as in A32': 'A22',
  'needs a browser: tests/console': 'O10 O17',
  'the log is exported as lines of JSON and never as cells': 'O16',
  'the simulated rail has no test and live keys': 'R14',
  'nothing is sold for a proof of payment; Q17b is the same quote for another payment': 'R17',
  'true of every payment that goes through here': 'F16',
  ...UNCOLLECTED,
}

export const NOT_APPLICABLE: readonly NotApplicable[] = Object.entries(REASONS)
  .flatMap(([reason, ids]) => ids.split(' ').map((id) => ({ id, layer: layerOf(id), reason })))
  .sort((a, b) => (a.id < b.id ? -1 : 1))
