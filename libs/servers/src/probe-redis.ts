import { converse } from './converse.js';
import { ProbeRefused } from './server-kind.js';
import type { Answer } from './server-kind.js';

const DEFAULT_PORT = 6379;

/** Sends PING and reads version and process id (its identity) from INFO; a server that still loads has not answered. */
export function probeRedis(text: string, timeoutMs: number): Promise<Answer> {
  const url = new URL(text);
  const address = { host: url.hostname, port: Number(url.port) || DEFAULT_PORT, tls: url.protocol === 'rediss:' };
  return converse(address, timeoutMs, (received, send) => {
    if (received === '') return void send(commands(url));
    const refusal = /^-(NOAUTH|WRONGPASS|ERR|NOPERM) ?(.*)\r\n/m.exec(received);
    if (refusal) throw new ProbeRefused(refusal[0].trim());
    if (received.startsWith('-') || received.includes('\r\n-')) throw new Error(received.trim());
    const processId = /^process_id:(\d+)\r$/m.exec(received)?.[1];
    const version = /^redis_version:(\S+)\r$/m.exec(received)?.[1];
    return processId !== undefined && version !== undefined ? { version, identity: processId } : undefined;
  });
}

function commands(url: URL): string {
  const user = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const login = user === '' || user === 'default' ? ['AUTH', password] : ['AUTH', user, password];
  return [...(password === '' ? [] : [login]), ['PING'], ['INFO', 'server']].map(encode).join('');
}

function encode(words: string[]): string {
  return `*${words.length}\r\n` + words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('');
}
