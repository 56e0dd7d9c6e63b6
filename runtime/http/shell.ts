/** The console’s static files, and its shell for browsers that ask for HTML at an address of the interface. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** A browser that navigates: it names text/html, and a script of ours that fetches does not. */
export function wantsPage(request: FastifyRequest): boolean {
  const accept = request.headers.accept?.toLowerCase() ?? ''
  const ranges = accept.split(',').map((range) => range.split(';', 1)[0]?.trim())
  const html = ranges.indexOf('text/html')
  const json = ranges.indexOf('application/json')
  return html >= 0 && (json < 0 || html < json)
}

/** Sends the shell: the same page for everyone, with nothing of anybody in it. */
export function sendShell(reply: FastifyReply, consoleDir: string): FastifyReply {
  return reply
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(readFileSync(join(consoleDir, 'index.html')))
}

export async function addShell(app: FastifyInstance, consoleDir: string): Promise<void> {
  await app.register(fastifyStatic, {
    root: consoleDir,
    prefix: '/console/',
    index: false,
    dotfiles: 'deny',
    cacheControl: false,
    setHeaders: (reply) => {
      reply.header('cache-control', 'no-cache')
    },
  })
}
