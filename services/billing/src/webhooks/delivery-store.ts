import type { WebhookAttempt } from '@gateway/contracts/operator';
import { onPool, type Pool } from '@gateway/postgres';
import type { NumberedQuery } from '../ledger/sql.js';

export type DeliveryState = 'waiting' | 'delivered' | 'failed' | 'dropped';

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

/** Maximum of attempts in a delivery; older ones are only counted. */
const ATTEMPTS_KEPT_MAX = 20;
/** Retention of ended deliveries. */
const KEPT_DAYS = 30;

export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

/** Creates the store of webhook deliveries. */
export function createDeliveryStore(pool: Pool) {
  const queries = onPool(pool);
  return {
    /** Newest first. */
    async deliveries({ account, before, limit }: NumberedQuery): Promise<Delivery[]> {
      const rows = await queries.query<DeliveryRow>(
        `SELECT ${DELIVERY_COLUMNS} FROM webhook_deliveries
          WHERE account = $1 AND ($2::bigint IS NULL OR number < $2) ORDER BY number DESC LIMIT $3`,
        [account, before, limit],
      );
      return rows.map(deliveryFromRow);
    },
    /** Returns the destination of a waiting event; null if it has none or is not waiting. */
    async target(event: string): Promise<{ readonly url: string; readonly sealedSecret: string } | null> {
      const row = await queries.one<{ url: string; sealed_secret: string }>(
        `SELECT webhook.url, webhook.sealed_secret
           FROM webhook_deliveries delivery JOIN webhooks webhook USING (account)
          WHERE delivery.event = $1 AND delivery.state = 'waiting' AND webhook.enabled`,
        [event],
        { name: 'webhook_target' },
      );
      return row && { url: row.url, sealedSecret: row.sealed_secret };
    },
    /** Records an attempt; with a state, ends the delivery and deletes expired ones. */
    async recordAttempt(event: string, attempt: WebhookAttempt, ended: 'delivered' | 'failed' | null): Promise<void> {
      const row = await queries.one<{ account: string }>(
        `UPDATE webhook_deliveries
            SET attempts = attempts + 1,
                last_attempts = CASE WHEN jsonb_array_length(last_attempts) >= ${ATTEMPTS_KEPT_MAX}
                                     THEN last_attempts - 0 ELSE last_attempts END || jsonb_build_array($2::jsonb),
                state = coalesce($3, state),
                ended_at = CASE WHEN $3::text IS NULL THEN NULL ELSE now() END
          WHERE event = $1 AND state = 'waiting' RETURNING account`,
        [event, JSON.stringify(attempt), ended],
        { name: 'note_attempt' },
      );
      if (row === null || ended === null) return;
      await queries.execute(
        `DELETE FROM webhook_deliveries
          WHERE account = $1 AND state <> 'waiting' AND ended_at < now() - interval '${KEPT_DAYS} days'`,
        [row.account],
        { name: 'forget_deliveries' },
      );
    },
    /** Ends a waiting delivery without an attempt. */
    async drop(event: string): Promise<void> {
      await queries.execute(
        `UPDATE webhook_deliveries SET state = 'dropped', ended_at = now() WHERE event = $1 AND state = 'waiting'`,
        [event],
      );
    },
  };
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
