import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabaseFromTemplate, createPool, databaseUrl, migrate, type Pool } from '@gateway/postgres';
import { startServers } from '@gateway/servers';

const PASSWORD = 'a password for tests';
const ROLE = { name: 'gateway_billing', password: 'another password for tests' };
const TEMPLATE = 'billing_template';

export const silentLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};

export interface LedgerDatabase {
  /** As the service's own role. */
  readonly pool: Pool;
  /** As the superuser who migrated. */
  readonly admin: Pool;
  /** With the service's own role. */
  readonly url: string;
}

export interface LedgerWorld {
  /** A migrated, empty ledger of its own. */
  ledger(): Promise<LedgerDatabase>;
  /** The same ledger for all who ask, emptied: ten times as fast. */
  emptied(): Promise<LedgerDatabase>;
  stop(): Promise<void>;
}

/** A PostgreSQL server with a migrated template; every ledger is a copy of it. */
export async function startLedgerWorld(): Promise<LedgerWorld> {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'gateway-billing-'));
  const { postgres } = await startServers(['postgres'], {
    stateDirectory,
    durable: false,
    postgres: { superuserPassword: PASSWORD },
    env: { ...process.env, GATEWAY_MIGRATION_URL: '', GATEWAY_POSTGRES_URL: '' },
  });
  const pools: Pool[] = [];
  const poolOf = (url: string): Pool => {
    const pool = createPool(url, { applicationName: 'billing test', log: silentLog });
    pools.push(pool);
    return pool;
  };
  await makeTemplate(postgres.url);
  let ledgers = 0;
  let shared: LedgerDatabase | null = null;
  const ledger = async (): Promise<LedgerDatabase> => {
    ledgers += 1;
    const url = await createDatabaseFromTemplate(postgres.url, `billing_${ledgers}`, TEMPLATE);
    const own = new URL(url);
    own.username = ROLE.name;
    own.password = ROLE.password;
    // Settings of a role for a database are not copied with it.
    const admin = poolOf(url);
    await admin.query(`ALTER ROLE ${ROLE.name} IN DATABASE billing_${ledgers} SET search_path = billing`);
    return { pool: poolOf(own.href), admin, url: own.href };
  };
  return {
    ledger,
    async emptied() {
      shared ??= await ledger();
      await shared.admin.query(EMPTY);
      return shared;
    },
    async stop() {
      await Promise.all(pools.map((pool) => pool.end()));
      await postgres.stop();
      rmSync(stateDirectory, { recursive: true, force: true });
    },
  };
}

/** Deletes with the superuser's declared intent; everything but months and the incarnation. */
const EMPTY = `
  BEGIN;
  SET LOCAL gateway.ledger_repair = 'on';
  DELETE FROM billing.ledger_entries;
  DELETE FROM billing.ledger_transactions;
  DELETE FROM billing.usage_records;
  DELETE FROM billing.set_aside_events;
  DELETE FROM billing.wallet_entries;
  DELETE FROM billing.standing_rows;
  DELETE FROM billing.account_limits;
  DELETE FROM billing.subscription_periods;
  DELETE FROM billing.accounts;
  DELETE FROM billing.applied_messages;
  DELETE FROM billing.stream_marks;
  DELETE FROM billing.outbox;
  UPDATE billing.stream_progress SET floor_sequence = 0, floor_stored_at = to_timestamp(0), stream_since = to_timestamp(0);
  COMMIT`;

async function makeTemplate(serverUrl: string): Promise<void> {
  await createDatabaseFromTemplate(serverUrl, TEMPLATE, 'template1');
  await migrate({
    migrationUrl: databaseUrl(serverUrl, TEMPLATE),
    schema: 'billing',
    directory: new URL('../migrations/', import.meta.url),
    role: ROLE,
    log: silentLog,
  });
}

const UNTIL_MS = 20_000;
const LOOK_MS = 10;

/** Waits until `condition` holds; fails after twenty seconds. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadlineMs = performance.now() + UNTIL_MS;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`waited ${UNTIL_MS} ms in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
