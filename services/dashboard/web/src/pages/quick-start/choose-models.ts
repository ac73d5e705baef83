import type { PageModel } from '@gateway/contracts/pages';

/** Placeholder in a snippet while no model is known. */
const NO_MODEL = 'publisher/model';

/** Chooses cheap, usable models that are not failing, from the key's allowed models if any. */
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

/** Ranks a model, lower is better; unusable ones come last. */
function rankOf({ allowed, available, failing }: PageModel): number {
  return (allowed ? 0 : 4) + (available ? 0 : 2) + (failing ? 1 : 0);
}

/** Returns the first wanted model, unless the best of another kind ranks higher. */
function bestOf(sorted: readonly PageModel[], wanted: (model: PageModel) => boolean): PageModel | undefined {
  const [first] = sorted;
  const found = sorted.find(wanted);
  return first === undefined || found === undefined || rankOf(found) > rankOf(first) ? first : found;
}

/** Whether clients of the model's publisher use the messages protocol. */
function isOfMessages(id: string): boolean {
  return id.startsWith('anthropic/');
}

function priceOf({ prices }: PageModel): number {
  return Number(prices?.outputPerMillion ?? Number.POSITIVE_INFINITY);
}
