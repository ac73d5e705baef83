import { createHash } from 'node:crypto';
import { loadScripts } from '../src/limit-store/redis-scripts.js';
import { RedisClock } from '../src/limit-store/redis-clock.js';

/** What the scripts read the server's clock by, once in each. */
const SERVER_TIME = "redis.call('TIME')";

/**
 * The room's scripts with the server's time taken for 0: the clock offset of each call is the whole
 * time, so that a test can stand on the last millisecond of a month for as long as it likes.
 */
export function scriptsWithoutServerTime(): ReturnType<typeof loadScripts> {
  const scripts = Object.entries(loadScripts()).map(([name, script]) => {
    const parts = script.text.split(SERVER_TIME);
    if (parts.length !== 2) throw new Error(`the script ${name} reads the time ${parts.length - 1} times`);
    const text = parts.join('{ 0, 0 }');
    return [name, { text, sha: createHash('sha1').update(text).digest('hex') }] as const;
  });
  return Object.fromEntries(scripts) as ReturnType<typeof loadScripts>;
}

/**
 * The time of a process whose Redis time stands still, and what the process takes it for until the
 * next reply corrects it.
 */
export class FrozenClock extends RedisClock {
  #errorMs = 0;

  override now(): number {
    return this.offsetMs() + this.#errorMs;
  }

  override observe(): void {
    this.#errorMs = 0;
  }

  /** The process is so far ahead of Redis; behind it, if negative. */
  err(errorMs: number): void {
    this.#errorMs = errorMs;
  }
}
