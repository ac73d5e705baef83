import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

const TOOL = 'slowhttptest';
/** Connections that the tool opens per second. */
const RATE = 1_500;
const STOP_MS = 5_000;
/** Addresses that send requests during an attack, one after the other. */
export const GOOD_CALLERS = 20;
/** Arguments of each mode: the flag, and how slow its connections are. */
const MODES = {
  /** Request heads that never end: one header per second. */
  headers: '-H -i 1',
  /** Request bodies that never end: some bytes per second. */
  body: '-B -i 1',
  /** Responses that the client hardly reads: a small window, three requests per connection. */
  read: '-X -w 1 -y 64 -n 5 -z 1 -k 3',
} as const;

export type SlowMode = keyof typeof MODES;
export const SLOW_MODES = Object.keys(MODES) as SlowMode[];

export interface SlowAttackOptions {
  readonly mode: SlowMode;
  /** The URL of the target. If it is on 127.0.0.1, the connections come from 127.0.0.1 too. */
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** Content-Length of each request body. Default 4,096. */
  readonly bodyBytes?: number;
  /** Additional request headers, from name to value. Mode `read` ignores them. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SlowAttack {
  /** The largest number of simultaneous connections that the tool has printed. */
  connectedMost(): number;
  readonly isRunning: boolean;
  /** Resolves when the time is over, or the server has closed all connections. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Returns the reason why attacks cannot run on this machine, or null if they can. */
export function noSlowAttacks(): string | null {
  const places = (process.env['PATH'] ?? '').split(delimiter);
  if (places.some((directory) => existsSync(join(directory, TOOL)))) return null;
  return `needs ${TOOL} (Debian: apt-get install ${TOOL})`;
}

/** Starts slowhttptest against one address. */
export function startSlowAttack(options: SlowAttackOptions): SlowAttack {
  const { mode, url, connections, seconds, bodyBytes = 4_096, headers = {} } = options;
  // slowhttptest has no argument for headers, but it copies the content type unchanged.
  const more = Object.entries(headers).map(([name, value]) => `\r\n${name}: ${value}`);
  const size = `-c ${connections} -r ${RATE} -l ${seconds} -s ${bodyBytes}`;
  const args = [...`${MODES[mode]} ${size}`.split(' '), '-u', url, '-f', `application/json${more.join('')}`];
  const child = spawn(TOOL, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let most = 0;
  let isRunning = true;
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    for (const [, count] of stripVTControlCharacters(text).matchAll(/connected:[^\d\n]*(\d+)/g))
      most = Math.max(most, Number(count));
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  }).finally(() => {
    isRunning = false;
  });
  return {
    connectedMost: () => most,
    get isRunning() {
      return isRunning;
    },
    ended,
    async stop() {
      child.kill('SIGINT');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

export interface GoodCallsOptions {
  /** Sends one request from this address. Outcomes are counted by the result or the error. */
  readonly call: (localAddress: string) => Promise<string | number>;
  readonly everyMs: number;
}

/**
 * Sends requests from 127.0.0.2 and the following addresses until the attack ends. Returns how
 * often each outcome occurred. The number of requests depends on how busy the machine is.
 */
export async function goodCallsDuring(
  attack: SlowAttack,
  { call, everyMs }: GoodCallsOptions,
): Promise<Map<string, number>> {
  const outcomes: Promise<string>[] = [];
  while (attack.isRunning) {
    const address = `127.0.0.${2 + (outcomes.length % GOOD_CALLERS)}`;
    outcomes.push(
      call(address).then(String, (error: unknown) => (error instanceof Error ? error.message : String(error))),
    );
    await delay(everyMs);
  }
  const seen = new Map<string, number>();
  for (const outcome of await Promise.all(outcomes)) seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  return seen;
}
