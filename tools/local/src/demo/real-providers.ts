import { PROFILES } from '@gateway/contracts/providers';
import type { SourceView } from '@gateway/contracts/operator';
import { cheapestFirst, hasBundledModels, runOperatorCommand } from '@gateway/dashboard/operator-cli';
import { DEMO_PROVIDERS } from './demo-catalog.js';

/** A provider of the option `--provider`. */
export interface RealProvider {
  readonly profile: string;
  /** Its ID, which differs from the profile's name, because demo providers may have that name. */
  readonly id: string;
  /** The variable with its key; null if it needs none. */
  readonly keyEnv: string | null;
  /** The address to use instead of the profile's; null for the profile's. */
  readonly baseUrl: string | null;
}

/** A first request to an added provider. */
export interface RealCall {
  readonly profile: string;
  readonly model: string;
  readonly endpoint: string;
}

/** Entries per page and per list. */
const PAGE_LIMIT = 200;
const SOURCES_MAX = 20_000;
/** Endpoints for the first request, in order of preference. */
const FIRST_ENDPOINTS = ['/v1/chat/completions', '/v1/messages', '/v1/responses'];

/**
 * Returns the providers of the command line, or all problems as texts.
 * @param urls `<profile>=<url>`
 */
export function realProviders(
  names: readonly string[],
  urls: readonly string[],
  env: NodeJS.ProcessEnv,
): { readonly providers: readonly RealProvider[]; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const addresses = new Map<string, string>();
  for (const text of urls) {
    const [, name = '', url = ''] = /^([^=]+)=(.+)$/.exec(text) ?? [];
    if (!names.includes(name) || !URL.canParse(url))
      problems.push(`--provider-url ${text}: expected <profile>=<address> of a --provider`);
    else addresses.set(name, url);
  }
  const providers = [...new Set(names)].flatMap((name): RealProvider[] => {
    const profile = PROFILES.find(({ id }) => id === name);
    if (profile === undefined) {
      problems.push(`--provider ${name}: unknown; known are ${PROFILES.map(({ id }) => id).join(', ')}`);
      return [];
    }
    const baseUrl = addresses.get(name) ?? null;
    const keyEnv = profile.auth.length === 0 ? null : profile.keyVariable;
    if (keyEnv !== null && !env[keyEnv]?.trim())
      problems.push(
        `--provider ${name}: ${keyEnv} is not set: set it to the provider's API key (${keyEnv}=… npm start -- …)`,
      );
    if (baseUrl === null && (profile.base === null || Object.keys(profile.parameters).length > 0))
      problems.push(
        `--provider ${name}: it needs your own address or parameters: start without it, then ` +
          `npm run operator -- providers add ${name} (docs/providers.md)`,
      );
    else if (!hasBundledModels(profile))
      problems.push(
        `--provider ${name}: the gateway has no bundled models for it: start without it, then ` +
          `npm run operator -- providers add ${name} --from ${profile.base === null ? 'provider --base-url URL' : 'provider'} ` +
          `--models NAME,NAME --apply (docs/providers.md)`,
      );
    return [{ profile: name, id: `${name}-real`, keyEnv, baseUrl }];
  });
  return { providers, problems };
}

/** Address and token of the operator API. */
export interface OperatorTarget {
  readonly operatorUrl: string;
  readonly operatorToken: string;
}

/**
 * Adds each provider with the models and prices of the bundled list, prints the result of a test
 * request, and disables simulated sources of the models that work. If a provider is refused or
 * fails its test, the others are still added.
 */
export async function addRealProviders(
  target: OperatorTarget,
  providers: readonly RealProvider[],
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<RealCall[]> {
  const calls: RealCall[] = [];
  for (const provider of providers) {
    if (!(await addProvider(target, provider, env, log))) continue;
    const sources = (await sourcesOf(target, '')).filter(
      ({ providerId, enabled }) => enabled && providerId === provider.id,
    );
    for (const { modelId } of sources) await switchSimulatedOff(target, modelId);
    const first = firstCall(provider.profile, cheapestFirst(sources));
    if (first !== null) calls.push(first);
  }
  return calls;
}

async function addProvider(
  { operatorUrl, operatorToken }: OperatorTarget,
  { profile, id, keyEnv, baseUrl }: RealProvider,
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<boolean> {
  log(`adding ${profile}, with the models and prices of the bundled list`);
  const line = [
    ...['providers', 'add', profile, '--id', id, '--below-cost', '--apply'],
    ...(keyEnv === null ? ['--no-key'] : ['--key-env', keyEnv]),
    ...(baseUrl === null ? [] : ['--base-url', baseUrl]),
  ];
  let said = '';
  const keep = (text: string): void => void (said += text);
  const all = { ...env, GATEWAY_OPERATOR_URL: operatorUrl, GATEWAY_OPERATOR_TOKEN: operatorToken };
  const code = await runOperatorCommand(line, all, { out: keep, error: keep });
  // For an added provider only the result of the test is printed.
  const [from, to] = [said.indexOf('\nsource '), said.indexOf('\n\nIn force on')];
  log(code === 2 || from < 0 ? said.trim() : said.slice(from + 1, to < from ? undefined : to).trim());
  return code === 0;
}

function firstCall(profile: string, sources: readonly SourceView[]): RealCall | null {
  for (const endpoint of FIRST_ENDPOINTS) {
    const source = sources.find(({ endpoints }) => endpoints.includes(endpoint));
    if (source !== undefined) return { profile, model: source.modelId, endpoint };
  }
  return null;
}

/** Otherwise the simulator would serve some requests for the model. */
async function switchSimulatedOff(target: OperatorTarget, modelId: string): Promise<void> {
  const demo = new Set(DEMO_PROVIDERS.map(({ id }) => id));
  for (const source of await sourcesOf(target, `&modelId=${encodeURIComponent(modelId)}`)) {
    if (!source.enabled || !demo.has(source.providerId)) continue;
    await ask(target, `/sources/${source.id}`, { method: 'PUT', body: JSON.stringify({ ...source, enabled: false }) });
  }
}

/** Returns all sources, or those of a query. @param query begins with `&`, or is empty */
export async function sourcesOf(target: OperatorTarget, query: string): Promise<SourceView[]> {
  const all: SourceView[] = [];
  let after = '';
  do {
    const page = (await ask(target, `/sources?limit=${PAGE_LIMIT}${query}${after}`)) as {
      readonly data: readonly SourceView[];
      readonly next_cursor: string | null;
    };
    all.push(...page.data);
    after = page.next_cursor === null ? '' : `&cursor=${encodeURIComponent(page.next_cursor)}`;
  } while (after !== '' && all.length < SOURCES_MAX);
  return all;
}

async function ask(
  { operatorUrl, operatorToken }: OperatorTarget,
  path: string,
  init: RequestInit = {},
): Promise<unknown> {
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' };
  const response = await fetch(operatorUrl + path, { ...init, headers });
  if (!response.ok) throw new Error(`${path} of the operator API returned ${response.status}`);
  return response.json();
}
