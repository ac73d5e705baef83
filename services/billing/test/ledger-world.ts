import { startTestDatabase, type OwnServer, type TestDatabase } from '@gateway/testkit';

/** Settings of a server whose databases are ledgers. */
export const LEDGER = {
  service: 'billing',
  migrations: new URL('../migrations/', import.meta.url),
  readers: ['finance'],
} as const;

export type LedgerWorld = Awaited<ReturnType<typeof startLedgerWorld>>;

/** Ledgers that are copies of one migrated template. */
export async function startLedgerWorld({ own }: OwnServer = {}) {
  const server = await startTestDatabase({ ...LEDGER, own });
  let shared: TestDatabase | null = null;
  return {
    postgres: server.postgres,
    /** Returns a new, migrated, empty ledger. */
    ledger: () => server.database(),
    /** Returns a shared ledger after emptying it, which is ten times as fast. */
    async emptied(): Promise<TestDatabase> {
      shared ??= await server.database();
      await shared.admin.query(EMPTY);
      return shared;
    },
    stop: () => server.stop(),
  };
}

/** One migrated, empty ledger. */
export async function startLedger() {
  const server = await startTestDatabase(LEDGER);
  const ledger = await server.database();
  return { ...ledger, empty: () => ledger.admin.query(EMPTY), stop: () => server.stop() };
}

/** Deletes all rows except months, names and the ledger epoch, with `gateway.ledger_repair` set. */
const EMPTY = `
  BEGIN;
  SET LOCAL gateway.ledger_repair = 'on';
  DELETE FROM billing.command_entries;
  DELETE FROM billing.command_transactions;
  DELETE FROM billing.chain_blocks;
  UPDATE billing.chain_heads SET number = 0, link = sha256(convert_to('chain ' || chain, 'UTF8'));
  DELETE FROM billing.call_records;
  DELETE FROM billing.usage_hours;
  DELETE FROM billing.refused_calls;
  DELETE FROM billing.dead_letter_replays;
  DELETE FROM billing.shard_holders;
  DELETE FROM billing.dead_letters;
  DELETE FROM billing.wallet_entries;
  DELETE FROM billing.alerts;
  DELETE FROM billing.alert_outbox;
  DELETE FROM billing.spend_caps;
  DELETE FROM billing.webhooks;
  DELETE FROM billing.webhook_deliveries;
  DELETE FROM billing.webhook_outbox;
  DELETE FROM billing.balances;
  DELETE FROM billing.account_limits;
  DELETE FROM billing.subscription_timers;
  DELETE FROM billing.plan_refreshes;
  DELETE FROM billing.subscription_periods;
  DELETE FROM billing.plans;
  DELETE FROM billing.plan_versions;
  DELETE FROM billing.changes;
  DELETE FROM billing.accounts;
  DELETE FROM billing.applied_batches;
  DELETE FROM billing.stream_marks;
  DELETE FROM billing.outbox;
  UPDATE billing.stream_progress SET floor_sequence = 0, floor_stored_at = to_timestamp(0), stream_since = to_timestamp(0);
  COMMIT`;
