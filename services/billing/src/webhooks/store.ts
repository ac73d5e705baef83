import type { CommandAuthor } from '@gateway/contracts/messages';
import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { isClosed, lockForTerms } from '../ledger/accounts-store.js';
import { insertChange, hasMadeChange } from '../ledger/changes-store.js';

export const WEBHOOK_OUTBOX = 'webhook_outbox';

export interface Webhook {
  readonly account: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly createdAt: Date;
  readonly changedAt: Date;
}

export interface PutWebhookRequest {
  readonly account: string;
  readonly url: string;
  readonly enabled: boolean;
  /** Stored only if the webhook is new. */
  readonly sealedSecret: string;
  readonly author: CommandAuthor;
}

export interface RotateSecretRequest {
  readonly account: string;
  readonly sealedSecret: string;
  readonly author: CommandAuthor;
  readonly command: string | null;
}

export interface PutWebhookResult {
  readonly change: 'created' | 'changed' | 'unchanged';
  readonly webhook: Webhook;
}

export type WebhookStore = ReturnType<typeof createWebhookStore>;

/**
 * Creates the store of webhooks and their sealed secrets. Each change is one database transaction
 * with its audit row, under the account's lock.
 */
export function createWebhookStore(pool: Pool) {
  const queries = onPool(pool);
  return {
    async webhook(account: string): Promise<Webhook | null> {
      const row = await readWebhook(queries, account);
      return row && webhookFromRow(row);
    },
    /**
     * With a new address, waiting events are sent to it immediately. Disabling drops waiting
     * events. Returns null if the account is closed.
     */
    putWebhook: (request: PutWebhookRequest): Promise<PutWebhookResult | null> =>
      inTransaction(pool, (tx) => putWebhook(tx, request)),
    /** Drops waiting events. Returns false if there is no webhook. */
    deleteWebhook: (account: string, author: CommandAuthor): Promise<boolean> =>
      inTransaction(pool, (tx) => deleteWebhook(tx, account, author)),
    /** Returns null if there is no webhook. */
    rotateSecret: (request: RotateSecretRequest): Promise<{ webhook: Webhook; repeated: boolean } | null> =>
      inTransaction(pool, (tx) => rotateSecret(tx, request)),
    /** Ordered by account, after the given one. */
    async sealedSecrets(
      after: string,
      limit: number,
    ): Promise<{ readonly account: string; readonly sealedSecret: string }[]> {
      const rows = await queries.query<{ account: string; sealed_secret: string }>(
        'SELECT account, sealed_secret FROM webhooks WHERE account > $1 ORDER BY account LIMIT $2',
        [after, limit],
      );
      return rows.map((row) => ({ account: row.account, sealedSecret: row.sealed_secret }));
    },
    /** Does nothing if the secret has changed meanwhile. */
    async replaceSealed(account: string, before: string, after: string): Promise<void> {
      await queries.execute('UPDATE webhooks SET sealed_secret = $3 WHERE account = $1 AND sealed_secret = $2', [
        account,
        before,
        after,
      ]);
    },
  };
}

async function putWebhook(tx: Tx, request: PutWebhookRequest): Promise<PutWebhookResult | null> {
  const { account, url, enabled, sealedSecret, author } = request;
  await lockForTerms(tx, account);
  if (await isClosed(tx, account)) return null;
  const before = await readWebhook(tx, account);
  if (before !== null && before.url === url && before.enabled === enabled)
    return { change: 'unchanged', webhook: webhookFromRow(before) };
  const after = await writeWebhook(
    tx,
    `INSERT INTO webhooks (account, url, enabled, sealed_secret) VALUES ($1, $2, $3, $4)
     ON CONFLICT (account) DO UPDATE SET url = excluded.url, enabled = excluded.enabled, changed_at = now()
     RETURNING ${WEBHOOK_COLUMNS}`,
    [account, url, enabled, sealedSecret],
  );
  const webhook = webhookFromRow(after);
  if (enabled) await makeWaitingDue(tx, account);
  else await dropWaiting(tx, account);
  await insertChange(tx, {
    author,
    account,
    objectId: account,
    action: 'put_webhook',
    before: before && toAuditContent(webhookFromRow(before)),
    after: toAuditContent(webhook),
  });
  return { change: before === null ? 'created' : 'changed', webhook };
}

/** Deletes the webhook and drops its waiting events. Returns false if the account has none. */
export async function deleteWebhook(tx: Tx, account: string, author: CommandAuthor): Promise<boolean> {
  const before = await lockWebhook(tx, account);
  if (before === null) return false;
  await tx.execute('DELETE FROM webhooks WHERE account = $1', [account]);
  await dropWaiting(tx, account);
  await insertChange(tx, {
    author,
    account,
    objectId: account,
    action: 'delete_webhook',
    before: toAuditContent(webhookFromRow(before)),
    after: null,
  });
  return true;
}

async function rotateSecret(
  tx: Tx,
  request: RotateSecretRequest,
): Promise<{ webhook: Webhook; repeated: boolean } | null> {
  const { account, sealedSecret, author, command } = request;
  const before = await lockWebhook(tx, account);
  if (before === null) return null;
  const change = { action: 'rotate_webhook_secret', objectId: account } as const;
  const repeated = command !== null && (await hasMadeChange(tx, { ...change, command }));
  if (repeated) return { webhook: webhookFromRow(before), repeated };
  const after = await writeWebhook(
    tx,
    `UPDATE webhooks SET sealed_secret = $2, changed_at = now() WHERE account = $1
     RETURNING ${WEBHOOK_COLUMNS}`,
    [account, sealedSecret],
  );
  const webhook = webhookFromRow(after);
  await insertChange(tx, {
    ...change,
    author,
    account,
    command,
    before: toAuditContent(webhookFromRow(before)),
    after: toAuditContent(webhook),
  });
  return { webhook, repeated };
}

function readWebhook(tx: Tx, account: string): Promise<WebhookRow | null> {
  return tx.one<WebhookRow>(`SELECT ${WEBHOOK_COLUMNS} FROM webhooks WHERE account = $1`, [account]);
}

/** Locks the account, which may not exist without a webhook, and reads its webhook. */
async function lockWebhook(tx: Tx, account: string): Promise<WebhookRow | null> {
  if ((await readWebhook(tx, account)) === null) return null;
  await lockForTerms(tx, account);
  return readWebhook(tx, account);
}

async function writeWebhook(tx: Tx, text: string, values: readonly unknown[]): Promise<WebhookRow> {
  const row = await tx.one<WebhookRow>(text, values);
  if (row === null) throw new Error('a webhook is missing after it was written');
  return row;
}

/** Makes waiting events due now, because the new address may work. */
async function makeWaitingDue(tx: Tx, account: string): Promise<void> {
  await tx.execute(
    `UPDATE ${WEBHOOK_OUTBOX} SET due_at = clock_timestamp(), attempts = 0 WHERE key = $1 AND claim IS NULL`,
    [account],
  );
}

async function dropWaiting(tx: Tx, account: string): Promise<void> {
  await tx.execute(
    `UPDATE webhook_deliveries SET state = 'dropped', ended_at = now() WHERE account = $1 AND state = 'waiting'`,
    [account],
  );
  await tx.execute(`DELETE FROM ${WEBHOOK_OUTBOX} WHERE key = $1`, [account]);
}

/** The view for the audit log. */
function toAuditContent({ url, enabled }: Webhook): object {
  return { url, enabled };
}

export interface WebhookRow {
  readonly account: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly created_at: Date;
  readonly changed_at: Date;
}

export const WEBHOOK_COLUMNS = 'account, url, enabled, created_at, changed_at';

export function webhookFromRow({ account, url, enabled, created_at, changed_at }: WebhookRow): Webhook {
  return { account, url, enabled, createdAt: created_at, changedAt: changed_at };
}
