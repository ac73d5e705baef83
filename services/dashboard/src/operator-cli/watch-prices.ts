import {
  type ModelView,
  type PriceProposalPut,
  type PriceProposalSaved,
  type PriceProposalView,
  type ProviderProfile,
  type ProposedChange,
  type SourceView,
  type UsageRecordView,
} from '@gateway/contracts/operator';
import { compareWithList } from '../price-lists/compare.js';
import type { Prices } from '../price-lists/prices.js';
import { reportedDifferences } from '../price-lists/reported-costs.js';
import type { OperatorApi } from './operator-api.js';
import { readOptions, UsageError, type Program, type ProgramContext } from './program.js';
import { parseMarkup } from './provider-options.js';
import { combineLists, formatList, listReading, readPriceList } from './read-list.js';
import { formatBelowCost, formatProposal } from './words.js';

/** `prices watch`: compares costs with lists and provider-reported costs, and applies nothing. */
export const WATCH_PRICES: Program = {
  name: ['prices', 'watch'],
  form:
    'prices watch (--once | --at HH:MM) [--from bundled|models.dev|litellm]… [--list-url litellm=URL]… [--file F] ' +
    '[--provider ID] [--markup N]',
  run: watchPrices,
};

/** Default lists; the first one that has a source's model is used. */
const USUAL_LISTS = ['models.dev', 'litellm', 'bundled'];
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Delay after a failed check, for example if a list cannot be read. */
const RETRY_MS = 15 * MINUTE_MS;
/** Most requests with reported costs that are read, of the last day. */
const RECORDS_MAX = 2_000;
const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;

interface Watch {
  readonly lists: readonly { readonly format: string; readonly url: string | null }[];
  readonly provider: string | null;
  readonly markup: bigint | null;
}

async function watchPrices(context: ProgramContext): Promise<number> {
  const { words, fields, api, clock, to } = context;
  if (words.length > 0) throw new UsageError(`not understood: ${words.join(' ')}`);
  const options = readOptions(fields, { flags: ['once'], values: ['at', 'from', 'list-url', 'provider', 'markup'] });
  const at = options.one('at');
  if (options.flags.has('once') === (at !== null))
    throw new UsageError('prices watch: use --once, or --at HH:MM (UTC)');
  const watch: Watch = {
    lists: listsOf(options.all('from'), options.all('list-url')),
    provider: options.one('provider'),
    markup: parseMarkup(options.one('markup')),
  };
  if (context.file !== null && watch.lists.length !== 1)
    throw new UsageError('--file: name its format with one --from');
  if (at === null) {
    await check(context, watch, null);
    return 0;
  }
  const offsetMs = offsetOf(at);
  for (;;) {
    const dueMs = Math.floor((clock.nowMs() - offsetMs) / DAY_MS) * DAY_MS + offsetMs;
    let nextMs = dueMs + DAY_MS;
    try {
      const served = (await api.find<PriceProposalView>('/price-proposal'))?.scheduledFor ?? null;
      if (served === null || Date.parse(served) < dueMs) await check(context, watch, dueMs);
    } catch (error) {
      nextMs = clock.nowMs() + RETRY_MS;
      to.error(`The check failed: ${(error as Error).message}. Next attempt at ${new Date(nextMs).toISOString()}.\n`);
    }
    await clock.sleep(Math.max(0, nextMs - clock.nowMs()));
  }
}

/** Parses `--at` into milliseconds of the day. @throws Unfit */
function offsetOf(at: string): number {
  const [, hours, minutes] = TIME_OF_DAY.exec(at) ?? [];
  if (hours === undefined || minutes === undefined) throw new UsageError(`--at ${at}: a UTC time such as 06:30`);
  return (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
}

/** Parses `--from` and `--list-url`. @throws Unfit */
function listsOf(formats: readonly string[], urls: readonly string[]): Watch['lists'] {
  const chosen = formats.length === 0 ? USUAL_LISTS : formats;
  const byFormat = new Map(
    urls.map((text): [string, string] => {
      const [, format = '', url = ''] = /^([^=]+)=(.+)$/.exec(text) ?? [];
      if (!chosen.includes(format))
        throw new UsageError(`--list-url ${text}: <list>=<address> of one of ${chosen.join(', ')}`);
      return [format, url];
    }),
  );
  return [...new Set(chosen)].map((format) => ({ format, url: byFormat.get(format) ?? null }));
}

/** Compares once and stores the result. New differences raise the alert. */
async function check(context: ProgramContext, watch: Watch, dueMs: number | null): Promise<void> {
  const { api, file, clock, to } = context;
  const read = await Promise.all(
    watch.lists.map(({ format, url }) => readPriceList(format, { file, url }, listReading(context))),
  );
  const sources = await api.list<SourceView>('/sources');
  const { data: profiles } = await api.get<{ data: ProviderProfile[] }>('/profiles');
  const { provider, markup } = watch;
  const list = combineLists(read.map((one) => one.list));
  const models = await api.list<ModelView>('/models');
  const compared = compareWithList({ sources, models, list, profiles, provider, markup });
  const watched = sources.filter((source) => provider === null || source.providerId === provider);
  const proposal: PriceProposalPut = {
    lists: read.map((dated) => formatList(dated, clock.nowMs())),
    changes: [
      ...compared.sources.flatMap(({ source, isChanged, before, after }) =>
        isChanged ? changeOf('source', source, before, after) : [],
      ),
      ...compared.models.flatMap(({ model, isChanged, before, after }) =>
        isChanged ? changeOf('model', { ...model, modelId: model.id }, before, after) : [],
      ),
    ],
    reported: reportedDifferences(watched, await reportedRecords(api, watched, profiles, clock.nowMs())),
    ...(dueMs === null ? {} : { scheduledFor: new Date(dueMs).toISOString() }),
  };
  const saved = await api.put<PriceProposalSaved>('/price-proposal', proposal);
  to.out(`${new Date(clock.nowMs()).toISOString()} ${OUTCOMES[saved.outcome]}\n`);
  if (saved.outcome === 'served') return;
  for (const line of formatProposal(saved)) to.out(`${line}\n`);
  const changed = new Set(proposal.changes.map(({ modelId }) => modelId));
  for (const { model, margin } of compared.models)
    if (changed.has(model.id)) for (const line of formatBelowCost(model.id, margin)) to.error(`${line}\n`);
}

const OUTCOMES: Readonly<Record<PriceProposalSaved['outcome'], string>> = {
  raised: 'ALERT: other differences than in the previous check. `operator prices proposal` shows the proposal.',
  cleared: 'The differences are gone.',
  unchanged: 'Unchanged since the previous check.',
  served: 'Another replica has done the check of this day.',
};

function changeOf(
  kind: ProposedChange['kind'],
  { id, modelId }: { readonly id: string; readonly modelId: string },
  before: Prices | null,
  after: Prices | null,
): ProposedChange[] {
  return after === null ? [] : [{ kind, objectId: id, modelId, before, after }];
}

/** Reads records newest first. Returns an empty list if no source's provider reports a cost. */
async function reportedRecords(
  api: OperatorApi,
  sources: readonly SourceView[],
  profiles: readonly ProviderProfile[],
  nowMs: number,
): Promise<UsageRecordView[]> {
  const reporting = profiles.filter(({ pricing }) => pricing?.reportedCostAt !== undefined).map(({ id }) => id);
  if (!sources.some(({ profile }) => profile !== null && reporting.includes(profile))) return [];
  const query = { reportsCost: 'true', from: new Date(nowMs - DAY_MS).toISOString() };
  return api.first<UsageRecordView>('/usage-records', query, RECORDS_MAX);
}
