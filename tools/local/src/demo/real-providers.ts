import { PROFILES } from '@gateway/contracts/providers';
import type { SourceView } from '@gateway/contracts/operator';
import {
  cheapestFirst,
  createOperatorApi,
  hasBundledModels,
  runOperatorCommand,
} from '@gateway/dashboard/operator-cli';
import { DEMO_PROVIDERS } from '@gateway/mailbox';
import type { RunningFile } from '../running-file.js';

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

/**
 * Adds each provider with the models and prices of the bundled list, prints the result of a test
 * request, and disables simulated sources of the models that work. If a provider is refused or
 * fails its test, the others are still added.
 */
export async function addRealProviders(
  { operatorUrl, operatorToken }: Pick<RunningFile, 'operatorUrl' | 'operatorToken'>,
  providers: readonly RealProvider[],
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<RealCall[]> {
  const api = createOperatorApi({ url: operatorUrl, token: operatorToken, gateway: null });
  const target = { ...env, GATEWAY_OPERATOR_URL: operatorUrl, GATEWAY_OPERATOR_TOKEN: operatorToken };
  const simulated = new Set(DEMO_PROVIDERS.map(({ id }) => id));
  const calls: RealCall[] = [];
  for (const provider of providers) {
    log(`adding ${provider.profile}, with the models and prices of the bundled list`);
    if (!(await addProvider(provider, target, log))) continue;
    const enabled = (await api.list<SourceView>('/sources')).filter((source) => source.enabled);
    const sources = enabled.filter(({ providerId }) => providerId === provider.id);
    const models = new Set(sources.map(({ modelId }) => modelId));
    // Otherwise the simulator would serve some requests for the model.
    for (const source of enabled.filter(({ providerId, modelId }) => simulated.has(providerId) && models.has(modelId)))
      await api.put(`/sources/${source.id}`, { ...source, enabled: false });
    const first = firstCall(provider.profile, cheapestFirst(sources));
    if (first !== null) calls.push(first);
  }
  return calls;
}

/** Prints the result of the test request, or all output if the provider was not added. */
async function addProvider(
  { profile, id, keyEnv, baseUrl }: RealProvider,
  target: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<boolean> {
  const line = [
    ...['providers', 'add', profile, '--id', id, '--below-cost', '--apply'],
    ...(keyEnv === null ? ['--no-key'] : ['--key-env', keyEnv]),
    ...(baseUrl === null ? [] : ['--base-url', baseUrl]),
  ];
  let output = '';
  const keep = (text: string): void => void (output += text);
  const code = await runOperatorCommand(line, target, { out: keep, error: keep });
  const [from, to] = [output.indexOf('\nsource '), output.indexOf('\n\nIn force on')];
  log(code === 2 || from < 0 ? output.trim() : output.slice(from + 1, to < from ? undefined : to).trim());
  return code === 0;
}

function firstCall(profile: string, sources: readonly SourceView[]): RealCall | null {
  for (const endpoint of FIRST_ENDPOINTS) {
    const source = sources.find(({ endpoints }) => endpoints.includes(endpoint));
    if (source !== undefined) return { profile, model: source.modelId, endpoint };
  }
  return null;
}
