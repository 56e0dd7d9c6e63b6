import { type StandInFault, startPaypalStandIn } from '../support/paypal-stand-in.ts'
import { railContract, type ScriptedFault } from './contract.ts'
import { openPaypal } from './paypal-support.ts'

const FAULTS: Record<ScriptedFault, StandInFault> = {
  decline: 'decline',
  lostReply: 'resetAfter',
  lostRequest: 'resetBefore',
  slow: 'hang',
  garbage: 'html200After',
  error500AfterSettle: 'empty500After',
  wrongAmount: 'wrongAmount',
}

railContract('paypal', async ({ timeoutMs } = { timeoutMs: 10_000 }) => {
  const standIn = await startPaypalStandIn()
  return {
    rail: openPaypal(standIn, { timeoutMs }),
    account: 'desks@example.com',
    currency: 'USD',
    script: async (fault) => standIn.script({ on: 'payout.create', fault: FAULTS[fault] }),
    moved: async () => standIn.book().totals.USD ?? 0,
    payouts: async () => standIn.book().payments,
    nowSeconds: () => Math.floor(standIn.nowMs() / 1000),
    becomeVisible: async () => standIn.advance(7 * 3600),
    forgetsDeclined: true,
    disconnect: () => standIn.close(),
    close: () => standIn.close(),
  }
})
