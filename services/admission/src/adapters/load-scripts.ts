import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { REFUSAL } from '@gateway/contracts/errors';
import { SCRIPT_NAMES } from '../domain/script-call.js';
import type { ScriptName } from '../domain/script-call.js';

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
