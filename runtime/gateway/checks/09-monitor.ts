/** Check 9: the monitor, where there is one, does not object; where it gave no usable answer, a person decides. */
import { deny, hold } from '../../core/codes.ts'
import type { Attempt } from '../attempt.ts'
import type { Facts, Judgement } from '../facts.ts'

export function monitor({ operation }: Attempt, { monitor: answer, approved }: Facts): Judgement {
  if (operation !== 'pay' || answer === 'none') return 'not-applicable'
  switch (answer?.kind) {
    case 'allow':
      return undefined
    case 'object':
      return deny('monitor_objects', answer.concerns?.join('+') || undefined)
    case 'unavailable':
    case undefined:
      return approved === true ? undefined : hold('monitor_unavailable', answer?.why)
  }
}
