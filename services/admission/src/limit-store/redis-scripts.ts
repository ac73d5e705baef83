import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Command, type Redis } from 'ioredis';
import { SCRIPT_NAMES, type ScriptCall, type ScriptName, type ScriptReply, listLuaPositions } from './script-rules.js';

/** Maximum scripts in one write. Further scripts go into the next write at the same time. */
const CALLS_MAX = 1_000;

/** A reply, or the reason why the call has no reply. */
export type ScriptResult = ScriptReply | Error;

/** Scripts that are sent together at the end of the current microtask. */
interface Batch {
  readonly runId: string;
  readonly offsetMs: number;
  readonly calls: ScriptCall[];
  readonly results: Promise<readonly ScriptResult[]>;
}

/**
 * Batches scripts: all scripts that are requested in the same microtask are sent in one write, and
 * their replies are read together.
 */
export class ScriptBatcher {
  #batch: Batch | null = null;

  constructor(
    private readonly redis: Redis,
    private readonly scripts: ReturnType<typeof loadScripts>,
  ) {}

  /**
   * Returns one result for each call, in the same order.
   * @param runId of the server, as read in the handshake
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
   * Sends all scripts in one write. Does not use the client's pipeline: each pipeline gets its own
   * hidden class, and everything that such a class references (commands, texts, promises) survives
   * until the next full collection, which took a quarter of this process's CPU time.
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

export interface Script {
  readonly text: string;
  /** SHA-1 of the text, which is the script's name in Redis. */
  readonly sha: string;
}

const USES = /^-- uses: (.*)\n/m;
const NAME = /\b[A-Z][A-Z_]*\.\w+\b/g;

/**
 * Loads all scripts. Each `-- uses:` line is replaced by the shared parts that it names, and each
 * argument position by its number, so that Redis needs no table look-ups.
 * @throws RangeError for a name that has no position
 */
export function loadScripts(): Readonly<Record<ScriptName, Script>> {
  const positions = listLuaPositions();
  return Object.fromEntries(SCRIPT_NAMES.map((name) => [name, loadScript(name, positions)])) as Record<
    ScriptName,
    Script
  >;
}

function loadScript(name: ScriptName, positions: ReadonlyMap<string, number>): Script {
  const text = readLua(name)
    .replace(USES, (_line, parts: string) =>
      parts
        .split(' ')
        .map((part) => readLua(`shared/${part}`))
        .join('\n'),
    )
    .replace(NAME, (place) => {
      const position = positions.get(place);
      if (position === undefined) throw new RangeError(`unknown name in a script: ${place}`);
      return String(position);
    });
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

function readLua(name: string): string {
  return readFileSync(new URL(`../../lua/${name}.lua`, import.meta.url), 'utf8');
}

/**
 * One run of a script. `lua/shared/epoch.lua` defines the first arguments of all scripts. Arguments
 * are texts or integers.
 */
export interface EvalCall {
  readonly sha: string;
  readonly keys: readonly string[];
  readonly runId: string;
  readonly offsetMs: number;
  readonly args: readonly (string | number)[];
}

/** Separator of two arguments: the end of the first, and the byte length of the second. */
const headOf = (bytes: number): string => `\r\n$${bytes}\r\n`;
const HEADS: readonly string[] = Array.from({ length: 512 }, (_, bytes) => headOf(bytes));

/**
 * An EVALSHA command. The client's own method copies the arguments, flattens the copy and inspects
 * each argument again; with 30 to 40 arguments that took a tenth of this process's CPU time. This
 * class converts the arguments to text once and joins them with two concatenations each instead of
 * five, which caused a third of this process's garbage.
 */
export class ScriptCommand extends Command {
  constructor({ sha, keys, runId, offsetMs, args }: EvalCall) {
    super('evalsha', [], { replyEncoding: 'utf8' });
    const texts = [sha, String(keys.length)];
    for (const key of keys) texts.push(key);
    texts.push(runId, String(offsetMs));
    for (const arg of args) texts.push(typeof arg === 'string' ? arg : String(arg));
    this.args = texts;
  }

  /** All arguments are texts. */
  override toWritable(): string {
    const args = this.args as readonly string[];
    let written = `*${args.length + 1}\r\n$7\r\nevalsha`;
    for (const arg of args) {
      const bytes = Buffer.byteLength(arg);
      written += (HEADS[bytes] ?? headOf(bytes)) + arg;
    }
    return `${written}\r\n`;
  }
}
