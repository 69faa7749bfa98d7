import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/redis'
import { get } from '../support/serve'
import { until } from '../support/until'
import type { Owner } from './apis'

/** Whether nginx is on the PATH. */
export function hasNginx(): boolean {
  return spawnSync('nginx', ['-v']).status === 0
}

export interface Nginx {
  readonly url: string
  /** Sends what comes from now on to these ports, by a reload. Resolves when the new workers have taken over. */
  balance(ports: readonly number[]): Promise<void>
}

/** Starts an nginx that balances requests, over connections that it keeps alive. */
export async function startNginx(owner: Owner, ports: readonly number[]): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'express-tollgate-nginx-'))
  const file = join(folder, 'nginx.conf')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let generation = 0
  const write = (to: readonly number[]) => writeFileSync(file, config(folder, port, to, ++generation))
  // A worker of the configuration before may accept a connection yet.
  const isTaken = async () => {
    const heard = Array.from({ length: 20 }, () =>
      get(`${url}/generation`, { connection: 'close' }).catch(() => undefined),
    )
    return (await Promise.all(heard)).every((answer) => answer?.body === String(generation))
  }
  write(ports)
  const nginx: ChildProcess = spawn('nginx', ['-p', folder, '-c', file, '-e', 'stderr'], { stdio: 'inherit' })
  const exit = once(nginx, 'exit')
  owner.after(async () => {
    nginx.kill('SIGTERM')
    await exit
    rmSync(folder, { recursive: true, force: true })
  })
  await until(isTaken)
  return {
    url,
    balance: async (to) => {
      write(to)
      nginx.kill('SIGHUP')
      await until(isTaken)
    },
  }
}

function config(folder: string, port: number, ports: readonly number[], generation: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder};`)
  return `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off; worker_processes 2; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off; ${temporary.join(' ')}
  upstream api { ${ports.map((each) => `server 127.0.0.1:${each} max_fails=0;`).join(' ')} keepalive 16; }
  server {
    listen 127.0.0.1:${port};
    location = /generation { return 200 ${generation}; }
    location / {
      proxy_pass http://api; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header X-Forwarded-For $remote_addr;
    }
  }
}
`
}
