import type { Redis } from 'ioredis';
import type { ScriptCall, ScriptReply } from '../domain/script-call.js';
import type { loadScripts } from './load-scripts.js';
import { ScriptCommand } from './script-command.js';

/** Scripts in one write; more go in the next one of the same moment. */
const CALLS_MAX = 1_000;

/** A reply, or why this call has none. */
export type ScriptResult = ScriptReply | Error;

/** Scripts that are sent together at the end of the current microtask. */
interface Batch {
  readonly runId: string;
  readonly offsetMs: number;
  readonly calls: ScriptCall[];
  readonly results: Promise<readonly ScriptResult[]>;
}

/**
 * Sends scripts: what is asked for at one moment, by messages that arrived together, travels as one
 * write and is read as one.
 */
export class ScriptBatcher {
  #batch: Batch | null = null;

  constructor(
    private readonly redis: Redis,
    private readonly scripts: ReturnType<typeof loadScripts>,
  ) {}

  /**
   * One result for each call, in their order.
   * @param runId of the server that the connection shook hands with
   * @param offsetMs of the test clock; 0 in production
   */
  async run(calls: readonly ScriptCall[], runId: string, offsetMs: number): Promise<readonly ScriptResult[]> {
    const batch = this.#open(runId, offsetMs);
    const from = batch.calls.length;
    for (const call of calls) batch.calls.push(call);
    const results = await batch.results;
    return calls.map((_call, index) => results[from + index] ?? new Error('no reply'));
  }

  #open(runId: string, offsetMs: number): Batch {
    const open = this.#batch;
    const isSame = open?.runId === runId && open.offsetMs === offsetMs;
    if (open !== null && isSame && open.calls.length < CALLS_MAX) return open;
    const calls: ScriptCall[] = [];
    const results = Promise.resolve().then(() => {
      if (this.#batch === batch) this.#batch = null;
      return this.#send(batch);
    });
    const batch: Batch = { runId, offsetMs, calls, results };
    this.#batch = batch;
    return batch;
  }

  /**
   * One write for all of them. Not the client's pipeline: each one of these gets a hidden class of
   * its own, and what such a class holds (commands, texts, promises) survives until the next full
   * collection, which was a quarter of this process's work.
   */
  #send({ runId, offsetMs, calls }: Batch): Promise<readonly ScriptResult[]> {
    const { stream } = this.redis;
    stream.cork();
    const replies = calls.map(({ script, keys, args }) => {
      const command = new ScriptCommand({ sha: this.scripts[script].sha, keys, runId, offsetMs, args });
      void this.redis.sendCommand(command);
      return command.promise.then(asReply, asError);
    });
    stream.uncork();
    return Promise.all(replies);
  }
}

const asReply = (reply: unknown): ScriptResult => reply as ScriptReply;
const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
