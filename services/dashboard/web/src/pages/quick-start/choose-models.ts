import type { PageModel } from '@gateway/contracts/pages';

/** What stands in a snippet while no model is known. */
const NO_MODEL = 'publisher/model';

/** Models for the snippets: cheap ones that may be called, of the key's list when it has one. */
export function chooseModels(
  models: readonly PageModel[],
  allowed: readonly string[] | null = null,
): { model: string; messagesModel: string } {
  const callable = models
    .filter(({ kind, prices, id }) => kind === 'chat' && prices !== null && (allowed === null || allowed.includes(id)))
    .sort((a, b) => Number(b.allowed) - Number(a.allowed) || priceOf(a) - priceOf(b));
  const model = callable.find(({ id }) => !isOfMessages(id)) ?? callable[0];
  const messages = callable.find(({ id }) => isOfMessages(id)) ?? model;
  return { model: model?.id ?? allowed?.[0] ?? NO_MODEL, messagesModel: messages?.id ?? allowed?.[0] ?? NO_MODEL };
}

/** The publisher whose clients speak the messages protocol. */
function isOfMessages(id: string): boolean {
  return id.startsWith('anthropic/');
}

function priceOf({ prices }: PageModel): number {
  return Number(prices?.outputPerMillion ?? Number.POSITIVE_INFINITY);
}
