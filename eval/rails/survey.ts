/**
 * Uses each rail's adapter once for everything, and says of each endpoint who calls it, whether what was sent is sound, and
 * whether what is unsound would have been refused.
 */
import type { Survey } from './endpoints.ts'
import { surveyPaypal } from './paypal.ts'
import { surveyRazorpay } from './razorpay.ts'

export async function survey(): Promise<Survey> {
  const parts = [await surveyRazorpay(), await surveyPaypal()]
  return {
    endpoints: parts.flatMap(({ endpoints }) => endpoints),
    notReached: parts.flatMap(({ notReached }) => notReached),
    problems: parts.flatMap(({ problems }) => problems),
  }
}
