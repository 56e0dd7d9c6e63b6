/** What a survey of a rail says, and what the surveys of both have in common. */
import type { Observed } from './observe.ts'
import { placesOf } from './places.ts'

export interface Endpoint {
  readonly rail: string
  /** As the documents or the stand-in name it. */
  readonly operation: string
  readonly method: string
  /** With `{id}` in the place of an id. */
  readonly path: string
  /** The lines of the adapter that ask for it. */
  readonly places: readonly string[]
  readonly judged: 'valid' | 'invalid' | 'not judged'
  /** By whom, or why not. */
  readonly by: string
  readonly why: readonly string[]
  readonly controls: { readonly refused: number; readonly taken: readonly string[] }
}

export interface Survey {
  readonly endpoints: readonly Endpoint[]
  /** Lines of an adapter that compose a request which no scenario sent. */
  readonly notReached: readonly string[]
  /** Scenarios that went another way than they should. */
  readonly problems: readonly string[]
}

export const isSound = ({ endpoints, notReached, problems }: Survey): boolean =>
  notReached.length === 0 &&
  problems.length === 0 &&
  endpoints.every(({ judged, controls }) => judged !== 'invalid' && controls.taken.length === 0)

/** Empty where the stand-in does not say it. */
export const named = (env: Readonly<Record<string, string>>, name: string): string =>
  env[name] ?? ''

export const notReachedOf = (rail: string, seen: readonly Observed[]): string[] =>
  placesOf(rail)
    .filter(({ isReached }) => !isReached(seen))
    .map(({ at, text }) => `${at} ${text}`)

/** Requests of one kind together, in the order in which kinds first came. */
export function grouped(seen: readonly Observed[], pathOf: (request: Observed) => string) {
  const groups = new Map<string, Observed[]>()
  for (const request of seen) {
    const name = `${request.method} ${pathOf(request)}`
    groups.set(name, [...(groups.get(name) ?? []), request])
  }
  return [...groups].map(([name, requests]) => {
    const [method = '', path = ''] = name.split(' ')
    const places = [...new Set(requests.map(({ place }) => place))]
    return { method, path, requests, places }
  })
}

/** With the rail's name before it. */
export const of =
  (rail: string) =>
  (text: string): string =>
    `${rail}: ${text}`
