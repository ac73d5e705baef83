import type { Bus } from '@gateway/bus';
import {
  type AnswerBodyOf,
  type ReceivedOf,
  billingDeleteWebhook,
  billingGetWebhook,
  billingPutWebhook,
  billingRotateWebhookSecret,
  billingWebhookDeliveries,
} from '@gateway/contracts/messages';
import {
  type ManagementRefusal,
  WEBHOOK_URL_CHARS_MAX,
  type WebhookDeliveryView,
  type WebhookView,
  isRefusal,
  refuse,
} from '@gateway/contracts/operator';
import { isPrivateHost } from '@gateway/service-kit/network-address';
import { buildPage, readNumberCursor } from '../ledger/page.js';
import type { Delivery, DeliveryStore } from './delivery-store.js';
import type { Webhook, WebhookStore } from './store.js';

export interface WebhookDeps {
  readonly store: WebhookStore;
  /** Allows private addresses. */
  readonly privateAllowed: boolean;
}

/** Sets the destination of an account's events. The secret is stored only if the webhook is new. */
export async function putWebhook(
  { store, privateAllowed }: WebhookDeps,
  { account, spec, sealedSecret, author }: ReceivedOf<typeof billingPutWebhook>,
): Promise<AnswerBodyOf<typeof billingPutWebhook>> {
  const url = checkWebhookUrl(spec.url, privateAllowed);
  if (typeof url !== 'string') return url;
  const put = await store.putWebhook({ account, url, enabled: spec.enabled, sealedSecret, author });
  if (put === null) return refuse('state_conflict', 'the account is closed');
  return { change: put.change, webhook: toWebhookView(put.webhook) };
}

export async function showWebhook(
  { store }: Pick<WebhookDeps, 'store'>,
  { account }: ReceivedOf<typeof billingGetWebhook>,
): Promise<AnswerBodyOf<typeof billingGetWebhook>> {
  const webhook = await store.webhook(account);
  return webhook === null ? refuseMissingWebhook() : { webhook: toWebhookView(webhook) };
}

/** Deletes the webhook and drops its waiting events. */
export async function deleteWebhook(
  { store }: Pick<WebhookDeps, 'store'>,
  { account, author }: ReceivedOf<typeof billingDeleteWebhook>,
): Promise<AnswerBodyOf<typeof billingDeleteWebhook>> {
  return (await store.deleteWebhook(account, author)) ? { deleted: true } : refuseMissingWebhook();
}

/** Replaces the secret; every later attempt is signed with the new one. */
export async function rotateWebhookSecret(
  { store }: Pick<WebhookDeps, 'store'>,
  { account, sealedSecret, author, command }: ReceivedOf<typeof billingRotateWebhookSecret>,
): Promise<AnswerBodyOf<typeof billingRotateWebhookSecret>> {
  const rotated = await store.rotateSecret({ account, sealedSecret, author, command: command ?? null });
  return rotated === null
    ? refuseMissingWebhook()
    : { webhook: toWebhookView(rotated.webhook), repeated: rotated.repeated };
}

function refuseMissingWebhook(): ManagementRefusal {
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

/** Returns the deliveries of an account's events, newest first. */
export async function showDeliveries(
  store: Pick<DeliveryStore, 'deliveries'>,
  { account, cursor, limit }: ReceivedOf<typeof billingWebhookDeliveries>,
): Promise<AnswerBodyOf<typeof billingWebhookDeliveries>> {
  const place = readNumberCursor(cursor);
  if (isRefusal(place)) return place;
  const deliveries = await store.deliveries({ account, before: place.after, limit: limit + 1 });
  const { items, nextCursor } = buildPage(deliveries, limit, {
    nameOf: ({ number }) => String(number),
    viewOf: toDeliveryView,
  });
  return { deliveries: items, nextCursor };
}

function toDeliveryView({ event, state, createdAt, endedAt, attempts, lastAttempts }: Delivery): WebhookDeliveryView {
  return {
    eventId: event,
    type: 'alert.raised',
    state,
    attempts,
    createdAt: createdAt.toISOString(),
    endedAt: endedAt && endedAt.toISOString(),
    lastAttempts: [...lastAttempts],
  };
}

/** Serves the requests that change or show an account's webhook and its deliveries. */
export function serveWebhooks(
  bus: Pick<Bus, 'serve'>,
  deps: WebhookDeps & { readonly deliveries: DeliveryStore },
): void {
  bus.serve(billingPutWebhook, (body) => putWebhook(deps, body));
  bus.serve(billingGetWebhook, (body) => showWebhook(deps, body));
  bus.serve(billingDeleteWebhook, (body) => deleteWebhook(deps, body));
  bus.serve(billingRotateWebhookSecret, (body) => rotateWebhookSecret(deps, body));
  bus.serve(billingWebhookDeliveries, (body) => showDeliveries(deps.deliveries, body));
}

/**
 * Checks a webhook's URL and returns it in the URL parser's normal form. Host names are checked by
 * their text; their resolved addresses are checked at every connection.
 * @param privateAllowed allows private and loopback addresses, and plain HTTP to them
 */
export function checkWebhookUrl(text: string, privateAllowed: boolean): string | ManagementRefusal {
  const wrong = (message: string) => refuse('invalid_request', `url ${message}`, 'url');
  if (!URL.canParse(text)) return wrong('is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return wrong('must begin with https://');
  if (url.username !== '' || url.password !== '') return wrong('must not contain a user or password');
  if (text.includes('#')) return wrong('must not have a fragment');
  const isPrivate = isPrivateHost(url.hostname);
  if (isPrivate && !privateAllowed)
    return wrong('is a private, loopback or link-local address, which this deployment does not allow');
  if (url.protocol === 'http:' && !isPrivate) return wrong('must begin with https://');
  if (url.href.length > WEBHOOK_URL_CHARS_MAX) return wrong(`is longer than ${WEBHOOK_URL_CHARS_MAX} characters`);
  return url.href;
}
