/** A day, a month or a number of a snapshot behind a model's name. */
const SNAPSHOT = /[-@_](?:\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3})(?=$|[-@_:])/g;
/** Words of names that do not tell one model from another. */
const SAME_MODEL: ReadonlySet<string> = new Set(['latest', 'preview', 'exp', 'experimental', 'maas', 'default']);
/** The version of a name on Bedrock. */
const BEDROCK_VERSION = /-v\d+(?::\d+)?$/;

/**
 * Whether two names are of the same model: a dated snapshot, an alias, another order of words, a
 * publisher or a region in front do not make another one. An alias that follows the newest model
 * (`…-latest`) is the same as any.
 * @param asked the name that was sent
 */
export function isSameModel(asked: string, answered: string): boolean {
  if (asked === answered) return true;
  if (/(?:^|-)latest$/.test(asked) && !/\d/.test(asked)) return true;
  return wordsOf(asked) === wordsOf(answered);
}

const known = new Map<string, string>();
/** Names come from providers, so there may be any number of them. */
const KNOWN_NAMES_MAX = 10_000;

function wordsOf(name: string): string {
  let words = known.get(name);
  if (words === undefined) {
    if (known.size >= KNOWN_NAMES_MAX) known.clear();
    known.set(name, (words = readWords(name)));
  }
  return words;
}

/** A version, or a size: their order tells models apart (gpt-4.5, gpt-5.4). */
const isNumber = (word: string): boolean => /^\d/.test(word);

/** Numbers come last, in their own order. */
function readWords(name: string): string {
  const own = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  // A region and a publisher, as in `us.anthropic.claude-…`: words without digits before a dot.
  const model = own.replace(/^(?:[a-z]+(?:-[a-z]+)*\.)+(?=[a-z])/, '').replace(BEDROCK_VERSION, '');
  // An option behind a colon is the provider's: `:free`, `:nitro`.
  const [plain = ''] = model.split(':');
  return plain
    .replace(SNAPSHOT, '')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '' && !SAME_MODEL.has(word))
    .sort((one, other) =>
      isNumber(one) || isNumber(other) ? Number(isNumber(one)) - Number(isNumber(other)) : one < other ? -1 : 1,
    )
    .join(' ');
}
