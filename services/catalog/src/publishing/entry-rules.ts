import {
  type CatalogAlias,
  type CatalogModel,
  type CatalogProvider,
  type CatalogSource,
  type DatedVersion,
  aliasEntryKey,
  modelEntryKey,
} from '@gateway/contracts/messages';
import type { ProviderProfile } from '@gateway/contracts/operator';
import { withHourWrites } from '@gateway/metering';
import { hasMessagesEndpoint, toWireFigures } from '../objects/price-rules.js';
import type { CatalogSnapshot, DatedFigures, Provider, Source } from '../objects/rules.js';
import { publishedVersions } from '../objects/version-rules.js';
import { connectionOf, profileOf } from '../profiles/profile-rules.js';

/** Returns the bucket entries of a snapshot. The same snapshot always gives the same texts. */
export function entriesOf(snapshot: CatalogSnapshot): ReadonlyMap<string, string> {
  const { nowMs, prices, costs } = snapshot;
  const providers = new Map(snapshot.providers.map((provider) => [provider.id, provider]));
  const entries = new Map<string, string>();
  for (const provider of snapshot.providers) {
    const { id, name, format, sealedCredential } = provider;
    const shared = sealedCredential === null ? {} : { sealedCredential };
    const entry: CatalogProvider = { v: 1, id, name, format, ...shared };
    entries.set(`provider.${provider.id}`, JSON.stringify(entry));
  }
  // Includes disabled sources, so that prices do not change when a source is disabled.
  const onMessages = new Set(
    snapshot.sources.flatMap((source) => (hasMessagesEndpoint([source]) ? [source.model] : [])),
  );
  for (const { createdAt, ...model } of snapshot.models) {
    const versions = datedVersions(prices.get(model.id), nowMs, onMessages.has(model.id));
    const entry: CatalogModel = { v: 1, ...model, createdAt, prices: versions };
    entries.set(modelEntryKey(model.id), JSON.stringify(entry));
  }
  for (const source of snapshot.sources) {
    const provider = providers.get(source.provider);
    const profile = profileOf(source, provider?.format);
    const versions = datedVersions(costs.get(source.id), nowMs, hasMessagesEndpoint([source]));
    const entry = sourceEntry(source, profile, versions, provider);
    entries.set(`source.${source.id}`, JSON.stringify(entry));
  }
  for (const { id, model } of snapshot.aliases) {
    const entry: CatalogAlias = { v: 1, id, model };
    entries.set(aliasEntryKey(id), JSON.stringify(entry));
  }
  return entries;
}

/** Builds the entry of a source with all members of its profile that edges use. */
export function sourceEntry(
  source: Source,
  profile: ProviderProfile,
  costs: DatedVersion[],
  provider?: Provider,
): CatalogSource {
  const { betas, forwardHeaders, streamedPaths, body, foreignIds, attachments, reportedCostAt, ...connection } =
    connectionOf(source, profile, provider);
  return {
    v: 1,
    id: source.id,
    model: source.model,
    provider: source.provider,
    profile: profile.id,
    upstreamModel: source.upstreamModel,
    endpoints: source.endpoints,
    sealedCredential: source.sealedCredential,
    ...connection,
    ...publishedBetas(betas),
    priority: source.priority,
    weight: source.weight,
    enabled: source.enabled,
    limits: source.limits,
    costs,
    pricing: pricingOf(source, profile, reportedCostAt),
    ...(source.unpriced === 'forward' ? { unpriced: source.unpriced } : {}),
    ...filled({
      attachments,
      streamedPaths,
      forwardHeaders,
      body,
      errors: profile.errors,
      unlimitedMaxTokens: profile.unlimitedMaxTokens,
    }),
    ...(profile.keepsState ? {} : { keepsState: false }),
    ...(foreignIds === 'forward' ? { foreignIds } : {}),
    ...(profile.cachedInInput === true ? { cachedInInput: true } : {}),
    ...(Object.values(source.quota).some((quota) => quota !== null) ? { quota: source.quota } : {}),
  };
}

/** Returns the profile's rules with the source's free tools and reported cost path. */
function pricingOf(
  { freeTools }: Source,
  { pricing }: ProviderProfile,
  reportedCostAt: Source['reportedCostAt'],
): ProviderProfile['pricing'] {
  return {
    ...pricing,
    freeTools: [...pricing.freeTools, ...freeTools],
    ...(reportedCostAt === null ? {} : { reportedCostAt }),
  };
}

/** Returns the members that are not empty. */
function filled<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => Object.keys(value as object).length > 0),
  ) as Partial<T>;
}

/**
 * Returns the versions of prices or costs that edges get: the one in force, the one before it, and
 * later ones.
 * @param onMessages whether the model or the source serves the messages format
 */
function datedVersions(
  versions: readonly DatedFigures[] | undefined,
  nowMs: number,
  onMessages: boolean,
): DatedVersion[] {
  return publishedVersions(versions ?? [], nowMs).map(({ version, effectiveFrom, figures }) => ({
    version,
    effectiveFrom,
    figures: figures === null ? null : toWireFigures(onMessages ? withHourWrites(figures) : figures),
  }));
}

/**
 * Prefixes of betas that make a request more expensive than the model's price. A source forwards
 * them only if it lists them.
 */
const PRICE_CHANGING_BETAS = ['fast-mode-'];

type Betas = NonNullable<Source['betas']>;

/** Returns the betas in the form that edges get. */
export function publishedBetas(betas: Betas): Pick<CatalogSource, 'betas' | 'betasRefused'> {
  return betas === 'standard' ? { betas: 'pass', betasRefused: PRICE_CHANGING_BETAS } : { betas };
}
