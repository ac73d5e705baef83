import { readFileSync } from 'node:fs';
import type { Endpoint } from '@gateway/contracts/messages';
import { scalars, type ProviderProfile } from '@gateway/contracts/operator';
import type { ListedModel } from '../price-lists/bundled-list.js';
import { completeCosts } from '../price-lists/complete-costs.js';
import { parsePercent } from '../price-lists/decimal.js';
import { toCatalogId, upstreamNameOf } from '../price-lists/list-names.js';
import { EMBEDS, NAME_LENGTH_MAX, type OfferedModel } from '../price-lists/price-list.js';
import { normalizeOrNull, type Prices } from '../price-lists/prices.js';
import type { AddedModel } from '../price-lists/provider-document.js';
import { UsageError } from './program.js';

const VARIABLE = /^[A-Z][A-Z0-9_]*$/;

/** Parses `--markup` into hundredths of a percent. @throws Unfit */
export function parseMarkup(text: string | null): bigint | null {
  if (text === null) return null;
  const percent = parsePercent(text);
  if (percent === null) throw new UsageError(`--markup ${text}: percent from 0 to 9999.99, such as 20 or 12.5`);
  return percent;
}

/**
 * Returns the provider's credential from this terminal's environment; null: none is wanted. If the
 * profile authenticates with Google tokens, the variable names the key file.
 * @throws Unfit
 */
export function readCredential(
  { auth, keyVariable, name }: ProviderProfile,
  { keyEnv, noKey }: { readonly keyEnv: string | null; readonly noKey: boolean },
  env: NodeJS.ProcessEnv,
): string | null {
  if (noKey && keyEnv !== null) throw new UsageError('use --key-env or --no-key, not both');
  if (noKey || (keyEnv === null && auth.length === 0)) return null;
  const variable = keyEnv ?? keyVariable;
  if (variable === null)
    throw new UsageError(`${name} has no default variable for its key: use --key-env NAME or --no-key`);
  if (!VARIABLE.test(variable)) throw new UsageError('--key-env takes the name of a variable, never the key itself');
  const value = env[variable]?.trim() ?? '';
  if (value === '')
    throw new UsageError(`${variable} is not set here: set it, name another one with --key-env, or use --no-key`);
  return auth[0]?.type === 'google' ? keyFile(value, variable) : value;
}

/** Reads a key file into one line, the form in which credentials are stored. */
function keyFile(path: string, variable: string): string {
  try {
    return JSON.stringify(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new UsageError(`${variable} does not name a readable key file: ${(error as Error).message}`);
  }
}

/**
 * Parses `--param name=value` for all parameters that the profile needs.
 * @param baseUrl another address; parameters that only the profile's address needs may then be
 * omitted
 * @throws Unfit
 */
export function parseParameters(
  { id, base, endpoints, auth, parameters }: ProviderProfile,
  given: readonly string[],
  baseUrl: string | null,
): Record<string, string> {
  if (base === null && baseUrl === null) throw new UsageError(`${id} has no default address: use --base-url URL`);
  const found: Record<string, string> = {};
  for (const text of given) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    if (value === '') throw new UsageError(`--param ${text}: name=value is expected`);
    if (!Object.hasOwn(parameters, name)) throw new UsageError(`${id} has no parameter ${name}`);
    if (Object.hasOwn(found, name)) throw new UsageError(`--param ${name} is given twice`);
    found[name] = value;
  }
  const text = `${baseUrl === null ? base : ''}${JSON.stringify([endpoints, auth])}`;
  const missing = Object.entries(parameters).filter(
    ([name]) => !Object.hasOwn(found, name) && text.includes(`{${name}}`),
  );
  if (missing.length > 0) {
    const lines = missing.map(([name, about]) => `  --param ${name}=…   ${about}`);
    throw new UsageError(`${id} needs:\n${lines.join('\n')}`);
  }
  return found;
}

/** `name`, `name*`, or `name=deployment`. */
interface ModelSelection {
  readonly name: string;
  /** The model's name at the provider if it differs from the list's. */
  readonly deployment: string | null;
}

/**
 * Parses `--models`: names separated by commas, each with the deployment's name if the operator's
 * differs; null: all.
 * @throws Unfit
 */
export function parseModels(text: string | null): readonly ModelSelection[] | null {
  if (text === null || text === 'all') return null;
  return [...new Set(text.split(','))].map((part) => {
    const [, name = '', deployment = null] = /^([^=]+)(?:=(.+))?$/.exec(part) ?? [];
    if (name === '' || part.endsWith('=') || (deployment !== null && name.endsWith('*')))
      throw new UsageError(`--models ${part}: a name, name=deployment, or the beginning of names with * is expected`);
    return { name, deployment };
  });
}

/**
 * Parses `--cost model=input/output[/cached input[/cache write]]`, in USD per million tokens.
 * @throws Unfit
 */
export function parseCosts(texts: readonly string[]): ReadonlyMap<string, Prices> {
  return new Map(
    texts.map((text): [string, Prices] => {
      const [, name = '', figures = ''] = /^(.+)=([^=]+)$/.exec(text) ?? [];
      const [inputPerMillion = '', outputPerMillion = '', cachedInputPerMillion, cacheWritePerMillion, more] =
        figures.split('/');
      const costs = normalizeOrNull({ inputPerMillion, outputPerMillion, cachedInputPerMillion, cacheWritePerMillion });
      if (name === '' || more !== undefined || costs === null)
        throw new UsageError(
          `--cost ${text}: model=input/output[/cached input[/cache write]] is expected, in USD per million tokens`,
        );
      return [name, costs];
    }),
  );
}

export interface Offer {
  readonly profile: ProviderProfile;
  readonly models: readonly OfferedModel[];
  /** Name of the offer in messages, such as `the bundled list`. */
  readonly from: string;
  /** Costs from `--cost`, by the names of `--models`. */
  readonly costs: ReadonlyMap<string, Prices>;
  /** IDs that the catalog may have for the same models of other providers. */
  readonly known: readonly string[];
  /** The current UTC day. */
  readonly today: string;
}

/** Most model names in a message. */
const SHOWN_MAX = 40;

/**
 * Returns the models to add: those that `--models` names, with their costs. If the offer lacks a
 * model, the operator must give its costs.
 * @throws Unfit
 */
export function selectModels(offer: Offer, wanted: readonly ModelSelection[] | null): AddedModel[] {
  const { profile, models, from, costs } = offer;
  const served = models.filter((model) => endpointsFor(profile, model).length > 0);
  const names = (all: readonly OfferedModel[]): string =>
    all
      .slice(0, SHOWN_MAX)
      .map(({ model }) => model)
      .join(', ') + (all.length > SHOWN_MAX ? ` and ${all.length - SHOWN_MAX} more` : '');
  const unused = [...costs.keys()].find((name) => wanted?.every((one) => one.name !== name) ?? true);
  if (unused !== undefined) throw new UsageError(`--cost ${unused}: name the model in --models too`);
  if (served.length === 0 && wanted === null)
    throw new UsageError(
      `${from} has no models of ${profile.name}: use --from models.dev, litellm or provider, or name models with ` +
        'their costs (--models NAME --cost NAME=1.50/6)',
    );
  const chosen = (wanted ?? [{ name: '*', deployment: null }]).flatMap(({ name, deployment }) => {
    const found = served.filter((model) => isNamed(offer, model, name));
    const cost = costs.get(name) ?? null;
    if (found.length === 0 && cost === null)
      throw new UsageError(
        `${from} has no model ${name}${served.length === 0 ? '' : `; of ${profile.name} it has ${names(served)}`}. ` +
          `With its costs any model can be added: --cost ${name}=<input>/<output>`,
      );
    const offered = found.length === 0 ? [createUnlisted(name)] : found;
    return offered.map((model) => ({ name, model: { ...model, costs: cost ?? model.costs }, deployment }));
  });
  // Models without a price are skipped if the name is a pattern, and refused if named exactly.
  const unpriced = chosen
    .filter(({ name, model }) => model.costs === null && !name.endsWith('*'))
    .map(({ model }) => model);
  if (unpriced.length > 0)
    throw new UsageError(
      `${from} has no price of ${names(unpriced)}: give its costs in USD per million tokens, ` +
        unpriced
          .slice(0, 3)
          .map(({ model }) => `--cost ${model}=<input>/<output>`)
          .join(' '),
    );
  const added = chosen.flatMap(({ model, deployment }) => addedModel(offer, model, deployment));
  if (added.length === 0)
    throw new UsageError(`${from} has no price of any model of ${profile.name}: use --models and --cost`);
  return added.filter(({ sourceName }, at) => added.findIndex((one) => one.sourceName === sourceName) === at);
}

function isNamed({ profile, known }: Offer, { model }: OfferedModel, name: string): boolean {
  const id = toCatalogId(profile.id, model, known);
  const all = [id, model, id.slice(id.indexOf('/') + 1)];
  return name.endsWith('*') ? all.some((one) => one.startsWith(name.slice(0, -1))) : all.includes(name);
}

function createUnlisted(name: string): OfferedModel {
  const kind = EMBEDS.test(name) ? 'embedding' : 'chat';
  return {
    model: name,
    displayName: name.slice(0, NAME_LENGTH_MAX),
    kind,
    contextLength: null,
    maxOutputTokens: null,
    costs: null,
  };
}

function endpointsFor({ endpoints }: ProviderProfile, offered: OfferedModel): Endpoint[] {
  const { kind } = offered;
  const own = 'endpoints' in offered ? (offered as ListedModel).endpoints : null;
  return (Object.keys(endpoints) as Endpoint[]).filter((endpoint) =>
    own === null
      ? (endpoint === '/v1/embeddings') === (kind === 'embedding') && endpoint !== '/v1/completions'
      : own.includes(endpoint),
  );
}

/** Returns an empty list if the model's costs are unknown or its name cannot be a catalog ID. */
function addedModel(offer: Offer, offered: OfferedModel, deployment: string | null): AddedModel[] {
  const { profile, from, known, today } = offer;
  const listed = 'id' in offered ? (offered as ListedModel) : null;
  const id = listed?.id ?? toCatalogId(profile.id, offered.model, known);
  if (offered.costs === null || !scalars.modelId.safeParse(id).success) return [];
  const isMessages = endpointsFor(profile, offered).includes('/v1/messages');
  const { costs, computed } = completeCosts(offered.costs, { isMessages });
  return [
    {
      ...(listed ?? { ...offered, source: from, date: today }),
      id,
      provider: profile.id,
      model: deployment ?? upstreamNameOf(profile.id, offered.model),
      endpoints: endpointsFor(profile, offered),
      costs,
      computed,
      unread: offered.unread ?? [],
      sourceName: deployment ?? (listed === null ? offered.model : id.slice(id.lastIndexOf('/') + 1)),
    },
  ];
}

/**
 * Returns the URL of the provider's model list and the headers that authenticate the request.
 * @throws Unfit
 */
export function buildModelsRequest(
  profile: ProviderProfile,
  {
    parameters,
    baseUrl,
    credential,
  }: { parameters: Readonly<Record<string, string>>; baseUrl: string | null; credential: string | null },
): { readonly url: string; readonly headers: Record<string, string> } {
  const { endpoints, auth, format, id } = profile;
  const paths = Object.values(endpoints).map((path) => (typeof path === 'string' ? path : path.plain));
  const path = paths.find((one) => MODELS_SIBLING.test(one));
  const [way] = auth;
  if (
    path === undefined ||
    path.includes('{model}') ||
    (way !== undefined && way.type !== 'bearer' && way.type !== 'header')
  )
    throw new UsageError(`the models of ${id} cannot be read from the provider: use --from models.dev or litellm`);
  const url = fillParameters((baseUrl ?? profile.base ?? '') + path.replace(MODELS_SIBLING, '/models'), parameters);
  const letIn: Record<string, string> =
    credential === null || way === undefined
      ? {}
      : way.type === 'bearer'
        ? { authorization: `Bearer ${credential}` }
        : { [(way as { header: string }).header]: credential };
  if (format === 'anthropic')
    return { url: `${url}?limit=1000`, headers: { ...letIn, 'anthropic-version': '2023-06-01' } };
  return { url, headers: letIn };
}

/** Paths next to the path of the model list. */
const MODELS_SIBLING = /\/(chat\/completions|messages)$/;

export function fillParameters(address: string, parameters: Readonly<Record<string, string>>): string {
  return address.replace(/\{(\w+)\}/g, (whole, name: string) => parameters[name] ?? whole);
}
