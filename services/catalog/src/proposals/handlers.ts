import type { Bus } from '@gateway/bus';
import { catalogGetPriceProposal, catalogProposePrices, type CommandAuthor } from '@gateway/contracts/messages';
import { refuse, type PriceProposalPut, type PriceProposalSaved } from '@gateway/contracts/operator';
import { counter, type Logger } from '@gateway/service-kit';
import { CHANGES, READS } from '../objects/answer.js';
import type { ProposalStore } from './store.js';

export interface ProposalDeps {
  readonly proposals: ProposalStore;
  readonly log: Pick<Logger, 'warn'>;
  readonly nowMs: () => number;
}

/** Maximum number of models in the log line of an alert. */
const LOGGED_MODELS_MAX = 50;

const alerts = counter(
  'gateway_catalog_price_alerts_total',
  'Comparisons with price lists and reported costs whose differences changed',
);

/** Stores a comparison. Changed differences raise an alert: a log line and a metric. */
async function proposePrices(
  { proposals, log, nowMs }: ProposalDeps,
  { proposal, author }: { readonly proposal: PriceProposalPut; readonly author: CommandAuthor },
): Promise<PriceProposalSaved> {
  const saved = await proposals.save(proposal, author, nowMs());
  if (saved.outcome === 'raised') {
    alerts.add();
    const models = new Set([...saved.changes, ...saved.reported].map(({ modelId }) => modelId));
    const named = [...models].slice(0, LOGGED_MODELS_MAX);
    log.warn({ proposal: saved.id, models: named, modelsTotal: models.size }, 'costs differ from public price lists');
  }
  return saved;
}

/** Registers the handlers of price comparisons. */
export function serveProposals(bus: Pick<Bus, 'serve'>, deps: ProposalDeps): void {
  bus.serve(catalogProposePrices, async (body) => ({ proposal: await proposePrices(deps, body) }), CHANGES);
  bus.serve(
    catalogGetPriceProposal,
    async () => {
      const proposal = await deps.proposals.read();
      return proposal === null
        ? refuse('not_found', 'no comparison is stored; run `operator prices watch --once`')
        : { proposal };
    },
    READS,
  );
}
