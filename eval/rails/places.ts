/** Where an adapter's source composes requests, read from the source: what no scenario reached shows by it. */
import { filesIn, read, withoutComments } from '../../tests/support/source.ts'
import type { Observed } from './observe.ts'

export interface Place {
  /** `runtime/rails/….ts:LINE`. */
  readonly at: string
  /** As it is written there. */
  readonly text: string
  readonly isReached: (seen: readonly Observed[]) => boolean
}

/** A path in quotes, with what is filled in. */
const PATH = /(['`])(\/v[123]\/[^'`\s]*)\1/g
/** A method of Razorpay's own package, which knows its path itself. */
const SDK = /\bapi\.(\w+)\.(\w+)\(/g

const patternOf = (text: string): RegExp => {
  const [path = ''] = text.split('?')
  const escaped = path
    .replaceAll(/\$\{[^}]*\}/g, '\u0000')
    .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replaceAll('\u0000', '[^/?]+')}$`)
}

const pathOf = ({ path }: Observed): string => path.split('?')[0] ?? ''

export function placesOf(rail: string): readonly Place[] {
  const files = filesIn([`runtime/rails/${rail}`], ['.ts'])
  return [...files, `runtime/rails/${rail}.ts`].flatMap((file) =>
    withoutComments(read(file))
      .split('\n')
      .flatMap((line, index): Place[] => {
        const at = `${file}:${index + 1}`
        const paths = [...line.matchAll(PATH)].map(([, , text = '']): Place => {
          const pattern = patternOf(text)
          return { at, text, isReached: (seen) => seen.some((each) => pattern.test(pathOf(each))) }
        })
        const calls = [...line.matchAll(SDK)].map(([, noun, verb]): Place => {
          return {
            at,
            text: `${noun}.${verb}`,
            isReached: (seen) => seen.some(({ place }) => place === at),
          }
        })
        return [...paths, ...calls]
      }),
  )
}
