import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { SCRIPT_NAMES } from '../domain/script-call.js';
import type { ScriptName } from '../domain/script-call.js';

export interface Script {
  readonly text: string;
  /** SHA-1 of the text: the name under which Redis keeps it. */
  readonly sha: string;
}

const USES = /^-- uses: (.*)\n/m;

/** All scripts with the shared parts that their `-- uses:` line names, put in the line's place. */
export function loadScripts(): Readonly<Record<ScriptName, Script>> {
  return Object.fromEntries(SCRIPT_NAMES.map((name) => [name, loadScript(name)])) as Record<ScriptName, Script>;
}

function loadScript(name: ScriptName): Script {
  const text = readLua(name).replace(USES, (_line, parts: string) =>
    parts
      .split(' ')
      .map((part) => readLua(`shared/${part}`))
      .join('\n'),
  );
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

function readLua(name: string): string {
  return readFileSync(new URL(`../../lua/${name}.lua`, import.meta.url), 'utf8');
}
