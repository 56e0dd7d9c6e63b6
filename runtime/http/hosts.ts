/**
 * The Host allow-list: the first thing that every request meets, static files, streams and unknown addresses
 * included. It is what stands between a page on the internet and this gateway when a name is rebound to 127.0.0.1;
 * comparing Origin with Host would not, because both are then the attacker's name.
 */
import type { IncomingMessage } from 'node:http'
import { HttpProblem } from './problems.ts'

/** Values of a header as it was sent, each occurrence: Node's parsed headers hide a repetition. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === name) values.push(rawHeaders[i + 1] ?? '')
  }
  return values
}

const DEFAULT_PORT = { 'http:': '80', 'https:': '443' } as const

/** The names under which a gateway listening on `port` may be called, each as host:port. */
export function allowedHosts(options: {
  readonly url: string
  readonly port: number
  readonly local: boolean
  readonly more: readonly string[]
}): ReadonlySet<string> {
  const url = new URL(options.url)
  const port = url.port || (url.protocol === 'https:' ? DEFAULT_PORT['https:'] : '80')
  const hosts = [`${url.hostname}:${port}`, ...options.more]
  if (url.port === '') hosts.push(url.hostname)
  if (options.local) {
    for (const name of ['127.0.0.1', 'localhost', 'headgate.localhost', '[::1]']) {
      hosts.push(`${name}:${options.port}`)
    }
  }
  return new Set(hosts.map((host) => host.toLowerCase()))
}

/**
 * Returns the Host of the request, which is one of ours; throws HttpProblem `host_not_allowed` otherwise. A request
 * line that names a host itself means that one (RFC 9112 section 3.2.2), so both must be ours.
 */
export function checkHost(
  { rawHeaders, url = '' }: Pick<IncomingMessage, 'rawHeaders' | 'url'>,
  allowed: ReadonlySet<string>,
): string {
  const [host, ...others] = headerValues(rawHeaders, 'host')
  const name = host?.toLowerCase()
  const target = /^[/*]/.test(url) ? name : URL.parse(url)?.host
  const isOurs = [name, target].every((each) => each !== undefined && allowed.has(each))
  if (name === undefined || others.length > 0 || !isOurs) throw new HttpProblem('host_not_allowed')
  return name
}
