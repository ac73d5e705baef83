/** The parsed command line, before its command is known. */
export interface Arguments {
  readonly words: readonly string[];
  /** `--name value`, in the given order; `--name` alone has the value `true`. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly options: Readonly<Partial<Record<OptionName, string>>>;
}

export type OptionName = 'url' | 'token' | 'token-file' | 'state' | 'file' | 'idempotency-key';

const OPTIONS: Readonly<Record<string, OptionName>> = {
  '--url': 'url',
  '--token': 'token',
  '--token-file': 'token-file',
  '--state': 'state',
  '--file': 'file',
  '-f': 'file',
  '--idempotency-key': 'idempotency-key',
};

/**
 * Parses the command line. Throws if an option lacks its value. A value may begin with a minus sign
 * and a digit: `--amountUsd -5`.
 */
export function readArguments(line: readonly string[]): Arguments {
  const words: string[] = [];
  const fields: [string, string][] = [];
  const options: Partial<Record<OptionName, string>> = {};
  for (let at = 0; at < line.length; at += 1) {
    const word = line[at] as string;
    if (!/^-[-f]/.test(word)) {
      words.push(word);
      continue;
    }
    const [name = '', inline] = word.split(/=(.*)/s, 2);
    const next = line[at + 1];
    const isFollowed = inline === undefined && next !== undefined && !/^-[^\d]/.test(next);
    const value = inline ?? (isFollowed ? next : undefined);
    if (isFollowed) at += 1;
    const option = OPTIONS[name];
    if (option === undefined) fields.push([name.slice(2), value ?? 'true']);
    else if (value === undefined) throw new Error(`${name} needs a value`);
    else options[option] = value;
  }
  return { words, fields, options };
}
