import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const TOOL = 'slowhttptest';
/** Connections that the tool opens per second. */
const RATE = 1_500;
const STOP_MS = 5_000;
/** Arguments of each mode: the flag, and how slow its connections are. */
const MODES = {
  /** Request heads that never end: one header per second. */
  headers: ['-H', '-i', '1'],
  /** Request bodies that never end: some bytes per second. */
  body: ['-B', '-i', '1'],
  /**
   * Responses that the client hardly reads: a window of some bytes, three requests per connection.
   */
  read: ['-X', '-w', '1', '-y', '64', '-n', '5', '-z', '1', '-k', '3'],
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
  /**
   * Resolves when the attack has ended: its time is over, or the server has closed all connections.
   */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Returns the reason why attacks cannot run on this machine, or null if they can. */
export function noSlowAttacks(): string | null {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    try {
      accessSync(join(directory, TOOL), constants.X_OK);
      return null;
    } catch {
      // The next one.
    }
  }
  return `needs ${TOOL} (Debian: apt-get install ${TOOL})`;
}

/** Starts slowhttptest against one address. */
export function startSlowAttack({
  mode,
  url,
  connections,
  seconds,
  bodyBytes,
  headers,
}: SlowAttackOptions): SlowAttack {
  // slowhttptest has no argument for headers, but it copies the content type unchanged.
  const more = Object.entries(headers ?? {}).map(([name, value]) => `\r\n${name}: ${value}`);
  const type = `application/json${more.join('')}`;
  const given = [
    ...MODES[mode],
    '-c',
    connections,
    '-r',
    RATE,
    '-l',
    seconds,
    '-u',
    url,
    '-f',
    type,
    '-s',
    bodyBytes ?? 4_096,
  ];
  const child = spawn(TOOL, given.map(String), { stdio: ['ignore', 'pipe', 'ignore'] });
  let most = 0;
  let isRunning = true;
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    for (const [, count] of text.matchAll(/connected:[^\d\n]*?(?:\x1b\[[\d;]*m)?\s*(\d+)/g))
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
  /**
   * Sends one request from this address. Outcomes are counted by the returned text, or by the
   * message of the error.
   */
  readonly call: (localAddress: string) => Promise<string | number>;
  readonly everyMs: number;
}

/**
 * Sends requests from 127.0.0.2 and the following addresses until the attack ends. Returns how
 * often each outcome occurred.
 */
export async function goodCallsDuring(
  attack: SlowAttack,
  { call, everyMs }: GoodCallsOptions,
): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  const running = new Set<Promise<void>>();
  for (let caller = 0; attack.isRunning; caller += 1) {
    const address = `127.0.0.${2 + (caller % GOOD_CALLERS)}`;
    const one = call(address)
      .catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
      .then((outcome) => {
        seen.set(String(outcome), (seen.get(String(outcome)) ?? 0) + 1);
        running.delete(one);
      });
    running.add(one);
    await delay(everyMs);
  }
  await Promise.all(running);
  return seen;
}

const GOOD_CALLERS = 20;
