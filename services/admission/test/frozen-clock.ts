import { createHash } from 'node:crypto';
import { loadScripts } from '../src/limit-store/redis-scripts.js';
import { RedisClock } from '../src/limit-store/redis-clock.js';

/** The expression that reads the server's clock, once in each script. */
const SERVER_TIME = "redis.call('TIME')";

/**
 * Loads the scripts with 0 as the server's time. The clock offset of each call is then the whole
 * time, so a test can stay at the last millisecond of a month for as long as it needs.
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

/** The clock of a process with a frozen Redis time, and the error of its estimate of that time. */
export class FrozenClock extends RedisClock {
  #errorMs = 0;

  override now(): number {
    return this.offsetMs() + this.#errorMs;
  }

  override observe(): void {
    this.#errorMs = 0;
  }

  /** Sets how far the process is ahead of Redis. Negative: behind. */
  err(errorMs: number): void {
    this.#errorMs = errorMs;
  }
}
