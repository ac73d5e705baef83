import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Command, type Redis } from 'ioredis';
import { REFUSAL } from '@gateway/contracts/errors';
import { SCRIPT_NAMES, type ScriptCall, type ScriptName, type ScriptReply } from './script-rules.js';

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

export interface Script {
  readonly text: string;
  /** SHA-1 of the text: the name under which Redis keeps it. */
  readonly sha: string;
}

const USES = /^-- uses: (.*)\n/m;
const NAME = /\b([A-Z][A-Z_]*)\.(\w+)\b/g;
const TABLE = /^([A-Z_]+) = \{\n((?: {2}\w+ = \d+,\n)*)\}/gm;
const PLACE = /^ {2}(\w+) = (\d+),$/gm;

/**
 * All scripts with the shared parts that their `-- uses:` line names, put in the line's place, and
 * with a number for each `REFUSAL.<code>` and each place of an argument: Redis sees no table and
 * looks nothing up.
 * @throws RangeError for a name that no table has
 */
export function loadScripts(): Readonly<Record<ScriptName, Script>> {
  const tables = readTables();
  return Object.fromEntries(SCRIPT_NAMES.map((name) => [name, loadScript(name, tables)])) as Record<ScriptName, Script>;
}

/** Numbers by the names of their table and of themselves. */
type Tables = ReadonlyMap<string, ReadonlyMap<string, number>>;

function loadScript(name: ScriptName, tables: Tables): Script {
  const text = readLua(name)
    .replace(USES, (_line, parts: string) =>
      parts
        .split(' ')
        .map((part) => readLua(`shared/${part}`))
        .join('\n'),
    )
    .replace(NAME, (whole, table: string, member: string) => {
      const number = tables.get(table)?.get(member);
      if (number === undefined) throw new RangeError(`no number is called ${whole}`);
      return String(number);
    });
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

function readTables(): Tables {
  const tables = new Map<string, ReadonlyMap<string, number>>([['REFUSAL', new Map(Object.entries(REFUSAL))]]);
  for (const [, table = '', places = ''] of readLua('generated/positions').matchAll(TABLE)) {
    tables.set(table, new Map(Array.from(places.matchAll(PLACE), ([, name = '', place]) => [name, Number(place)])));
  }
  return tables;
}

function readLua(name: string): string {
  return readFileSync(new URL(`../../lua/${name}.lua`, import.meta.url), 'utf8');
}

/**
 * One run of a script (`lua/shared/gate.lua` tells what each of them takes first). Arguments are
 * texts or integers.
 */
export interface EvalCall {
  readonly sha: string;
  readonly keys: readonly string[];
  readonly runId: string;
  readonly offsetMs: number;
  readonly args: readonly (string | number)[];
}

/** Between two arguments: the end of one, and how many bytes the next one has. */
const headOf = (bytes: number): string => `\r\n$${bytes}\r\n`;
const HEADS: readonly string[] = Array.from({ length: 512 }, (_, bytes) => headOf(bytes));

/**
 * An EVALSHA of the client. The client's own method copies the arguments, flattens the copy and
 * looks at each of them again; with 30 to 40 of them that was a tenth of this process's work. Here
 * they are written down once, as texts, and made one text with two joints for each instead of five:
 * those were a third of this process's garbage.
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
