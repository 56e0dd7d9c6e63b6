/** Connections on which nobody has asked anything yet: Node counts them as busy, and would wait for them at the end. */
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** They are let go of when the server closes; one whose first request has begun is answered first, like every other. */
export function releaseUnasked(app: FastifyInstance): void {
  const unasked = new Set<Socket>()
  app.server.on('connection', (socket) => {
    unasked.add(socket)
    socket.once('close', () => unasked.delete(socket))
  })
  app.server.prependListener('request', ({ socket }) => unasked.delete(socket))
  app.addHook('preClose', async () => {
    for (const socket of unasked) socket.destroy()
  })
}
