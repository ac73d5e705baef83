import type { ProviderProfile } from '@gateway/contracts/operator';

/** Builds the page "Connecting providers". A test compares it with `docs/providers.md`. */
export function providersPage(profiles: readonly ProviderProfile[]): string {
  const rows = profiles.map((profile) => `| ${[...rowOf(profile)].join(' | ')} |`);
  return [
    '# Connecting providers',
    '',
    '<!-- Written from libs/contracts/src/providers by its test with UPDATE_GOLDEN=1. -->',
    '',
    'A source names a **profile**, which describes its provider. A setting that the source does not have comes from the',
    'profile. The facts behind each profile, with their sources and dates, are in `libs/contracts/src/providers`. A fact that is',
    "not known has the default of the provider's format. [SOURCES.md](../services/catalog/SOURCES.md) describes all settings of",
    'a source.',
    '',
    '```json',
    '{ "modelId": "openai/gpt-6.1-terra", "providerId": "openai", "profile": "openai", "upstreamModel": "gpt-6.1-terra" }',
    '```',
    '',
    'The commands below connect a provider with the models, prices and costs of the bundled list, and compare costs with a',
    'public list. They show the changes, and `--apply` makes them. The key is read from the variable in the table, or from',
    'the one of `--key-env`. It becomes the credential of the provider, which all its sources without their own one use.',
    'After `--apply` the cheapest model gets a test request. The new sources take requests only if it works. `sources test`',
    'repeats the test at any time. `--from models.dev`, `litellm` or `provider` adds models that the bundled list does not',
    'have, `--models NAME=DEPLOYMENT` names a deployment at Azure, and `--cost` sets costs that no list has.',
    '',
    '```sh',
    'npm run operator -- providers profiles',
    'npm run operator -- providers add openai --models gpt-6.1-terra,gpt-6.1-sol --markup 20',
    'npm run operator -- sources test openai-gpt-6.1-terra',
    'npm run operator -- prices compare --from bundled',
    '```',
    '',
    '| Provider | `profile` | Base URL and `parameters` | Endpoints | Credential | Other prices |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
    '**Other prices**: price classes that a request can select, and tools that the provider charges per use. A request for',
    'a class or a tool without a price goes to another source, or gets 503 `model_not_priced`. Tools that the client runs',
    'cost tokens only. `freeTools` of a source adds to the list of its profile.',
    '',
    '## Watching costs',
    '',
    'Providers change prices about every month. `prices watch` compares the costs in force with public lists, and with the',
    'costs that OpenRouter, xAI and Perplexity report in their responses. It stores a proposal and never applies it. If the',
    'differences changed since the last check, the alert `GatewayCostsDiffer` is raised once: a metric, and a log line of the',
    'catalog that lists the models. Equal differences on another day raise no alert.',
    '',
    '```sh',
    'npm run operator -- prices watch --once                  # now: for cron, a Kubernetes CronJob, or to try it',
    'npm run operator -- prices watch --at 06:30              # each day at 06:30 UTC, until it is stopped',
    'npm run operator -- prices proposal                      # old and new figures, and prices below cost',
    'npm run -s operator -- prices proposal --document > proposal.json',
    'npm run operator -- apply -f proposal.json --dry-run     # then without --dry-run',
    '```',
    '',
    '- It runs where you start it, with a token of the role `operator` (`--token-file`). In the image the command is',
    '  `node services/dashboard/dist/operator-cli/main.js prices watch --at 06:30`. A start after the set time catches up. If',
    '  there are several replicas, one does the check of a day. A failed check is repeated every 15 minutes.',
    '- The lists are models.dev, LiteLLM and the bundled list. The first list that has a source is used. `--from` selects',
    '  others. `--list-url litellm=https://…` sets your own URL: at most 64 MiB within a minute, over https, and not at a',
    '  private address unless `GATEWAY_ALLOW_PRIVATE_SOURCES` is on. If a list cannot be read, nothing is proposed.',
    '- `--markup 20` proposes prices too, else only costs are proposed. Prices below cost are printed.',
    '- A reported cost is used from 20 requests of a source in the last day (the newest 2,000 are read) and from a difference',
    '  of 2 % on. It does not change any figures: compare the costs with the invoice.',
    '- The document has the current objects at the time of writing, with only costs and prices changed.',
    '- Figures of a list that the catalog cannot store, such as cached audio, batches or regional factors, are printed as',
    '  `not read` by `prices compare`.',
    '',
    ...profiles.flatMap(notesOf),
  ].join('\n');
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
