#!/usr/bin/env node
import { run } from './cli'

process.stdout.on('error', (err: NodeJS.ErrnoException) => {
  if (err.code === 'EPIPE') process.exit(0) // `| head` has read enough
  throw err
})

void run(process.argv.slice(2), process.env, process.stdout, process.stderr).then((code) => {
  process.exitCode = code
})
