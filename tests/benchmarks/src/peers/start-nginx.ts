import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { freePort } from '@gateway/servers';
import type { Cleanup } from '../bench-context.js';
import { startProcess } from '../machine/process.js';
import { findNginx } from './find-nginx.js';
import { PROVIDER_MODELS, type Peer, settleAtOnce } from './peer.js';
import type { Provider } from './start-provider.js';

const VERSION_TIMEOUT_MS = 5_000;
/** Two connections per open stream, plus reserve. */
const CONNECTIONS_MAX = 16_384;

/** Starts nginx as a plain reverse proxy with one worker and without buffering. */
export async function startNginx(
  provider: Provider,
  directory: string,
  ending: Cleanup,
  log: (line: string) => void,
): Promise<Peer> {
  const { path, env } = await findNginx(log);
  const port = await freePort();
  const home = `${directory}/nginx`;
  mkdirSync(home);
  writeFileSync(`${home}/nginx.conf`, configurationOf(home, port, provider.port));
  const nginx = startProcess({
    name: 'nginx',
    command: path,
    args: ['-p', home, '-c', `${home}/nginx.conf`, '-e', 'stderr'],
    env,
    logFile: `${directory}/nginx.log`,
    // Its workers outlive a killed master.
    deathSignal: 'TERM',
  });
  ending.add('nginx', () => nginx.stop());
  await nginx.listening(port);
  return {
    id: 'nginx',
    title: 'nginx, reverse proxy',
    version: versionOf(path, env),
    port,
    headers: [],
    models: PROVIDER_MODELS,
    keyed: false,
    processes: { nginx: [nginx.pid] },
    except: [],
    settle: settleAtOnce,
  };
}

function configurationOf(home: string, port: number, providerPort: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${home}/${name};`,
  );
  return [
    ...(process.getuid?.() === 0 ? ['user nobody nogroup;'] : []),
    'daemon off;',
    'worker_processes 1;',
    `pid ${home}/nginx.pid;`,
    `worker_rlimit_nofile ${CONNECTIONS_MAX};`,
    `events { worker_connections ${CONNECTIONS_MAX}; }`,
    'http {',
    '  access_log off;',
    ...temporary.map((line) => `  ${line}`),
    '  upstream provider {',
    `    server 127.0.0.1:${providerPort};`,
    '    keepalive 256;',
    '    keepalive_requests 1000000000;',
    '    keepalive_time 1d;',
    '  }',
    '  server {',
    `    listen 127.0.0.1:${port};`,
    '    keepalive_requests 1000000000;',
    '    keepalive_time 1d;',
    '    client_body_buffer_size 1m;',
    '    location / {',
    '      proxy_pass http://provider;',
    '      proxy_http_version 1.1;',
    '      proxy_set_header Connection "";',
    '      proxy_buffering off;',
    '    }',
    '  }',
    '}',
    '',
  ].join('\n');
}

function versionOf(path: string, env: Readonly<Record<string, string>>): string {
  const result = spawnSync(path, ['-v'], { env, encoding: 'utf8', timeout: VERSION_TIMEOUT_MS });
  return /nginx\/([\d.]+)/.exec(result.stderr)?.[1] ?? 'unknown';
}
