/** A process that does nothing but parse and authorise one token with the library alone, as often as it is told. */
import { serveProbe } from '../probe.ts'
import { loadLibraryAlone } from './library-side.ts'

export interface BareOrder {
  readonly token: string
  readonly calls: number
}

const library = loadLibraryAlone()

serveProbe<BareOrder, void>(async ({ token, calls }) => {
  const { authorise, refill } = await library
  for (let call = 0; call < calls; call += 1) {
    authorise(token)
    refill()
  }
})
