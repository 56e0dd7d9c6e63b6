/** Planted: the funnel takes any quote that its looker brought, whatever it is for. For `node --import`. */
import { registerHooks } from 'node:module'

const GUARD = 'if (!isPayable(walk, node, need, quote) || !isWhatWasAsked(quote, asked)) continue'

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith('/runtime/funnel/offers.ts')) return loaded
    const source = String(loaded.source)
    if (!source.includes(GUARD)) throw new Error('the guard to take out is not there any more')
    return { ...loaded, source: source.replace(GUARD, '') }
  },
})
