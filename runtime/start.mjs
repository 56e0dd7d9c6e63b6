#!/usr/bin/env node
// Plain JavaScript on purpose: an older Node dies on the first TypeScript file, before any check in it could run.
const major = Number(process.versions.node.split('.', 1)[0])

if (major < 24) {
  process.stderr.write(
    `headgate needs Node 24 or later, and this is Node ${process.versions.node}; run it with npx or install Node 24\n`,
  )
  process.exitCode = 14
} else {
  // Type stripping and node:sqlite announce themselves as experimental on every start; nothing else is silenced.
  const [print] = process.listeners('warning')
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    if (warning.name !== 'ExperimentalWarning') print?.(warning)
  })
  await import('./main.ts')
}
