import type { ModelView, PriceProposalView, ProviderProfile, SourceView } from '@gateway/contracts/operator';
import { computeModelMargin } from '../price-lists/compare.js';
import { samePrices } from '../price-lists/prices.js';
import { modelObject, sourceObject } from './import-prices.js';
import { readOptions, UsageError, type Program, type ProgramContext } from './program.js';
import { formatBelowCost, formatProposal } from './words.js';

/** `prices proposal`: prints the proposal of `prices watch`, or the document that applies it. */
export const SHOW_PROPOSAL: Program = {
  name: ['prices', 'proposal'],
  form: 'prices proposal [--document]     --document prints a document for apply -f',
  run: showProposal,
};

async function showProposal({ words, fields, api, to }: ProgramContext): Promise<number> {
  if (words.length > 0) throw new UsageError(`not understood: ${words.join(' ')}`);
  const { flags } = readOptions(fields, { flags: ['document'], values: [] });
  const proposal = await api.get<PriceProposalView>('/price-proposal');
  const sources = await api.list<SourceView>('/sources');
  const models = await api.list<ModelView>('/models');
  const { data: profiles } = await api.get<{ data: ProviderProfile[] }>('/profiles');
  const changeOf = (kind: string, id: string) =>
    proposal.changes.find((change) => change.kind === kind && change.objectId === id);
  // Uses the current objects, so that only costs and prices change.
  const objects = proposal.changes.flatMap(({ kind, objectId: id, before, after }) => {
    const source = kind === 'source' ? sources.find((one) => one.id === id) : undefined;
    const model = kind === 'model' ? models.find((one) => one.id === id) : undefined;
    const now = source?.costs ?? model?.prices ?? null;
    if (source === undefined && model === undefined) to.error(`${kind} ${id} no longer exists: left out\n`);
    else if (!samePrices(before, now)) to.error(`${kind} ${id} has changed since: compare again\n`);
    return [...(source ? [sourceObject({ source, after })] : []), ...(model ? [modelObject({ model, after })] : [])];
  });
  const changed = new Set(proposal.changes.map(({ modelId }) => modelId));
  for (const model of models.filter(({ id }) => changed.has(id))) {
    const own = sources
      .filter(({ modelId }) => modelId === model.id)
      .map((source) => ({ source, after: changeOf('source', source.id)?.after ?? source.costs }));
    const margin = computeModelMargin(changeOf('model', model.id)?.after ?? model.prices, own, profiles);
    for (const line of formatBelowCost(model.id, margin)) to.error(`${line}\n`);
  }
  if (flags.has('document')) to.out(`${JSON.stringify({ objects }, null, 2)}\n`);
  else for (const line of formatProposal(proposal)) to.out(`${line}\n`);
  return 0;
}
