import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const TOOL = 'slowhttptest';
/** How many connections it opens in a second. */
const RATE = 1_500;
const STOP_MS = 5_000;
/** The arguments of each mode: its flag, and how slow it is. */
const MODES = {
  /** Heads that never end: a header each second. */
  headers: ['-H', '-i', '1'],
  /** Bodies that never end: some bytes each second. */
  body: ['-B', '-i', '1'],
  /** Answers that nobody reads: a window of some bytes, three requests on each connection. */
  read: ['-X', '-w', '1', '-y', '64', '-n', '5', '-z', '1', '-k', '3'],
} as const;

export type SlowMode = keyof typeof MODES;
export const SLOW_MODES = Object.keys(MODES) as SlowMode[];

export interface SlowAttackOptions {
  readonly mode: SlowMode;
  /** The URL of a loopback address: connections come from 127.0.0.1 if it is that. */
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** Bytes that each body announces; 4,096 unless stated. */
  readonly bodyBytes?: number;
  /** Headers that each request has besides the tool's, name to value; not in mode `read`. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SlowAttack {
  /** Most connections that it had at one time, as far as it has printed. */
  connectedMost(): number;
  readonly isRunning: boolean;
  /** Resolves when it has ended: by its time, or because no connection is left. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Says why attacks cannot be run here; null: they can. */
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

/** Runs slowhttptest against one address. */
export function startSlowAttack({
  mode,
  url,
  connections,
  seconds,
  bodyBytes,
  headers,
}: SlowAttackOptions): SlowAttack {
  // It has no argument for headers, but writes the content type as it is given.
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
   * Makes one call from this address. Its result is counted by its text, a rejection by its
   * message.
   */
  readonly call: (localAddress: string) => Promise<string | number>;
  readonly everyMs: number;
}

/**
 * Calls from 127.0.0.2 and up while the attack runs, and counts how often each outcome was seen.
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
