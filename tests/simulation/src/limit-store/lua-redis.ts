import { readFileSync } from 'node:fs';
import { LuaFactory } from 'wasmoon';
import { loadScripts } from '@gateway/admission/limit-store/redis-scripts.js';
import type { ScriptName, ScriptReply } from '@gateway/admission/limit-store/script-rules.js';

const SEPARATOR = '\u0001';
const NIL = '\u0002';
const ONE_ANSWER = 1;

/**
 * Admission drops rows of ended periods once a day, and weeks and sessions an hour after their end.
 * A run is shorter. Here rows are dropped with each balance snapshot, and weeks and sessions before
 * their end. The rule allows that for every row that no call counts in.
 */
const SPANS: readonly (readonly [said: string, here: string])[] = [
  ['local DROP_ENDED_MS = 86400000', 'local DROP_ENDED_MS = 0'],
  ['local ENDED_MS = 3600000', 'local ENDED_MS = -1e15'],
];

/** Functions of the Lua machine that a call from JavaScript needs. */
interface LuaCalls {
  lua_getglobal(state: number, name: string): number;
  lua_pushstring(state: number, text: string): void;
  lua_pcallk(state: number, args: number, answers: number, handler: number, context: number, next: null): number;
  lua_tolstring(state: number, index: number, length: null): string;
  lua_settop(state: number, index: number): void;
}

/** A server whose data is kept (`lua/redis.lua`). `none` has no data. */
export type DataOf = 'main' | 'file' | 'superseded' | 'none';

/** Runs the limit store's scripts on a Redis in this process (`lua/redis.lua`). */
export class LuaRedis {
  private constructor(
    private readonly state: number,
    private readonly lua: LuaCalls,
  ) {}

  /**
   * @param change changes the text of a script to plant a mistake
   * @throws Error if a script does not contain the spans to shorten
   */
  static async open(change: (text: string) => string = (text) => text): Promise<LuaRedis> {
    const engine = await new LuaFactory().createEngine();
    await engine.doString(readFileSync(new URL('../../lua/redis.lua', import.meta.url), 'utf8'));
    const redis = new LuaRedis(engine.global.address, engine.global.lua as unknown as LuaCalls);
    const scripts = loadScripts();
    for (const [said] of SPANS) if (!scripts.apply.text.includes(said)) throw new Error(`no script contains: ${said}`);
    for (const [name, { text }] of Object.entries(scripts)) {
      const shortened = SPANS.reduce((changed, [said, here]) => changed.replace(said, here), text);
      redis.#call('install_script', name, change(shortened));
    }
    return redis;
  }

  /** @param nowMs the server's time, epoch milliseconds */
  run(script: ScriptName, nowMs: number, keys: readonly string[], args: readonly (string | number)[]): ScriptReply {
    const payload = [script, nowMs, keys.length, ...keys, ...args, ''].join(SEPARATOR);
    const reply = this.#call('run_script', payload);
    return reply.split(SEPARATOR).map((text) => (text === NIL ? (null as unknown as string) : text));
  }

  /** Returns an empty string if the key does not exist. */
  text(key: string): string {
    return this.#call('dump_text', key);
  }

  hash(key: string): Record<string, string> {
    const fields: Record<string, string> = {};
    const text = this.#call('dump_hash', key);
    if (text === '') return fields;
    const parts = text.split(SEPARATOR);
    for (let at = 0; at + 1 < parts.length; at += 2) fields[parts[at] ?? ''] = parts[at + 1] ?? '';
    return fields;
  }

  /** Returns the account keys. */
  accountKeys(): string[] {
    const text = this.#call('list_accounts');
    return text === '' ? [] : text.split(SEPARATOR);
  }

  /** Replaces the data of a server by a copy of another one's. */
  copyData(from: DataOf, to: DataOf): void {
    this.#call('copy_data', from, to);
  }

  /** Does `work` with the data of the superseded server, which changes independently. */
  inSuperseded<T>(work: () => T): T {
    this.#call('select_server', 'superseded');
    try {
      return work();
    } finally {
      this.#call('select_server', 'main');
    }
  }

  beginAnew(): void {
    this.#call('begin_anew');
  }

  #call(name: string, ...args: readonly string[]): string {
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
