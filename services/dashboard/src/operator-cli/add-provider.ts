import {
  APPLY_OBJECTS_MAX,
  scalars,
  type ApplyAnswer,
  type ModelView,
  type ProviderProfile,
  type ProviderView,
  type SourceView,
} from '@gateway/contracts/operator';
import { bundledPrices, findLaterCosts, type ListedModel } from '../price-lists/bundled-list.js';
import { cheapestFirst } from '../price-lists/margins.js';
import {
  enabledSources,
  planProvider,
  type PlannedModel,
  type ProviderRequest,
} from '../price-lists/provider-document.js';
import type { Gateway, OperatorApi } from './operator-api.js';
import { readOptions, UsageError, type Output, type Program, type ProgramContext } from './program.js';
import {
  readCredential,
  fillParameters,
  parseCosts,
  parseMarkup,
  buildModelsRequest,
  selectModels,
  parseParameters,
  parseModels,
  type Offer,
} from './provider-options.js';
import {
  formatList,
  listReading,
  readBundledList,
  readPriceList,
  readProvider,
  type ListPlace,
  type ListReading,
} from './read-list.js';
import { testSource } from './test-source.js';
import { formatBelowCost, formatMargin, formatPrices, formatUnread } from './words.js';

/** `providers add openai`: adds a provider with models from a list or from its own model list. */
export const ADD_PROVIDER: Program = {
  name: ['providers', 'add'],
  form:
    'providers add <profile> [--from bundled|models.dev|litellm|provider [--file F | --list-url U]] ' +
    '[--models a,b*,c=deployment | all] [--cost model=input/output[/cached[/write]]]… [--key-env NAME | --no-key] ' +
    '[--markup 20] [--id ID] [--param region=eu-west-1]… [--base-url URL] [--below-cost] [--apply] [--no-test]',
  run: addProvider,
};

/** Most models tested until one works. The account at the provider may lack the cheapest one. */
const TESTED_MAX = 3;

async function addProvider(context: ProgramContext): Promise<number> {
  const { words, fields, file, api, env, clock, gateway, to } = context;
  const options = readOptions(fields, {
    flags: ['no-key', 'apply', 'below-cost', 'no-test'],
    values: ['key-env', 'id', 'models', 'param', 'markup', 'base-url', 'from', 'list-url', 'cost'],
  });
  const profile = await findProfile(api, words);
  const baseUrl = options.one('base-url');
  const parameters = parseParameters(profile, options.all('param'), baseUrl);
  const markup = parseMarkup(options.one('markup')) ?? 0n;
  const address = fillParameters(baseUrl ?? profile.base ?? '', parameters);
  const wanted = parseModels(options.one('models'));
  const key = { keyEnv: options.one('key-env'), noKey: options.flags.has('no-key') };
  const from = options.one('from') ?? 'bundled';
  if (from !== 'bundled' && options.one('models') === null)
    throw new UsageError(
      `--from ${from}: name the models with --models a,b, the beginning of their names (a*), or all`,
    );
  const offer = await readOffer({
    profile,
    from,
    place: { file, url: options.one('list-url') },
    costs: parseCosts(options.all('cost')),
    request: () => buildModelsRequest(profile, { parameters, baseUrl, credential: readCredential(profile, key, env) }),
    parameters,
    reading: listReading(context),
  });
  const models = selectModels({ ...offer, today: new Date(clock.nowMs()).toISOString().slice(0, 10) }, wanted);

  const sources = await api.list<SourceView>('/sources');
  const { providerId, there } = await findProvider(api, { profile, id: options.one('id'), address, sources });
  const keepsKey = key.keyEnv === null && there?.hasCredential === true;
  const credential = keepsKey ? null : readCredential(profile, key, env);
  const isTested = !options.flags.has('no-test');
  const request: ProviderRequest = {
    profile,
    providerId,
    there,
    models,
    modelsThere: await findExisting(models, (id) => api.find<ModelView>(`/models/${id}`)),
    sourcesThere: new Map(sources.map((source) => [source.id, source])),
    parameters,
    baseUrl,
    credential,
    markup,
    enabled: !isTested,
  };
  const plan = planProvider(request);
  if (plan.objects.length > APPLY_OBJECTS_MAX)
    throw new UsageError(
      `${plan.objects.length} objects are too many for one change, of at most ${APPLY_OBJECTS_MAX}: name fewer --models`,
    );
  const tried = await api.post<ApplyAnswer>('/apply?dryRun=true', { objects: plan.objects });
  to.out(`${offer.dated}. Prices in USD, token prices per million tokens.\n`);
  if (providerId !== profile.id && options.one('id') === null)
    to.out(
      `Provider ${profile.id} has another address and is unchanged; this one is ${providerId} (--id changes it).\n`,
    );
  const change = new Map(tried.changes.map((one) => [`${one.kind} ${one.id}`, one.change]));
  to.out(`provider ${providerId} (${profile.name}): ${change.get(`provider ${providerId}`) ?? 'unchanged'}\n`);
  if (there !== null && credential !== null) to.out('  its credential is replaced, for all its sources that use it\n');
  for (const model of plan.models) to.out(formatModel(model, change, sources));
  const below = plan.models.flatMap(({ listed, margin }) => formatBelowCost(listed.id, margin));
  for (const line of below) to.error(`${line}\n`);

  if (!options.flags.has('apply')) {
    to.out('\nDry run: nothing is changed. The same command with --apply puts it in force.\n');
    return 0;
  }
  if (below.length > 0 && !options.flags.has('below-cost')) {
    to.error('\nNothing is changed: prices are below cost. Change them, or use --below-cost.\n');
    return 1;
  }
  let { inForce } = await api.post<ApplyAnswer>('/apply', { objects: plan.objects });
  if (plan.later.length > 0) await api.post<ApplyAnswer>('/apply', { objects: plan.later });
  const disabled = findSourcesToEnable(
    plan.models,
    sources.filter((source) => source.providerId === providerId),
    wanted !== null,
  );
  let shown = sortByCost(plan.models);
  if (isTested) {
    to.out('\nA test request to the cheapest model (--no-test skips it):\n');
    const tested = await testUntilOneWorks(api, plan.models, to);
    if (tested.working === null) {
      for (const line of formatDisabled(disabled)) to.error(line);
      return 1;
    }
    shown = [tested.working];
    const enabled = disabled.filter(({ sourceId }) => !tested.unknown.includes(sourceId));
    if (enabled.length > 0) {
      ({ inForce } = await api.post<ApplyAnswer>('/apply', { objects: enabledSources(request, enabled) }));
      to.out(`Enabled: ${enabled.map(({ sourceId }) => sourceId).join(', ')}.\n`);
    }
  }
  to.out(nextSteps(inForce, shown[0] ?? null, gateway, from));
  return 0;
}

interface DatedOffer extends Omit<Offer, 'today'> {
  /** The name and age of the list, for the first line of the output. */
  readonly dated: string;
}

/** Reads the list that `--from` names. @throws Unfit */
async function readOffer({
  profile,
  from,
  place,
  costs,
  request,
  parameters,
  reading,
}: {
  profile: ProviderProfile;
  from: string;
  place: ListPlace;
  costs: Offer['costs'];
  request: () => ReturnType<typeof buildModelsRequest>;
  parameters: Readonly<Record<string, string>>;
  reading: ListReading;
}): Promise<DatedOffer> {
  const bundled = readBundledList(reading.nowMs);
  const known = [...new Set(bundled.models.map(({ id }) => id))];
  const common = { profile, costs, known };
  if (from === 'provider') {
    if (place.file !== null || place.url !== null)
      throw new UsageError('--from provider reads the provider: omit --file and --list-url');
    const { url, headers } = request();
    const listed = bundledPrices(bundled);
    const models = (await readProvider(url, headers)).map((model) => ({
      ...model,
      costs: model.costs ?? listed.find({ profile: profile.id, upstreamModel: model.model, parameters }),
    }));
    return { ...common, models, from: url, dated: `Models of ${url}, as of now` };
  }
  const dated = await readPriceList(from, place, reading);
  const models = dated.list.models({ profile: profile.id, parameters });
  const name = from === 'bundled' ? 'the bundled list' : `the list ${from}`;
  return { ...common, models, from: name, dated: formatList(dated, reading.nowMs) };
}

/**
 * Returns the provider to add to: the named one or the profile's. A provider with the profile's ID
 * whose sources lead elsewhere, such as to a simulation, never gets the key; `<profile>-real` is
 * used instead.
 * @throws Unfit where the named one leads elsewhere too
 */
async function findProvider(
  api: OperatorApi,
  {
    profile,
    id,
    address,
    sources,
  }: { profile: ProviderProfile; id: string | null; address: string; sources: readonly SourceView[] },
): Promise<{ readonly providerId: string; readonly there: ProviderView | null }> {
  const usual = id ?? profile.id;
  if (!scalars.objectId.safeParse(usual).success) throw new UsageError(`--id ${usual}: not a valid provider ID`);
  for (const providerId of id === null ? [usual, `${profile.id}-real`] : [usual]) {
    const there = await api.find<ProviderView>(`/providers/${providerId}`);
    if (there === null) return { providerId, there };
    const foreign = sources.find((one) => one.providerId === providerId && !isOf(one, profile, address));
    if (there.format === profile.format && foreign === undefined) return { providerId, there };
    if (id !== null || providerId !== usual)
      throw new UsageError(
        foreign === undefined
          ? `provider ${providerId} exists with format ${there.format}: choose another --id`
          : `provider ${providerId} exists, and its source ${foreign.id} leads to ${foreign.baseUrl}: choose another --id`,
      );
  }
  throw new UsageError(`choose an --id for ${profile.id}`);
}

function isOf({ profile, baseUrl }: SourceView, own: ProviderProfile, address: string): boolean {
  if (profile !== own.id) return false;
  return !URL.canParse(baseUrl) || !URL.canParse(address) || new URL(baseUrl).origin === new URL(address).origin;
}

/** Returns the models ordered by the cost of a short request, chat models first. */
function sortByCost(models: readonly PlannedModel[]): PlannedModel[] {
  const byCost = cheapestFirst(models.map((planned) => ({ planned, costs: planned.listed.costs })));
  const all = byCost.map(({ planned }) => planned);
  return [...all.filter(({ listed }) => listed.kind === 'chat'), ...all.filter(({ listed }) => listed.kind !== 'chat')];
}

/** Tests models until one works. Stops at a failure that is not about the model. */
async function testUntilOneWorks(
  api: OperatorApi,
  models: readonly PlannedModel[],
  to: Output,
): Promise<{ readonly working: PlannedModel | null; readonly unknown: readonly string[] }> {
  const unknown: string[] = [];
  for (const planned of sortByCost(models).slice(0, TESTED_MAX)) {
    const { works, calls } = await testSource(api, planned.sourceId, to);
    if (works) return { working: planned, unknown };
    if (!calls.some(({ finding }) => finding === 'model' || finding === 'path')) break;
    unknown.push(planned.sourceId);
  }
  return { working: null, unknown };
}

/**
 * Returns the sources that a working test enables: new ones, and those that an earlier test left
 * disabled. An operator may have disabled a source on purpose, so if the provider has an enabled
 * source, others are enabled only if they are named.
 */
function findSourcesToEnable(
  models: readonly PlannedModel[],
  own: readonly SourceView[],
  isNamed: boolean,
): PlannedModel[] {
  const serves = own.some(({ enabled }) => enabled);
  return models.filter(({ sourceThere }) => sourceThere === null || (!sourceThere.enabled && (isNamed || !serves)));
}

function formatDisabled(disabled: readonly PlannedModel[]): string[] {
  if (disabled.length === 0) return [];
  return [
    `\nDisabled until a test works: ${disabled.map(({ sourceId }) => sourceId).join(', ')}.\n`,
    'Correct what the test reports, for example the key in its variable, and run the same command again with ' +
      '--key-env NAME: it replaces the key, tests and enables them.\n',
  ];
}

async function findProfile(api: OperatorApi, words: readonly string[]): Promise<ProviderProfile> {
  const { data } = await api.get<{ data: ProviderProfile[] }>('/profiles');
  const [id, ...others] = words;
  const profile = others.length > 0 ? undefined : data.find((one) => one.id === id);
  if (profile !== undefined) return profile;
  throw new UsageError(`name one profile: ${data.map((one) => one.id).join(', ')}`);
}

/** Returns the objects that exist already, by ID. */
async function findExisting<T>(
  models: readonly ListedModel[],
  find: (id: string) => Promise<T | null>,
): Promise<Map<string, T>> {
  const all = new Map<string, T>();
  for (const id of new Set(models.map((model) => model.id))) {
    const one = await find(id);
    if (one !== null) all.set(id, one);
  }
  return all;
}

function formatModel(model: PlannedModel, change: ReadonlyMap<string, string>, sources: readonly SourceView[]): string {
  const { listed, sourceId, prices, margin, isModelThere, sourceThere } = model;
  const others = sources.filter((one) => one.modelId === listed.id && one.id !== sourceId && one.enabled);
  const source =
    sourceThere === null
      ? (change.get(`source ${sourceId}`) ?? 'unchanged')
      : sourceThere.enabled
        ? 'exists, unchanged'
        : 'exists, disabled';
  const lines = [
    `model ${listed.id} (${listed.displayName}): ${change.get(`model ${listed.id}`) ?? 'unchanged'}`,
    prices === null
      ? '  it has no price, so it is not sold: set one'
      : `  price ${formatPrices(prices)}${isModelThere ? ' (unchanged)' : ''}`,
    `  cost ${formatPrices(listed.costs)} (read ${listed.date})`,
    ...(listed.computed.length === 0 ? [] : [`  not in the list and computed: ${listed.computed.join(', ')}`]),
    ...formatUnread(listed.unread),
    ...formatDates(listed),
    ...(prices === null ? [] : [`  ${formatMargin(margin)}`]),
    ...(listed.note === undefined ? [] : [`  note: ${listed.note}`]),
    `  source ${sourceId}${listed.model === listed.id.slice(listed.id.indexOf('/') + 1) ? '' : ` (${listed.model})`}: ${source}`,
    ...(others.length === 0 ? [] : [`  also served by ${others.map(({ id }) => id).join(', ')}`]),
  ];
  return `${lines.join('\n')}\n`;
}

function nextSteps(inForce: boolean, model: PlannedModel | null, gateway: Gateway | null, from: string): string {
  const [endpoint = '/v1/chat/completions'] = model?.listed.endpoints ?? [];
  const body = JSON.stringify({ model: model?.listed.id ?? '', ...(CONTENT[endpoint] ?? CHAT) });
  const url = gateway?.url ?? '<address of the gateway>';
  const key = gateway?.apiKey ?? '<API key>';
  return [
    '',
    inForce ? 'In force on every replica.' : 'Changed; the remaining replicas follow shortly.',
    'Try next:',
    `  curl ${url}${endpoint} -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '${body}'`,
    '  npm run operator -- sources test <source>',
    `  npm run operator -- prices compare --from ${from === 'provider' ? 'bundled' : from}`,
    '',
  ].join('\n');
}

/** Returns lines about announced costs and the announced end of the model. */
function formatDates(listed: ListedModel): string[] {
  const later = findLaterCosts(listed);
  const { endsOn } = listed;
  return [
    ...(later === null
      ? []
      : [`  from ${later.effectiveFrom.slice(0, 10)}: cost ${formatPrices(later.costs)} (scheduled)`]),
    ...(endsOn === undefined ? [] : [`  WARNING: the provider ends this model on ${endsOn}`]),
  ];
}

/**
 * Without an output limit where the format permits it, because reasoning models refuse
 * `max_tokens`.
 */
const CHAT = { messages: [{ role: 'user', content: 'Say hello.' }] };
const CONTENT: Readonly<Record<string, object>> = {
  '/v1/embeddings': { input: 'Say hello.' },
  '/v1/responses': { input: 'Say hello.' },
  '/v1/messages': { max_tokens: 1_024, ...CHAT },
};
