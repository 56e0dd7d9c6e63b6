/**
 * The other side of every comparison: the Biscuit library alone, used as its documentation shows, without anything of
 * ours around it. Its memory grows in the same steps as in our workers, or that growth would be all one saw.
 */
import { isoTime } from '../../../runtime/core/time.ts'
import {
  type Biscuit,
  callLibrary,
  libraryMemory,
  loadBiscuit,
} from '../../../runtime/tokens/library.ts'
import { REQUEST, ROOT_PUBLIC } from './chains.ts'
import { createReserve } from './reserve.ts'

export interface LibraryAlone {
  readonly biscuit: Biscuit
  /** Of the root key; the library only borrows it. */
  readonly root: ReturnType<Biscuit['PublicKey']['fromBytes']>
  /** Verifies every signature of the token and parses its blocks. */
  readonly parse: (token: string) => void
  /** The same, and asks the token's own checks about the payment. */
  readonly authorise: (token: string) => void
  /** To be called where nobody waits. */
  readonly refill: () => void
  readonly memoryBytes: () => number
}

const SOURCE =
  'req_operation({operation}); req_amount({amount}); req_currency({currency}); req_payee({payee}); ' +
  'time({time}); req_quote({quote}); allow if true;'

const PARAMETERS = {
  operation: REQUEST.operation,
  amount: REQUEST.amount,
  currency: REQUEST.currency,
  payee: REQUEST.payee,
  quote: { bytes: Buffer.from(REQUEST.quote ?? '', 'base64url').toString('hex') },
  time: { date: isoTime(REQUEST.nowSeconds) },
}

const RETRIES = 40

const LIMITS = { max_facts: 1_000, max_iterations: 100, max_time_micro: 20_000 }

export async function loadLibraryAlone(): Promise<LibraryAlone> {
  const biscuit = await loadBiscuit()
  const memory = await libraryMemory()
  const memoryBytes = () => memory.buffer.byteLength
  const reserve = createReserve(biscuit, memoryBytes)
  const root = biscuit.PublicKey.fromBytes(ROOT_PUBLIC, biscuit.SignatureAlgorithm.Ed25519)
  return {
    biscuit,
    root,
    memoryBytes,
    refill: () => reserve.refill(),
    parse: (token) => biscuit.Biscuit.fromBase64(token, root).free(),
    authorise: (token) => {
      using parsed = biscuit.Biscuit.fromBase64(token, root)
      // A cold engine overruns its time by chance, for whoever asks; it is asked again, as ours asks it again.
      for (let attempt = 0; attempt <= RETRIES; attempt += 1) {
        const answer = callLibrary(() => {
          const builder = new biscuit.AuthorizerBuilder()
          builder.addCodeWithParameters(SOURCE, PARAMETERS, {})
          using authorizer = builder.buildAuthenticated(parsed)
          return authorizer.authorizeWithLimits(LIMITS)
        })
        if (answer.ok) return
        if (answer.failure !== 'run_limit') break
      }
      throw new Error('expected the library to permit the payment')
    },
  }
}
