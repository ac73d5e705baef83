import { loadScripts } from '@gateway/admission/limit-store/redis-scripts.js';
import type { ScriptName } from '@gateway/admission/limit-store/script-rules.js';
import { LuaRedis } from '../limit-store/lua-redis.js';

/** Changes the text of a script to plant a mistake. */
export type ChangeScript = (name: ScriptName, text: string) => string;

/**
 * Admission drops rows of ended periods once a day, and weeks and sessions an hour after their end.
 * A run is shorter. Here rows are dropped with each balance snapshot, and weeks and sessions before
 * their end. The rule allows that for every row that no call counts in.
 */
const SPANS: readonly (readonly [said: string, here: string])[] = [
  ['local DROP_ENDED_MS = 86400000', 'local DROP_ENDED_MS = 0'],
  ['local ENDED_MS = 3600000', 'local ENDED_MS = -1e15'],
];

/**
 * Loads the limit store's scripts. @throws Error if a script does not contain the spans to shorten
 */
export function openRedis(change: ChangeScript = (_name, text) => text): Promise<LuaRedis> {
  const scripts = loadScripts();
  for (const [said] of SPANS) if (!scripts.apply.text.includes(said)) throw new Error(`no script contains: ${said}`);
  const names = Object.keys(scripts) as ScriptName[];
  return LuaRedis.open(names, (name) => change(name, shortened(scripts[name].text)));
}

function shortened(text: string): string {
  return SPANS.reduce((changed, [said, here]) => changed.replace(said, here), text);
}
