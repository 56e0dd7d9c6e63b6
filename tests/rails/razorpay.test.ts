import { impatientFor, railOf } from '../support/razorpay/rail.ts'
import { startRazorpayStandIn } from '../support/razorpay-stand-in.ts'
import { railContract, type ScriptedFault } from './contract.ts'

const FAULTS = {
  decline: 'decline',
  lostReply: 'resetAfter',
  lostRequest: 'resetBefore',
  slow: 'hang',
  garbage: 'html200After',
  error500AfterSettle: 'empty500After',
  wrongAmount: 'wrongAmount',
} as const satisfies Record<ScriptedFault, string>

for (const kind of ['a bank account', 'UPI'] as const) {
  railContract(`razorpay, payouts to ${kind}`, async (options) => {
    const standIn = await startRazorpayStandIn()
    return {
      rail: railOf(standIn, {
        timeoutMs: 10_000,
        transport: impatientFor(({ method }) => options !== undefined && method === 'POST'),
      }),
      account: kind === 'UPI' ? standIn.upi : (standIn.accounts[0] ?? ''),
      currency: 'INR',
      script: async (fault) => standIn.script({ on: 'payout.create', fault: FAULTS[fault] }),
      moved: async () => standIn.book().totals.INR ?? 0,
      payouts: async () => standIn.book().payments,
      disconnect: () => standIn.close(),
      close: () => standIn.close(),
    }
  })
}
