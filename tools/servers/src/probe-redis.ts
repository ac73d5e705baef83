import { converse } from './converse.js';
import { ProbeRefused } from './server-kind.js';
import type { ProbeResult } from './server-kind.js';

const DEFAULT_PORT = 6379;

/**
 * Sends PING and reads version and process ID (the identity) from INFO. A server that is still
 * loading is not ready. A server that was not started here must be a primary.
 */
export function probeRedis(text: string, timeoutMs: number, isOwn = false): Promise<ProbeResult> {
  const url = new URL(text);
  const address = { host: url.hostname, port: Number(url.port) || DEFAULT_PORT, tls: url.protocol === 'rediss:' };
  return converse(address, timeoutMs, (received, send) => {
    if (received === '') return void send(commands(url));
    const refusal = /^-(NOAUTH|WRONGPASS|ERR|NOPERM) ?(.*)\r\n/m.exec(received);
    if (refusal) throw new ProbeRefused(refusal[0].trim());
    if (received.startsWith('-') || received.includes('\r\n-')) throw new Error(received.trim());
    const bulk = /^\$(\d+)\r\n/m.exec(received);
    if (bulk === null || received.length < bulk.index + bulk[0].length + Number(bulk[1])) return undefined;
    const processId = /^process_id:(\d+)\r$/m.exec(received)?.[1];
    const version = /^redis_version:(\S+)\r$/m.exec(received)?.[1];
    if (!isOwn) refuseUse(received);
    return processId !== undefined && version !== undefined ? { version, identity: processId } : undefined;
  });
}

function commands(url: URL): string {
  const user = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const login = user === '' || user === 'default' ? ['AUTH', password] : ['AUTH', user, password];
  return [...(password === '' ? [] : [login]), ['PING'], ['INFO']].map(encode).join('');
}

/** Refuses what admission refuses: it needs a primary that keeps data. @throws ProbeRefused */
function refuseUse(info: string): void {
  const read = (name: string): string => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? 'unknown';
  if (read('redis_mode') === 'cluster') throw new ProbeRefused('it is a cluster node: set cluster-enabled no');
  if (read('role') !== 'master') throw new ProbeRefused('it is a replica: give the address of its primary');
  const policy = read('maxmemory_policy');
  if (policy !== 'noeviction') throw new ProbeRefused(`its maxmemory-policy is ${policy}: set it to noeviction`);
}

/** Encodes a command in the Redis protocol. */
export function encode(words: string[]): string {
  return `*${words.length}\r\n` + words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('');
}
