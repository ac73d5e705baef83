import { Command } from 'ioredis';

/** One run of a script (`lua/shared/gate.lua` tells what each of them takes first). Arguments are texts or integers. */
export interface EvalCall {
  readonly sha: string;
  readonly keys: readonly string[];
  readonly runId: string;
  readonly offsetMs: number;
  readonly args: readonly (string | number)[];
}

/**
 * An EVALSHA of the client. The client's own method copies the arguments, flattens the copy and looks at each of them again;
 * with 30 to 40 of them that was a tenth of this process's work. Here they are written down once, as texts.
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
}
