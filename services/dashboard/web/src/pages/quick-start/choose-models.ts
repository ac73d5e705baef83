import type { PageModel } from '@gateway/contracts/pages';

/** What stands in a snippet while no model is known. */
const NO_MODEL = 'publisher/model';

/**
 * Models for the snippets: cheap ones that may be called and whose providers answer, of the key's
 * list when it has one.
 */
export function chooseModels(
  models: readonly PageModel[],
  allowed: readonly string[] | null = null,
): { model: string; messagesModel: string } {
  const callable = models
    .filter(({ kind, prices, id }) => kind === 'chat' && prices !== null && (allowed === null || allowed.includes(id)))
    .sort((a, b) => rankOf(a) - rankOf(b) || priceOf(a) - priceOf(b));
  const model = bestOf(callable, ({ id }) => !isOfMessages(id));
  const messages = bestOf(callable, ({ id }) => isOfMessages(id));
  return { model: model?.id ?? allowed?.[0] ?? NO_MODEL, messagesModel: messages?.id ?? allowed?.[0] ?? NO_MODEL };
}

/** Lower is better: what cannot be called now comes last. */
function rankOf({ allowed, available, failing }: PageModel): number {
  return (allowed ? 0 : 4) + (available ? 0 : 2) + (failing ? 1 : 0);
}

/** The first of the kind that is wanted, unless the first of another kind ranks better. */
function bestOf(sorted: readonly PageModel[], wanted: (model: PageModel) => boolean): PageModel | undefined {
  const [first] = sorted;
  const found = sorted.find(wanted);
  return first === undefined || found === undefined || rankOf(found) > rankOf(first) ? first : found;
}

/** The publisher whose clients speak the messages protocol. */
function isOfMessages(id: string): boolean {
  return id.startsWith('anthropic/');
}

function priceOf({ prices }: PageModel): number {
  return Number(prices?.outputPerMillion ?? Number.POSITIVE_INFINITY);
}
