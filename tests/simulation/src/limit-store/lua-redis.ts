import { readFileSync } from 'node:fs';
import { LuaFactory } from 'wasmoon';
import type { ScriptName, ScriptReply } from '@gateway/admission/limit-store/script-rules.js';

const SEPARATOR = '\u0001';
const NIL = '\u0002';
const ONE_ANSWER = 1;

/** Functions of the Lua machine that a call from JavaScript needs. */
interface LuaCalls {
  lua_getglobal(state: number, name: string): number;
  lua_pushstring(state: number, text: string): void;
  lua_pcallk(state: number, args: number, answers: number, handler: number, context: number, next: null): number;
  lua_tolstring(state: number, index: number, length: null): string;
  lua_settop(state: number, index: number): void;
}

/** Runs the limit store's scripts on a Redis in this process (`lua/redis.lua`). */
export class LuaRedis {
  private constructor(
    private readonly state: number,
    private readonly lua: LuaCalls,
  ) {}

  /** @param textOf returns the text of a script, including the shared parts */
  static async open(names: readonly ScriptName[], textOf: (name: ScriptName) => string): Promise<LuaRedis> {
    const engine = await new LuaFactory().createEngine();
    await engine.doString(readFileSync(new URL('../../lua/redis.lua', import.meta.url), 'utf8'));
    const redis = new LuaRedis(engine.global.address, engine.global.lua as unknown as LuaCalls);
    for (const name of names) redis.#call('install_script', [name, textOf(name)]);
    return redis;
  }

  /** @param nowMs the server's time, epoch milliseconds */
  run(script: ScriptName, nowMs: number, keys: readonly string[], args: readonly (string | number)[]): ScriptReply {
    const payload = [script, nowMs, keys.length, ...keys, ...args, ''].join(SEPARATOR);
    const reply = this.#call('run_script', [payload]);
    return reply.split(SEPARATOR).map((text) => (text === NIL ? (null as unknown as string) : text));
  }

  /** Returns an empty string if the key does not exist. */
  text(key: string): string {
    return this.#call('dump_text', [key]);
  }

  hash(key: string): Record<string, string> {
    const fields: Record<string, string> = {};
    const text = this.#call('dump_hash', [key]);
    if (text === '') return fields;
    const parts = text.split(SEPARATOR);
    for (let at = 0; at + 1 < parts.length; at += 2) fields[parts[at] ?? ''] = parts[at + 1] ?? '';
    return fields;
  }

  /** Returns the account keys. */
  accountKeys(): string[] {
    const text = this.#call('list_accounts', []);
    return text === '' ? [] : text.split(SEPARATOR);
  }

  /** Saves a copy of everything, like the server's file on disk. */
  keepCopy(): void {
    this.#call('keep_copy', []);
  }

  takeCopyBack(): void {
    this.#call('take_copy_back', []);
  }

  /** Saves the current state for {@link inSuperseded}. */
  splitOff(): void {
    this.#call('split_off', []);
  }

  /** Does `work` with the state that was split off, which changes independently. */
  inSuperseded<T>(work: () => T): T {
    this.#call('swap_superseded', []);
    try {
      return work();
    } finally {
      this.#call('swap_superseded', []);
    }
  }

  flush(): void {
    this.#call('flush', []);
  }

  beginAnew(): void {
    this.#call('begin_anew', []);
  }

  #call(name: string, args: readonly string[]): string {
    const { state, lua } = this;
    lua.lua_getglobal(state, name);
    for (const arg of args) lua.lua_pushstring(state, arg);
    const failed = lua.lua_pcallk(state, args.length, ONE_ANSWER, 0, 0, null) !== 0;
    const answer = lua.lua_tolstring(state, -1, null);
    lua.lua_settop(state, -2);
    if (failed) throw new Error(`lua: ${answer}`);
    return answer;
  }
}
