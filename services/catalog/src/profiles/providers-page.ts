import type { ProviderProfile } from '@gateway/contracts/operator';

/** The page "Connecting providers", which a test compares with `docs/providers.md`. */
export function providersPage(profiles: readonly ProviderProfile[]): string {
  const rows = profiles.map((profile) => `| ${[...rowOf(profile)].join(' | ')} |`);
  return [
    '# Connecting providers',
    '',
    '<!-- Written from services/catalog/src/profiles by its test with UPDATE_GOLDEN=1. -->',
    '',
    'A source names a **profile**: what is known of its provider. Every setting that a source does not have itself is the',
    "profile's. The facts behind each profile, with where and when they were found, are in `services/catalog/profiles`;",
    'what was not found out is left as the format of the provider has it. All settings of a source are in',
    '[SOURCES.md](../services/catalog/SOURCES.md).',
    '',
    '```json',
    '{ "modelId": "openai/gpt-6.1-terra", "providerId": "openai", "profile": "openai", "upstreamModel": "gpt-6.1-terra" }',
    '```',
    '',
    'The commands below connect a provider with the models, prices and costs of the list that comes with the gateway, and',
    'compare costs with a public list. They show what would change; `--apply` changes it. A key is read from the variable',
    'that the table names, or from the one of `--key-env`, and is the credential of the provider: of all its sources that',
    'have none of their own. After `--apply` the cheapest model gets a test request. The new sources take requests only',
    'if it works; `sources test` repeats it at any time. `--from models.dev`, `litellm` or `provider` adds models that the',
    'list does not have, `--models NAME=DEPLOYMENT` names a deployment at Azure, and `--cost` gives costs that no list has.',
    '',
    '```sh',
    'npm run operator -- providers profiles',
    'npm run operator -- providers add openai --models gpt-6.1-terra,gpt-6.1-sol --markup 20',
    'npm run operator -- sources test openai-gpt-6.1-terra',
    'npm run operator -- prices compare --from bundled',
    '```',
    '',
    '| Provider | `profile` | Address and `parameters` | Endpoints | Credential | Sold beside tokens |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
    '**Sold beside tokens**: price classes that a request can ask for, and tools that the provider charges by use. A',
    'request for a class or a tool without a price goes to another source, or gets 503 `model_not_priced`. Tools that the',
    'client runs cost tokens only; `freeTools` of a source adds to those that its profile knows.',
    '',
    '## Watching costs',
    '',
    'Providers change prices about every month. `prices watch` compares the costs in force with public lists, and with the',
    'costs that OpenRouter, xAI and Perplexity report in their responses. It stores a proposal and never applies it. Other',
    'differences than at the check before raise the alert `GatewayCostsDiffer` once: a metric and a log line of the catalog',
    'that names the models. The same differences on another day raise none.',
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
    '  `node services/dashboard/dist/operator-cli/main.js prices watch --at 06:30`. A start after the set time catches up. Of',
    '  several replicas one does the check of a day. A failed check is repeated every 15 minutes.',
    '- The lists are models.dev, LiteLLM and the bundled list; the first that has a source counts. `--from` chooses others,',
    '  `--list-url litellm=https://…` names an address of yours: at most 64 MiB within a minute, over https, and not at a',
    '  private address unless `GATEWAY_ALLOW_PRIVATE_SOURCES` is on. If a list cannot be read, nothing is proposed.',
    '- `--markup 20` proposes prices too; without it only costs. Prices that would be below cost are printed.',
    '- A reported cost counts from 20 requests of a source in the last day (the newest 2,000 are read) and from a difference',
    '  of 2 % on. No figures follow from it: compare the costs with the invoice.',
    '- The document has the objects as they are when it is written, with nothing but costs and prices changed.',
    '- What a list has and the catalog has no place for, such as cached audio, batches or regional factors, is printed as',
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
  yield [base === null ? '`baseUrl` is needed' : code(base), ...needed].join('<br>');
  yield Object.keys(endpoints)
    .map((endpoint) => code(endpoint.replace('/v1', '')))
    .join(' ');
  const ways = auth.map((way) => (way.type === 'header' ? code(way.header) : way.type));
  yield [ways.join(', ') || 'none needed', ...(keyVariable === null ? [] : [code(keyVariable)])].join('<br>');
  const classes = pricing.classes.flatMap(({ asks }) => Object.values(asks)).filter((name) => name !== 'standard');
  const units = pricing.tools.flatMap(({ unit, otherSizes = [] }) => [unit, ...otherSizes]);
  yield [...new Set([...classes, ...units])].map(code).join(' ') || 'nothing known';
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
  if (refuses.length > 0) notes.push(`Answers these fields with an error: ${refuses.map(code).join(', ')}.`);
  if (forwardHeaders.length > 0)
    notes.push(`The edge forwards these client headers too: ${forwardHeaders.map(code).join(', ')}.`);
  for (const { field, betas = [] } of pricing.classes)
    if (betas.length > 0)
      notes.push(
        `Betas that begin with ${betas.map(code).join(', ')} go on if \`${field}\` asks for a class that the model has a price for.`,
      );
  const changed = Object.keys(body);
  if (changed.length > 0) notes.push(`The gateway changes requests to ${changed.map(code).join(', ')} for it.`);
  if (streamUsage !== 'asked')
    notes.push(
      'It knows no `stream_options`: the gateway leaves them out, and tells a client that asked for usage itself.',
    );
  if (totalExtra === 'output') notes.push('What its total has beyond input and output is charged as output.');
  if (pricing.reportedCostAt !== undefined)
    notes.push('The cost that its responses report is the recorded cost of an attempt.');
  if (keepsState)
    notes.push('It keeps responses: a request that names one of the account goes to the source that has it.');
  if (notes.length === 0) return [];
  return [`## ${name}`, '', `Compared with public reports on ${checked}.`, '', ...notes.map((note) => `- ${note}`), ''];
}

const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``;
