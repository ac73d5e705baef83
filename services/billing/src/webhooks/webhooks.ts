import type {
  AnswerBodyOf,
  billingDeleteWebhook,
  billingGetWebhook,
  billingPutWebhook,
  billingRotateWebhookSecret,
  ReceivedOf,
} from '@gateway/contracts/messages';
import { type ManagementRefusal, refuse, type WebhookView } from '@gateway/contracts/operator';
import type { Webhook, WebhookStore } from './alert-ports.js';
import { checkWebhookUrl } from './check-url.js';

export interface WebhookDeps {
  readonly store: WebhookStore;
  /** Addresses that only a private network reaches are allowed. */
  readonly privateAllowed: boolean;
}

/** Says where an account's events go. The secret that comes is kept only when the webhook is new. */
export async function putWebhook(
  { store, privateAllowed }: WebhookDeps,
  { account, spec, sealedSecret, actor }: ReceivedOf<typeof billingPutWebhook>,
): Promise<AnswerBodyOf<typeof billingPutWebhook>> {
  const url = checkWebhookUrl(spec.url, privateAllowed);
  if (typeof url !== 'string') return url;
  const put = await store.putWebhook({ account, url, enabled: spec.enabled, sealedSecret, actor });
  if (put === null) return refuse('state_conflict', 'the account is closed');
  return { change: put.change, webhook: toWebhookView(put.webhook) };
}

export async function showWebhook(
  { store }: Pick<WebhookDeps, 'store'>,
  { account }: ReceivedOf<typeof billingGetWebhook>,
): Promise<AnswerBodyOf<typeof billingGetWebhook>> {
  const webhook = await store.webhook(account);
  return webhook === null ? noWebhook() : { webhook: toWebhookView(webhook) };
}

/** What waits for it is dropped. */
export async function deleteWebhook(
  { store }: Pick<WebhookDeps, 'store'>,
  { account, actor }: ReceivedOf<typeof billingDeleteWebhook>,
): Promise<AnswerBodyOf<typeof billingDeleteWebhook>> {
  return (await store.deleteWebhook(account, actor)) ? { deleted: true } : noWebhook();
}

/** Every attempt from then on is signed with the new secret. */
export async function rotateWebhookSecret(
  { store }: Pick<WebhookDeps, 'store'>,
  { account, sealedSecret, actor, command }: ReceivedOf<typeof billingRotateWebhookSecret>,
): Promise<AnswerBodyOf<typeof billingRotateWebhookSecret>> {
  const rotated = await store.rotateSecret({ account, sealedSecret, actor, command: command ?? null });
  return rotated === null ? noWebhook() : { webhook: toWebhookView(rotated.webhook), repeated: rotated.repeated };
}

function noWebhook(): ManagementRefusal {
  return refuse('not_found', 'the account has no webhook');
}

function toWebhookView({ account, url, enabled, createdAt, changedAt }: Webhook): WebhookView {
  return {
    accountId: account,
    url,
    enabled,
    createdAt: createdAt.toISOString(),
    changedAt: changedAt.toISOString(),
  };
}
