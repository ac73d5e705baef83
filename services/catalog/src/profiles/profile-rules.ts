import type { Endpoint } from '@gateway/contracts/messages';
import {
  refuse,
  type AttachmentSizes,
  type ManagementRefusal,
  type ProviderProfile,
} from '@gateway/contracts/operator';
import { sameContent, type Model, type Provider, type Source } from '../objects/rules.js';
import { ANTHROPIC_COMPATIBLE, OPENAI_COMPATIBLE } from './compatible.js';
import { PROFILES } from './profiles.js';

const BY_ID: ReadonlyMap<string, ProviderProfile> = new Map(PROFILES.map((profile) => [profile.id, profile]));

/** The profile of a source; one that it names and that is not there counts as none. */
export function profileOf(source: Pick<Source, 'profile'>, format: Provider['format'] | undefined): ProviderProfile {
  const named = source.profile === null ? undefined : BY_ID.get(source.profile);
  return named ?? (format === 'anthropic' ? ANTHROPIC_COMPATIBLE : OPENAI_COMPATIBLE);
}

/** Why a source cannot have this profile and these parameters; null: it can. */
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
  // An address of its own may leave the host's parameters out; a path that needs one does not.
  if (missing !== undefined && profile !== undefined && needs(profile, missing, baseUrl === null))
    return refuse('invalid_request', `${missing} is needed: ${known[missing] ?? ''}`, `parameters.${missing}`);
  return null;
}

function needs({ base, endpoints, modelPaths = [] }: ProviderProfile, name: string, withBase: boolean): boolean {
  return `${withBase ? (base ?? '') : ''}${JSON.stringify([endpoints, modelPaths])}`.includes(`{${name}}`);
}

/** The endpoints of a model of that kind at its provider. */
export function endpointsOf(profile: ProviderProfile, kind: Model['kind']): Endpoint[] {
  const all = Object.keys(profile.endpoints) as Endpoint[];
  return all.filter((endpoint) => (endpoint === '/v1/embeddings') === (kind === 'embedding'));
}

/** A source's settings with those of its profile where it has none of its own. */
export interface Connection {
  readonly baseUrl: string;
  readonly paths: Source['paths'];
  /** Of streamed calls where they differ. */
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
 * How a source is connected. The same source, profile and provider always give the same.
 * @param provider its auth is that of sources without a credential and an auth of their own
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
 * Models whose images have more tokens than those of other models, whoever serves them.
 * gpt-4o-mini: 2,833 tokens and 5,667 for each of at most eight tiles (platform.openai.com, Images
 * and vision).
 */
const LARGE_IMAGES: readonly { readonly name: RegExp; readonly imageTokens: number }[] = [
  { name: /(?:^|[/.:])gpt-4o-mini(?:$|[-:@])/i, imageTokens: 2_833 + 8 * 5_667 },
];

/** By the model's name here and at the provider: that of a deployment may be any. */
function sizesOf({ model, upstreamModel }: Pick<Source, 'model' | 'upstreamModel'>): AttachmentSizes {
  const found = LARGE_IMAGES.find(({ name }) => name.test(model) || name.test(upstreamModel));
  return found === undefined ? {} : { imageTokens: found.imageTokens };
}

/** The profile's paths for a model of that name at the provider. */
function pathsOf({ endpoints, modelPaths = [] }: ProviderProfile, upstreamModel: string): ProviderProfile['endpoints'] {
  const isNamed = (name: string): boolean =>
    name.endsWith('*') ? upstreamModel.startsWith(name.slice(0, -1)) : name === upstreamModel;
  return { ...endpoints, ...modelPaths.find(({ models }) => models.some(isNamed))?.endpoints };
}

function withRegion(auth: Connection['auth'], fill: (text: string) => string): Connection['auth'] {
  return auth.type === 'sigv4' ? { ...auth, region: fill(auth.region) } : auth;
}

/** Settings that a view shows as its profile has them where the source has none of its own. */
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
 * A source's settings as they are kept. A view shows a followed setting as its profile has it: put
 * again as it was shown, it follows on.
 */
export function keptSettings(wanted: Source, before: Source | null, shown: Connection | null): Source {
  if (before === null || shown === null) return wanted;
  const following = FOLLOWED.filter((name) => before[name] === null && sameContent(wanted[name], shown[name]));
  return { ...wanted, ...Object.fromEntries(following.map((name) => [name, null])) };
}
