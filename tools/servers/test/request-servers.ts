import pg from 'pg';
import { converse } from '../src/converse.js';

const TIMEOUT_MS = 5_000;

/** Runs one statement on a PostgreSQL server and returns its rows. */
export async function sql(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: TIMEOUT_MS });
  await client.connect();
  try {
    const result = await client.query<Record<string, unknown>>(text);
    return result.rows;
  } finally {
    await client.end();
  }
}

/** Sends inline commands to a Redis server and returns all responses as one text. */
export function redis(url: string, ...lines: string[]): Promise<string> {
  const { hostname, port, password } = new URL(url);
  const login = password === '' ? [] : [`AUTH ${decodeURIComponent(password)}`];
  const text = [...login, ...lines, 'ECHO end-of-answers'].map((line) => `${line}\r\n`).join('');
  return converse({ host: hostname, port: Number(port), tls: false }, TIMEOUT_MS, (received, send) => {
    if (received === '') return void send(text);
    return /end-of-answers|^-NOAUTH/.test(received) ? received : undefined;
  });
}

/** Sends a request over NATS and returns the payload of the reply. */
export function natsRequest(url: string, subject: string, body: string): Promise<string> {
  const { hostname, port, username, password } = new URL(url);
  const connect = JSON.stringify({ verbose: false, user: username, pass: password });
  let isSent = false;
  return converse({ host: hostname, port: Number(port), tls: false }, TIMEOUT_MS, (received, send) => {
    if (received.includes('\r\n') && !isSent) {
      isSent = true;
      send(`CONNECT ${connect}\r\nSUB answer 1\r\nPUB ${subject} answer ${Buffer.byteLength(body)}\r\n${body}\r\n`);
    }
    return /\r\nMSG answer 1 \d+\r\n(.*)\r\n/.exec(received)?.[1];
  });
}

/** Reports whether a process exists and is not a zombie. */
export function isRunning(pid: number, readState: (pid: number) => string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !/^State:\s+Z/m.test(readState(pid));
}
