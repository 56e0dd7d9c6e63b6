/** Check 1: one token, one proof and one body, each of the documented size and shape. */
import { deny } from '../../core/codes.ts'
import type { Attempt } from '../attempt.ts'
import type { Judgement } from '../facts.ts'

export function shape({ parsed }: Attempt): Judgement {
  return parsed.ok ? undefined : deny(parsed.code)
}
