/** Date or number of a snapshot after a model's name. */
const SNAPSHOT = /[-@_](?:\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3})(?=$|[-@_:])/g;
/** Words that do not distinguish models. */
const SAME_MODEL: ReadonlySet<string> = new Set(['latest', 'preview', 'exp', 'experimental', 'maas', 'default']);
/** Version suffix of a name on Bedrock. */
const BEDROCK_VERSION = /-v\d+(?::\d+)?$/;

/**
 * Returns whether two names refer to the same model. Names may differ in a snapshot date, an alias,
 * the order of words, a publisher or a region. An alias that follows the newest model (`…-latest`)
 * matches any model.
 * @param asked the name that was sent
 */
export function isSameModel(asked: string, answered: string): boolean {
  if (asked === answered) return true;
  if (/(?:^|-)latest$/.test(asked) && !/\d/.test(asked)) return true;
  return toWords(asked) === toWords(answered);
}

const known = new Map<string, string>();
/** Maximum number of cached names. Providers may send any number of different names. */
const KNOWN_NAMES_MAX = 10_000;

function toWords(name: string): string {
  let words = known.get(name);
  if (words === undefined) {
    if (known.size >= KNOWN_NAMES_MAX) known.clear();
    known.set(name, (words = readWords(name)));
  }
  return words;
}

/** Numbers are versions or sizes. Their order distinguishes models (gpt-4.5, gpt-5.4). */
const isNumber = (word: string): boolean => /^\d/.test(word);

/**
 * Normalizes a name to its words in alphabetical order. Numbers come last, in their original order.
 */
function readWords(name: string): string {
  const own = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  // A region and a publisher, as in `us.anthropic.claude-…`: words without digits before a dot.
  const model = own.replace(/^(?:[a-z]+(?:-[a-z]+)*\.)+(?=[a-z])/, '').replace(BEDROCK_VERSION, '');
  // An option of the provider after a colon: `:free`, `:nitro`.
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
