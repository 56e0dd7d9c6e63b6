/** A request as bytes on a socket, for what no HTTP client would send. */
import { connect } from 'node:net'

export function exchange(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    // An answer may come, and the connection end, before all was written.
    socket.on('error', (error) => (text === '' ? reject(error) : undefined))
    socket.on('close', () => resolve(text))
    socket.write(bytes)
  })
}

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])

/** A GET with exactly these header lines. */
export const get = (path: string, ...lines: string[]): string =>
  `GET ${path} HTTP/1.1\r\n${[...lines, 'Connection: close'].map((line) => `${line}\r\n`).join('')}\r\n`
