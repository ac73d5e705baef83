import { loadScripts } from '@gateway/admission/limit-store/redis-scripts.js';
import type { ScriptName } from '@gateway/admission/limit-store/script-rules.js';
import { LuaRedis } from '../limit-store/lua-redis.js';

/** Changes the text of a script: for runs that must find a planted mistake. */
export type ChangeScript = (name: ScriptName, text: string) => string;

/**
 * Rows of ended periods go once a day, and weeks and sessions an hour after their end. A run is
 * shorter: here they go with each balance snapshot, and weeks and sessions before they have ended,
 * which the rule allows for every row that no call counts in.
 */
const SPANS: readonly (readonly [said: string, here: string])[] = [
  ['local LET_GO_MS = 86400000', 'local LET_GO_MS = 0'],
  ['local ENDED_MS = 3600000', 'local ENDED_MS = -1e15'],
];

/**
 * The limit store's scripts, ready to run. @throws Error unless the spans that a run shortens are
 * there
 */
export function openRedis(change: ChangeScript = (_name, text) => text): Promise<LuaRedis> {
  const scripts = loadScripts();
  for (const [said] of SPANS) if (!scripts.apply.text.includes(said)) throw new Error(`no script says ${said}`);
  const names = Object.keys(scripts) as ScriptName[];
  return LuaRedis.open(names, (name) => change(name, shortened(scripts[name].text)));
}

function shortened(text: string): string {
  return SPANS.reduce((changed, [said, here]) => changed.replace(said, here), text);
}
