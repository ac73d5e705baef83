import {
  APPLY_OBJECTS_MAX,
  modelSpec,
  sourceSpec,
  type ApplyAnswer,
  type ModelView,
  type ProviderProfile,
  type SourceView,
} from '@gateway/contracts/operator';
import { compareWithList, type ModelComparison, type SourceComparison } from '../price-lists/compare.js';
import { differences, normalizePrices } from '../price-lists/prices.js';
import { pick } from '../price-lists/provider-document.js';
import { readOptions, UsageError, type Program, type ProgramContext } from './program.js';
import { parseMarkup } from './provider-options.js';
import { formatList, listReading, readPriceList } from './read-list.js';
import { formatBelowCost, formatDifferences, formatMargin, formatPrices, formatUnread } from './words.js';

const FORM = '--from bundled|models.dev|litellm [--file F | --list-url U] [--provider ID] [--markup N] [--below-cost]';

/** `prices compare`: compares a list with the existing sources and models. */
export const COMPARE_PRICES: Program = {
  name: ['prices', 'compare'],
  form: `prices compare ${FORM}`,
  run: (context) => comparePrices(context, []),
};

/** `prices import`: the same; `--apply` sets the costs from the list. */
export const IMPORT_PRICES: Program = {
  name: ['prices', 'import'],
  form: `prices import ${FORM} [--apply]`,
  run: (context) => comparePrices(context, ['apply']),
};

async function comparePrices(context: ProgramContext, flags: readonly string[]): Promise<number> {
  const { words, fields, file, api, clock, to } = context;
  if (words.length > 0) throw new UsageError(`not understood: ${words.join(' ')}`);
  const values = ['from', 'list-url', 'provider', 'markup'];
  const options = readOptions(fields, { flags: ['below-cost', ...flags], values });
  const markup = parseMarkup(options.one('markup'));
  const dated = await readPriceList(options.one('from'), { file, url: options.one('list-url') }, listReading(context));
  const { sources, models } = compareWithList({
    sources: await api.list<SourceView>('/sources'),
    models: await api.list<ModelView>('/models'),
    list: dated.list,
    profiles: (await api.get<{ data: ProviderProfile[] }>('/profiles')).data,
    provider: options.one('provider'),
    markup,
  });
  to.out(`${formatList(dated, clock.nowMs())}. Prices in USD, token prices per million tokens.\n`);
  for (const one of sources)
    to.out([`source ${one.source.id}: ${sourceInWords(one)}`, ...formatUnread(one.unread), ''].join('\n'));
  for (const one of models) to.out(modelInWords(one));
  const below = models.flatMap(({ model, margin }) => formatBelowCost(model.id, margin));
  for (const line of below) to.error(`${line}\n`);

  const changedSources = sources.filter(({ isChanged }) => isChanged);
  const changedModels = models.filter(({ isChanged }) => isChanged);
  const counted = `costs of ${changedSources.length} sources, prices of ${changedModels.length} models`;
  if (!options.flags.has('apply')) {
    to.out(`\nNothing is changed; to change: ${counted}. \`prices import … --apply\` does it.\n`);
    return 0;
  }
  if (below.length > 0 && !options.flags.has('below-cost')) {
    to.error('\nNothing is changed: prices are below cost. Use --markup N or --below-cost.\n');
    return 1;
  }
  const objects = [...changedSources.map(sourceObject), ...changedModels.map(modelObject)];
  if (objects.length > APPLY_OBJECTS_MAX)
    throw new UsageError(
      `${objects.length} objects would change, at most ${APPLY_OBJECTS_MAX} at once: use --provider`,
    );
  const { inForce } = await api.post<ApplyAnswer>('/apply', { objects });
  to.out(`\nChanged: ${counted}. ${inForce ? 'In force on every replica.' : 'Replicas follow shortly.'}\n`);
  return 0;
}

function sourceInWords({ before, after, isListed, isChanged }: SourceComparison): string {
  if (!isListed) return 'not in the list, unchanged';
  return isChanged ? `cost ${formatDifferences(differences(before, after))}` : 'cost as in the list';
}

function modelInWords({ model, before, after, margin, isChanged }: ModelComparison): string {
  const price = isChanged ? formatDifferences(differences(before, after)) : `${formatPrices(after)} (unchanged)`;
  return [
    `model ${model.id}: price ${price}`,
    `  cost ${formatPrices(margin.cost)}`,
    `  ${after === null ? 'it has no price, so it is not sold' : formatMargin(margin)}`,
    '',
  ].join('\n');
}

/**
 * Returns the source with other costs, as an object for apply. The catalog recognizes fields that
 * are unchanged from its profile.
 */
export function sourceObject({ source, after }: Pick<SourceComparison, 'source' | 'after'>): object {
  const spec = pick(source, Object.keys(sourceSpec.shape));
  return { kind: 'source', id: source.id, spec: { ...spec, costs: after === null ? null : normalizePrices(after) } };
}

/** Returns the model with other prices, as an object for apply. */
export function modelObject({ model, after }: Pick<ModelComparison, 'model' | 'after'>): object {
  const spec = pick(model, Object.keys(modelSpec.shape));
  return { kind: 'model', id: model.id, spec: { ...spec, prices: after === null ? null : normalizePrices(after) } };
}
