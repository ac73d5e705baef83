import { onPool, type Pool } from '@gateway/postgres';
import type { DeliveryStore } from './alert-ports.js';

/** Attempts that a delivery shows; older ones are only counted. */
const ATTEMPTS_KEPT_MAX = 20;
/** How long what became of an event is kept. */
const KEPT_DAYS = 30;

/** What delivering events reads and notes. */
export function makeDeliveryStore(pool: Pool): DeliveryStore {
  const queries = onPool(pool);
  return {
    async target(event) {
      const row = await queries.one<{ url: string; sealed_secret: string }>(
        `SELECT webhook.url, webhook.sealed_secret
           FROM webhook_deliveries delivery JOIN webhooks webhook USING (account)
          WHERE delivery.event = $1 AND delivery.state = 'waiting' AND webhook.enabled`,
        [event],
        { name: 'webhook_target' },
      );
      return row && { url: row.url, sealedSecret: row.sealed_secret };
    },
    async noteAttempt(event, attempt, ended) {
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
    async drop(event) {
      await queries.execute(
        `UPDATE webhook_deliveries SET state = 'dropped', ended_at = now() WHERE event = $1 AND state = 'waiting'`,
        [event],
      );
    },
  };
}
