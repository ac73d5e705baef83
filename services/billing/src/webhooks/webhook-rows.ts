import type { WebhookAttempt } from '@gateway/contracts/operator';
import type { Delivery, DeliveryState, Webhook } from './alert-ports.js';

export interface WebhookRow {
  readonly account: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly rotated_by: string | null;
  readonly created_at: Date;
  readonly changed_at: Date;
}

export const WEBHOOK_COLUMNS = 'account, url, enabled, rotated_by, created_at, changed_at';

export function webhookFromRow({ account, url, enabled, created_at, changed_at }: WebhookRow): Webhook {
  return { account, url, enabled, createdAt: created_at, changedAt: changed_at };
}

export interface DeliveryRow {
  readonly event: string;
  readonly number: bigint;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly last_attempts: WebhookAttempt[];
  readonly created_at: Date;
  readonly ended_at: Date | null;
}

export const DELIVERY_COLUMNS = 'event, number, state, attempts, last_attempts, created_at, ended_at';

export function deliveryFromRow(row: DeliveryRow): Delivery {
  return {
    event: row.event,
    number: row.number,
    state: row.state,
    createdAt: row.created_at,
    endedAt: row.ended_at,
    attempts: row.attempts,
    lastAttempts: row.last_attempts,
  };
}
