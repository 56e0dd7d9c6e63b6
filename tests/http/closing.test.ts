import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { startGateway } from './gateway.ts'

it('a connection on which nothing was asked is let go of when the gateway closes, and not waited for', async () => {
  const gateway = await startGateway()
  const { port, hostname } = new URL(gateway.headgate.local)
  const socket = connect(Number(port), hostname)
  let heard = ''
  socket.on('data', (bytes) => {
    heard += bytes.toString()
  })
  await once(socket, 'connect')
  const closed = once(socket, 'close')
  await gateway.close()
  await closed
  // Waited for until its time is over, it is told so.
  expect(heard).toBe('')
}, 60_000)
