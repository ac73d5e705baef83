// Runs kubectl and helm in the namespace of the check. A failing command throws.
import { spawn, spawnSync } from 'node:child_process';
import { settings } from './settings.mjs';

const OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

export const kubectl = (...args) => void run('kubectl', args, 'inherit');
export const kubectlQuietly = (...args) => run('kubectl', args, 'pipe');
export const helm = (...args) => void run('helm', args, 'inherit');

/** Creates or updates objects. */
export function apply(manifests) {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
  run('kubectl', ['apply', '--filename=-'], 'inherit', input);
}

/** Forwards a local port to the service; `close` ends it. */
export async function forward(service, port) {
  const args = ['--namespace', settings.namespace, 'port-forward', `service/${service}`, `:${port}`];
  const child = spawn('kubectl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const local = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', () => reject(new Error(`kubectl port-forward to ${service} ended`)));
    child.stdout.on('data', (text) => {
      const found = /127\.0\.0\.1:(\d+)/.exec(String(text));
      if (found) resolve(Number(found[1]));
    });
  });
  return { url: `http://127.0.0.1:${local}`, close: () => child.kill() };
}

function run(tool, args, output, input = '') {
  const { status, error, stdout } = spawnSync(tool, ['--namespace', settings.namespace, ...args], {
    input,
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES_MAX,
    stdio: ['pipe', output, 'inherit'],
  });
  if (status !== 0) throw new Error(`${tool} ${args.join(' ')} ended with ${error?.message ?? status}`);
  return stdout ?? '';
}
