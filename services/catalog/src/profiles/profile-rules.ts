import type { Endpoint } from '@gateway/contracts/messages';
import {
  refuse,
  type AttachmentSizes,
  type ManagementRefusal,
  type ProviderProfile,
} from '@gateway/contracts/operator';
import { sameContent, type Model, type Provider, type Source } from '../objects/rules.js';
import { ANTHROPIC_COMPATIBLE, OPENAI_COMPATIBLE, PROFILES } from '@gateway/contracts/providers';

const BY_ID: ReadonlyMap<string, ProviderProfile> = new Map(PROFILES.map((profile) => [profile.id, profile]));

/** Returns the profile of a source. An unknown profile counts as none. */
export function profileOf(source: Pick<Source, 'profile'>, format: Provider['format'] | undefined): ProviderProfile {
  const named = source.profile === null ? undefined : BY_ID.get(source.profile);
  return named ?? (format === 'anthropic' ? ANTHROPIC_COMPATIBLE : OPENAI_COMPATIBLE);
}

/** Refuses an unknown profile, an unknown parameter, or a missing needed one. Null: permitted. */
export function checkProfile({
  profile: id,
  parameters,
  baseUrl,
}: Pick<Source, 'profile' | 'parameters' | 'baseUrl'>): ManagementRefusal | null {
  const profile = id === null ? undefined : BY_ID.get(id);
  if (id !== null && profile === undefined)
    return refuse('invalid_request', `there is no profile ${id}; there are ${[...BY_ID.keys()].join(', ')}`, 'profile');
  const known = profile?.parameters ?? {};
  const stranger = Object.keys(parameters).find((name) => !(name in known));
  if (stranger !== undefined)
    return refuse('invalid_request', `the profile has no parameter ${stranger}`, 'parameters');
  const missing = Object.keys(known).find((name) => !(name in parameters));
  // A source with its own base URL does not need the parameters of the host, but still needs those
  // of paths.
  if (missing !== undefined && profile !== undefined && needs(profile, missing, baseUrl === null))
    return refuse('invalid_request', `${missing} is needed: ${known[missing] ?? ''}`, `parameters.${missing}`);
  return null;
}

function needs({ base, endpoints, modelPaths = [] }: ProviderProfile, name: string, withBase: boolean): boolean {
  return `${withBase ? (base ?? '') : ''}${JSON.stringify([endpoints, modelPaths])}`.includes(`{${name}}`);
}

/** Returns the endpoints that a model of this kind has at the provider. */
export function endpointsOf(profile: ProviderProfile, kind: Model['kind']): Endpoint[] {
  const all = Object.keys(profile.endpoints) as Endpoint[];
  return all.filter((endpoint) => (endpoint === '/v1/embeddings') === (kind === 'embedding'));
}

/** A source's settings, with those of its profile where the source has none. */
export interface Connection {
  readonly baseUrl: string;
  readonly paths: Source['paths'];
  /** Paths of streamed requests that differ from `paths`. */
  readonly streamedPaths: Source['paths'];
  readonly auth: NonNullable<Source['auth']>;
  readonly headers: Readonly<Record<string, string>>;
  readonly forwardHeaders: string[];
  readonly betas: NonNullable<Source['betas']>;
  readonly body: NonNullable<Source['body']>;
  readonly streamUsage: boolean;
  readonly cancelStopsBilling: boolean;
  readonly totalExtra: NonNullable<Source['totalExtra']>;
  readonly foreignIds: NonNullable<Source['foreignIds']>;
  readonly attachments: NonNullable<Source['attachments']>;
  readonly reportedCostAt: Source['reportedCostAt'];
}

/**
 * Returns the connection of a source. It is determined by source, profile and provider.
 * @param provider its `auth` applies to sources without their own credential and `auth`
 */
export function connectionOf(source: Source, profile: ProviderProfile, provider?: Pick<Provider, 'auth'>): Connection {
  const shared = source.sealedCredential === null ? provider?.auth : null;
  const fill = (text: string): string =>
    text.replace(/\{(\w+)\}/g, (whole, name: string) =>
      name === 'model' ? encodeURIComponent(source.upstreamModel) : (source.parameters[name] ?? whole),
    );
  const ofModel = pathsOf(profile, source.upstreamModel);
  const paths: Connection['paths'] = {};
  const streamedPaths: Connection['paths'] = {};
  for (const endpoint of source.endpoints) {
    const own = source.paths[endpoint];
    const known = own ?? ofModel[endpoint] ?? endpoint;
    const plain = fill(typeof known === 'string' ? known : known.plain);
    if (own !== undefined || plain !== endpoint) paths[endpoint] = own ?? plain;
    if (typeof known !== 'string') streamedPaths[endpoint] = fill(known.streamed);
  }
  return {
    baseUrl: source.baseUrl ?? fill(profile.base ?? ''),
    paths,
    streamedPaths,
    auth: withRegion(source.auth ?? shared ?? profile.auth[0] ?? { type: 'bearer' }, fill),
    headers: { ...profile.headers, ...source.headers },
    forwardHeaders: source.forwardHeaders ?? profile.forwardHeaders ?? [],
    betas: source.betas ?? profile.betas,
    body: { ...profile.body, ...source.body },
    streamUsage: source.streamUsage ?? profile.streamUsage === 'asked',
    cancelStopsBilling: source.cancelStopsBilling ?? profile.cancelStopsBilling,
    totalExtra: source.totalExtra ?? profile.totalExtra,
    foreignIds: source.foreignIds ?? profile.foreignIds ?? 'refuse',
    attachments: source.attachments ?? { ...profile.attachments, ...sizesOf(source) },
    reportedCostAt: source.reportedCostAt ?? profile.pricing.reportedCostAt ?? null,
  };
}

/**
 * Models whose images have more tokens than those of other models, at all providers. gpt-4o-mini:
 * 2,833 tokens, and 5,667 for each of at most eight tiles (platform.openai.com, Images and vision).
 */
const LARGE_IMAGES: readonly { readonly name: RegExp; readonly imageTokens: number }[] = [
  { name: /(?:^|[/.:])gpt-4o-mini(?:$|[-:@])/i, imageTokens: 2_833 + 8 * 5_667 },
];

/** Finds sizes by the model's name here or at the provider: a deployment can have any name. */
function sizesOf({ model, upstreamModel }: Pick<Source, 'model' | 'upstreamModel'>): AttachmentSizes {
  const found = LARGE_IMAGES.find(({ name }) => name.test(model) || name.test(upstreamModel));
  return found === undefined ? {} : { imageTokens: found.imageTokens };
}

/** Returns the profile's paths for a model name at the provider. */
function pathsOf({ endpoints, modelPaths = [] }: ProviderProfile, upstreamModel: string): ProviderProfile['endpoints'] {
  const isNamed = (name: string): boolean =>
    name.endsWith('*') ? upstreamModel.startsWith(name.slice(0, -1)) : name === upstreamModel;
  return { ...endpoints, ...modelPaths.find(({ models }) => models.some(isNamed))?.endpoints };
}

function withRegion(auth: Connection['auth'], fill: (text: string) => string): Connection['auth'] {
  return auth.type === 'sigv4' ? { ...auth, region: fill(auth.region) } : auth;
}

/** Settings for which a view shows the profile's value if the source has none. */
const FOLLOWED = [
  'baseUrl',
  'auth',
  'forwardHeaders',
  'betas',
  'body',
  'streamUsage',
  'cancelStopsBilling',
  'totalExtra',
  'foreignIds',
  'attachments',
  'reportedCostAt',
] as const;

/**
 * Returns a source's settings as they are stored. A followed setting stays followed if a PUT
 * repeats the value of the view.
 */
export function keptSettings(wanted: Source, before: Source | null, shown: Connection | null): Source {
  if (before === null || shown === null) return wanted;
  const following = FOLLOWED.filter((name) => before[name] === null && sameContent(wanted[name], shown[name]));
  return { ...wanted, ...Object.fromEntries(following.map((name) => [name, null])) };
}
