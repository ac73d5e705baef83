import {
  scalars,
  type ApplyAnswer,
  type ModelView,
  type ProviderProfile,
  type ProviderView,
  type SourceView,
} from '@gateway/contracts/operator';
import { laterCosts, listedModelsOf, type ListedModel } from '../price-lists/bundled-list.js';
import { planProvider, sourceIdOf, type PlannedModel } from '../price-lists/provider-document.js';
import type { OperatorApi } from './operator-api.js';
import { readOptions, Unfit, type Output, type Program, type ProgramContext } from './program.js';
import { credentialOf, markupOf, modelsOf, parametersOf } from './provider-options.js';
import { readBundledList } from './read-list.js';
import { testSource } from './test-source.js';
import { belowCostInWords, marginInWords, pricesInWords } from './words.js';

/** `providers add openai`: a provider with the models of the bundled list. */
export const ADD_PROVIDER: Program = {
  name: ['providers', 'add'],
  form:
    'providers add <profile> [--key-env NAME | --no-key] [--models a,b | all] [--markup 20] [--id ID] ' +
    '[--param region=eu-west-1]… [--base-url URL] [--below-cost] [--apply] [--no-test]',
  run: addProvider,
};

async function addProvider({ words, fields, api, env, to }: ProgramContext): Promise<number> {
  const options = readOptions(fields, {
    flags: ['no-key', 'apply', 'below-cost', 'no-test'],
    values: ['key-env', 'id', 'models', 'param', 'markup', 'base-url'],
  });
  const profile = await profileNamed(api, words);
  const providerId = options.one('id') ?? profile.id;
  if (!scalars.objectId.safeParse(providerId).success) throw new Unfit(`--id ${providerId}: no id of a provider`);
  const list = readBundledList();
  const models = modelsOf(listedModelsOf(list, profile.id), profile, options.one('models'));
  const baseUrl = options.one('base-url');
  const parameters = parametersOf(profile, options.all('param'), baseUrl);
  const markup = markupOf(options.one('markup')) ?? 0n;
  const there = await api.find<ProviderView>(`/providers/${providerId}`);
  const key = { keyEnv: options.one('key-env'), noKey: options.flags.has('no-key') };
  const keepsKey = key.keyEnv === null && there?.hasCredential === true;
  const credential = keepsKey ? null : credentialOf(profile, key, env);
  if (there !== null && there.format !== profile.format)
    throw new Unfit(`provider ${providerId} is there with format ${there.format}: choose another --id`);
  const plan = planProvider({
    profile,
    providerId,
    there,
    models,
    modelsThere: await found(
      models,
      ({ id }) => id,
      (id) => api.find<ModelView>(`/models/${id}`),
    ),
    sourcesThere: await found(
      models,
      ({ id }) => sourceIdOf(providerId, id),
      (id) => api.find<SourceView>(`/sources/${id}`),
    ),
    parameters,
    baseUrl,
    credential,
    markup,
  });
  const tried = await api.post<ApplyAnswer>('/apply?dryRun=true', { objects: plan.objects });
  to.out(`Prices of the bundled list, assembled on ${list.assembledOn}, in USD (of tokens: per million).\n`);
  const change = new Map(tried.changes.map((one) => [`${one.kind} ${one.id}`, one.change]));
  to.out(`provider ${providerId} (${profile.name}): ${change.get(`provider ${providerId}`) ?? 'unchanged'}\n`);
  if (there !== null && credential !== null)
    to.out('  its credential is replaced, for all of its sources that have none of their own\n');
  for (const model of plan.models) to.out(modelInWords(model, change));
  const below = plan.models.flatMap(({ listed, margin }) => belowCostInWords(listed.id, margin));
  for (const line of below) to.error(`${line}\n`);

  if (!options.flags.has('apply')) {
    to.out('\nDry run: nothing is changed. The same command with --apply puts it in force.\n');
    return 0;
  }
  if (below.length > 0 && !options.flags.has('below-cost')) {
    to.error('\nNothing is changed: prices are below cost. Change them, or say --below-cost.\n');
    return 1;
  }
  const { inForce } = await api.post<ApplyAnswer>('/apply', { objects: plan.objects });
  if (plan.later.length > 0) await api.post<ApplyAnswer>('/apply', { objects: plan.later });
  sayWhatIsNext(to, inForce, plan.models);
  const tested = plan.models[0];
  if (tested === undefined || options.flags.has('no-test')) return 0;
  to.out('\nA test call of one model (--no-test leaves it out):\n');
  return (await testSource(api, tested.sourceId, to)) ? 0 : 1;
}

async function profileNamed(api: OperatorApi, words: readonly string[]): Promise<ProviderProfile> {
  const { data } = await api.get<{ data: ProviderProfile[] }>('/profiles');
  const [id, ...others] = words;
  const profile = others.length > 0 ? undefined : data.find((one) => one.id === id);
  if (profile !== undefined) return profile;
  throw new Unfit(`name one profile: ${data.map((one) => one.id).join(', ')}`);
}

/** The objects that are there already, by id. */
async function found<T>(
  models: readonly ListedModel[],
  idOf: (model: ListedModel) => string,
  find: (id: string) => Promise<T | null>,
): Promise<Map<string, T>> {
  const all = new Map<string, T>();
  for (const id of new Set(models.map(idOf))) {
    const one = await find(id);
    if (one !== null) all.set(id, one);
  }
  return all;
}

function modelInWords(model: PlannedModel, change: ReadonlyMap<string, string>): string {
  const { listed, sourceId, prices, margin, isModelThere, isSourceThere } = model;
  const lines = [
    `model ${listed.id} (${listed.displayName}): ${change.get(`model ${listed.id}`) ?? 'unchanged'}`,
    prices === null
      ? '  it has no price, so it is not sold: put one'
      : `  price ${pricesInWords(prices)}${isModelThere ? ' (stays)' : ''}`,
    `  cost ${pricesInWords(listed.costs)} (read ${listed.date})`,
    ...datesInWords(listed),
    ...(prices === null ? [] : [`  ${marginInWords(margin)}`]),
    ...(listed.note === undefined ? [] : [`  note: ${listed.note}`]),
    `  source ${sourceId}: ${isSourceThere ? 'is there, stays as it is' : (change.get(`source ${sourceId}`) ?? 'unchanged')}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** What changes on a day that is known. */
function datesInWords(listed: ListedModel): string[] {
  const later = laterCosts(listed);
  const { endsOn } = listed;
  return [
    ...(later === null
      ? []
      : [`  from ${later.effectiveFrom.slice(0, 10)}: cost ${pricesInWords(later.costs)} (scheduled)`]),
    ...(endsOn === undefined ? [] : [`  WARNING: the provider ends this model on ${endsOn}`]),
  ];
}

function sayWhatIsNext(to: Output, inForce: boolean, models: readonly PlannedModel[]): void {
  const first = models.find(({ prices }) => prices !== null) ?? models[0];
  const [endpoint = '/v1/chat/completions'] = first?.listed.endpoints ?? [];
  const content = endpoint === '/v1/embeddings' || endpoint === '/v1/responses' ? { input: 'Say hello.' } : CHAT;
  const body = JSON.stringify({ model: first?.listed.id ?? '', ...content });
  to.out(
    [
      '',
      inForce ? 'In force on every replica.' : 'Changed; replicas that have not said so yet follow shortly.',
      'Try next:',
      `  curl <address of the gateway>${endpoint} -H 'authorization: Bearer <API key>' -H 'content-type: application/json' -d '${body}'`,
      '  npm run operator -- sources test <source>',
      '  npm run operator -- prices compare --from bundled',
      '',
    ].join('\n'),
  );
}

const CHAT = { max_tokens: 100, messages: [{ role: 'user', content: 'Say hello.' }] };
