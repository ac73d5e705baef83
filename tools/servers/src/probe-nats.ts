import { urlsOf } from '@gateway/service-kit';
import { converse } from './converse.js';
import { ProbeRefused } from './server-kind.js';
import type { ProbeResult } from './server-kind.js';

const DEFAULT_PORT = 4222;
const INFO_LINE = /^INFO (\{.*\}) ?\r\n/;

interface Info {
  version?: string;
  server_name?: string;
  jetstream?: boolean;
  auth_required?: boolean;
  tls_required?: boolean;
}

/**
 * Reads a NATS server's greeting and, if the URL has credentials, waits for its PONG. The URL may
 * name several servers (`nats://user:password@a:4222,b:4222`); the first response counts. Refuses a
 * server without JetStream.
 */
export async function probeNats(urls: string, timeoutMs: number): Promise<ProbeResult> {
  const failures: unknown[] = [];
  for (const url of urlsOf(urls)) {
    try {
      return await probeOne(new URL(url), timeoutMs);
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures.find((failure) => failure instanceof ProbeRefused) ?? failures[0];
}

function probeOne(url: URL, timeoutMs: number): Promise<ProbeResult> {
  let isSent = false;
  const address = { host: url.hostname, port: Number(url.port) || DEFAULT_PORT, tls: false };
  return converse(address, timeoutMs, (received, send) => {
    const line = INFO_LINE.exec(received)?.[1];
    if (line === undefined) return undefined;
    const info = JSON.parse(line) as Info;
    const answer = { version: info.version ?? 'unknown', identity: info.server_name ?? '' };
    if (info.jetstream !== true) throw new ProbeRefused('JetStream is not enabled on this NATS server');
    // After the greeting, a TLS server requires an upgrade, and a server with unknown credentials
    // sends nothing.
    if (info.tls_required === true || (info.auth_required === true && url.username === '')) return answer;
    if (!isSent) send(`CONNECT ${JSON.stringify(credentialsOf(url))}\r\nPING\r\n`);
    isSent = true;
    const refusal = /\r\n-ERR '(.*)'/.exec(received)?.[1];
    if (refusal !== undefined) throw new ProbeRefused(refusal);
    return /\r\nPONG\r\n/.test(received) ? answer : undefined;
  });
}

function credentialsOf(url: URL): Record<string, unknown> {
  const name = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const plain = { verbose: false, pedantic: false, lang: 'gateway-servers', version: '0' };
  if (name === '') return plain;
  return password === '' ? { ...plain, auth_token: name } : { ...plain, user: name, pass: password };
}
