import { loadScripts } from '@gateway/admission/cores';
import type { ScriptName } from '@gateway/admission/cores';
import { LuaRedis } from '../gate/lua-redis.js';

/** Changes the text of a script: for runs that must find a planted mistake. */
export type ChangeScript = (name: ScriptName, text: string) => string;

/** The gate's scripts, ready to run. */
export function openRedis(change: ChangeScript = (_name, text) => text): Promise<LuaRedis> {
  const scripts = loadScripts();
  const names = Object.keys(scripts) as ScriptName[];
  return LuaRedis.open(names, (name) => change(name, scripts[name].text));
}
