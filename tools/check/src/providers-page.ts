import type { ProviderProfile } from '@gateway/contracts/operator';

/** The table of providers and the notes after the last section of `docs/providers.md`. */
const TABLE = /^\| Provider .*\n(?:\|.*\n)+/m;
const NOTES = /(?<=^<!-- The table and these notes .*-->\n\n)[^]*/m;

/**
 * Replaces the table and the notes of the page "Connecting providers".
 * @throws Error if the page lacks one of them
 */
export function updateProvidersPage(page: string, profiles: readonly ProviderProfile[]): string {
  if (!TABLE.test(page) || !NOTES.test(page)) throw new Error('the page has no table or no comment before the notes');
  const head = '| Provider | `profile` | Base URL and `parameters` | Endpoints | Credential | Other prices |';
  const rows = profiles.map((profile) => `| ${[...rowOf(profile)].join(' | ')} |`);
  const table = [head, head.replace(/[^|]+/g, ' --- '), ...rows, ''].join('\n');
  return page.replace(TABLE, () => table).replace(NOTES, () => profiles.flatMap(notesOf).join('\n'));
}

function* rowOf(profile: ProviderProfile): Iterable<string> {
  const { id, name, documentation, base, parameters, endpoints, auth, keyVariable, pricing } = profile;
  yield documentation === null ? name : `[${name}](${documentation})`;
  yield code(id);
  const needed = Object.entries(parameters).map(([parameter, about]) => `${code(parameter)}: ${about}`);
  yield [base === null ? '`baseUrl` is required' : code(base), ...needed].join('<br>');
  yield Object.keys(endpoints)
    .map((endpoint) => code(endpoint.replace('/v1', '')))
    .join(' ');
  const ways = auth.map((way) => (way.type === 'header' ? code(way.header) : way.type));
  yield [ways.join(', ') || 'not needed', ...(keyVariable === null ? [] : [code(keyVariable)])].join('<br>');
  const classes = pricing.classes.flatMap(({ asks }) => Object.values(asks)).filter((name) => name !== 'standard');
  const units = pricing.tools.flatMap(({ unit, otherSizes = [] }) => [unit, ...otherSizes]);
  yield [...new Set([...classes, ...units])].map(code).join(' ') || 'none known';
}

function notesOf({
  name,
  catches,
  refuses,
  forwardHeaders = [],
  body,
  streamUsage,
  totalExtra,
  keepsState,
  pricing,
  checked,
}: ProviderProfile): string[] {
  const notes = [...catches];
  if (refuses.length > 0) notes.push(`It rejects these fields: ${refuses.map(code).join(', ')}.`);
  if (forwardHeaders.length > 0)
    notes.push(`The edge also forwards these client headers: ${forwardHeaders.map(code).join(', ')}.`);
  for (const { field, betas = [] } of pricing.classes)
    if (betas.length > 0)
      notes.push(
        `Betas that begin with ${betas.map(code).join(', ')} are forwarded if \`${field}\` selects a class with a price.`,
      );
  const changed = Object.keys(body);
  if (changed.length > 0)
    notes.push(`The gateway changes requests to ${changed.map(code).join(', ')} for this provider.`);
  if (streamUsage !== 'asked')
    notes.push(
      'It does not support `stream_options`. The gateway removes them, and adds usage itself for a client that requested it.',
    );
  if (totalExtra === 'output') notes.push('Tokens in its total beyond input and output are charged as output.');
  if (pricing.reportedCostAt !== undefined)
    notes.push('The cost that its responses report becomes the recorded cost of an attempt.');
  if (keepsState)
    notes.push('It stores responses. A request that references one of the account goes to the source that has it.');
  if (notes.length === 0) return [];
  return [`## ${name}`, '', `Compared with public reports on ${checked}.`, '', ...notes.map((note) => `- ${note}`), ''];
}

const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``;
