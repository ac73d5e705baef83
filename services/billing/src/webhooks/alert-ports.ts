import type { WebhookAttempt } from '@gateway/contracts/operator';
import type { Alert } from '../alerts/rules.js';

/** The monthly cap of a key or a member, as accounts tells it. */
export interface SpendCap {
  readonly kind: 'key' | 'member';
  readonly id: string;
  /** Null: none. */
  readonly capNanoUsd: bigint | null;
  /** Of the key or the member: the newer one wins. */
  readonly version: number;
}

/** A place in a list that is read newest first. */
export interface NumberedQuery {
  readonly account: string;
  /** Only numbers below it. */
  readonly before: bigint | null;
  readonly limit: number;
}

export interface AlertStore {
  /** One database transaction: lock the account, write caps that are newer, commit. */
  applyCaps(account: string, caps: readonly SpendCap[]): Promise<void>;
  /** Newest first. */
  alerts(query: NumberedQuery): Promise<{ readonly number: bigint; readonly alert: Alert }[]>;
}

/** Where an account's events are posted to. */
export interface Webhook {
  readonly account: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly createdAt: Date;
  readonly changedAt: Date;
}

export type DeliveryState = 'waiting' | 'delivered' | 'failed' | 'dropped';

/** One event on its way to a webhook. */
export interface Delivery {
  readonly event: string;
  readonly number: bigint;
  readonly state: DeliveryState;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
  readonly attempts: number;
  /** Newest last. */
  readonly lastAttempts: readonly WebhookAttempt[];
}

export interface PutWebhookRequest {
  readonly account: string;
  readonly url: string;
  readonly enabled: boolean;
  /** Kept only when the webhook is new. */
  readonly sealedSecret: string;
  readonly actor: string;
}

export interface RotateSecretRequest {
  readonly account: string;
  readonly sealedSecret: string;
  readonly actor: string;
  readonly command: string | null;
}

/** Each change is one database transaction with its audit row, under the account's lock. */
export interface WebhookStore {
  webhook(account: string): Promise<Webhook | null>;
  /** Another address is tried at once for what waits; disabling drops what waits. Null: the account is closed. */
  putWebhook(
    request: PutWebhookRequest,
  ): Promise<{ change: 'created' | 'changed' | 'unchanged'; webhook: Webhook } | null>;
  /** Drops what waits. False: there is none. */
  deleteWebhook(account: string, actor: string): Promise<boolean>;
  /** Null: there is none. */
  rotateSecret(request: RotateSecretRequest): Promise<{ webhook: Webhook; repeated: boolean } | null>;
  /** Newest first. */
  deliveries(query: NumberedQuery): Promise<Delivery[]>;
}

/** What delivering events needs. */
export interface DeliveryStore {
  /** Where a waiting event is to be sent; null: nowhere any more, or it has been. */
  target(event: string): Promise<{ readonly url: string; readonly sealedSecret: string } | null>;
  /** Notes an attempt; with a state the delivery ends, and what the account keeps for too long is deleted. */
  noteAttempt(event: string, attempt: WebhookAttempt, ended: 'delivered' | 'failed' | null): Promise<void>;
  /** Ends a waiting delivery without an attempt. */
  drop(event: string): Promise<void>;
}

/** Sealed secrets of webhooks, for looking after the key under which they are sealed. */
export interface SealedSecretStore {
  /** By account, after the one named. */
  sealedSecrets(after: string, limit: number): Promise<{ readonly account: string; readonly sealedSecret: string }[]>;
  /** Nothing when the secret is another one by now. */
  replaceSealed(account: string, before: string, after: string): Promise<void>;
}

export interface SecretSeal {
  /** The secret; null: no key at hand opens it. */
  open(sealed: string, account: string): string | null;
  /** Under the current key; null: no key at hand opens it. */
  current(sealed: string, account: string): string | null;
}

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Posts to addresses that customers name. Follows nothing, reads no answer but its status, never throws. */
export interface WebhookSender {
  post(
    request: WebhookRequest,
  ): Promise<{ readonly status: number } | { readonly failure: 'timeout' | 'connection' | 'private_address' }>;
}
