import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { REFUSAL } from '@gateway/contracts/errors';
import type { RefusalRank } from '@gateway/contracts/errors';
import { SCRIPT_NAMES } from '../domain/script-call.js';
import type { ScriptName } from '../domain/script-call.js';

export interface Script {
  readonly text: string;
  /** SHA-1 of the text: the name under which Redis keeps it. */
  readonly sha: string;
}

const USES = /^-- uses: (.*)\n/m;
const RANK_NAMES = /\bREFUSAL\.(\w+)/g;
const RANKS: ReadonlyMap<string, RefusalRank> = new Map(Object.entries(REFUSAL));

/**
 * All scripts with the shared parts that their `-- uses:` line names, put in the line's place, and
 * with a number for each `REFUSAL.<code>`: Redis sees no table and looks nothing up.
 * @throws RangeError for a code that has no rank
 */
export function loadScripts(): Readonly<Record<ScriptName, Script>> {
  return Object.fromEntries(SCRIPT_NAMES.map((name) => [name, loadScript(name)])) as Record<ScriptName, Script>;
}

function loadScript(name: ScriptName): Script {
  const text = readLua(name)
    .replace(USES, (_line, parts: string) =>
      parts
        .split(' ')
        .map((part) => readLua(`shared/${part}`))
        .join('\n'),
    )
    .replace(RANK_NAMES, (_name, code: string) => String(rankOf(code)));
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

function rankOf(code: string): RefusalRank {
  const rank = RANKS.get(code);
  if (rank === undefined) throw new RangeError(`no refusal is called ${code}`);
  return rank;
}

function readLua(name: string): string {
  return readFileSync(new URL(`../../lua/${name}.lua`, import.meta.url), 'utf8');
}
