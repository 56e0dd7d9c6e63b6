/** Asking the token's own checks about a request that could only be stated once the token had been read. */
import type { Operation } from '../core/block.ts'
import type { PayeeId } from '../core/ids.ts'
import type { Minor } from '../core/money.ts'
import type { Facts } from './facts.ts'
import type { Gate } from './gate.ts'
import type { Caller } from './identify.ts'

interface Asked {
  readonly operation: Operation
  readonly amount: Minor
  /** Each is asked about; none at all is permitted nothing. */
  readonly payees: readonly PayeeId[]
}

/** The caller's facts, with the engine's word on every one of the payees. */
export async function withPermission(
  gate: Gate,
  { request, token, node, attempt, facts }: Caller<unknown>,
  { operation, amount, payees }: Asked,
): Promise<Facts> {
  const { currency } = node
  const verdicts = await Promise.all(
    payees.map((payee) =>
      gate.engine.verify(
        request.token,
        { operation, amount, currency, payee, nowSeconds: attempt.now },
        node.holder,
      ),
    ),
  )
  const permitted = verdicts.filter((verdict) => verdict.ok && verdict.token.authorised === true)
  const authorised = payees.length > 0 && permitted.length === payees.length
  return { ...facts, token: { ok: true, token: { ...token, authorised } } }
}
