import type { Pool } from '@gateway/postgres';
import { AMOUNT_NANO_USD, MODEL, PRICE, PROVIDER, SOURCE, USAGE, listAccounts } from './events.js';

/** Records per database transaction. */
const ROUND = 100_000;
/** The earlier calls are distributed over this number of days before now. */
const DAYS = 20;

/** The account, key, member and model of a record. */
export interface Payer {
  readonly account: string;
  readonly key: string;
  readonly member: string;
  readonly model: string;
}

/** Returns accounts as events contain them. */
export const listPayers = (accounts: number): Payer[] =>
  listAccounts(accounts).map((account) => ({
    account,
    key: `key-of-${account}`,
    member: `member-of-${account}`,
    model: MODEL,
  }));

/**
 * Fills an idle ledger by SQL until it contains `records`, with calls of the payers in turn as
 * settlements would have written them, but without hash chains: `chain_start` has their number,
 * which the audit reads. `admin` has one connection, which keeps the session. Triggers do not run
 * (`session_replication_role` is `replica`); the later audit checks the filled ledger.
 */
export async function fillLedger(admin: Pool, records: number, payers: readonly Payer[]): Promise<void> {
  await admin.query(`SET search_path = billing; SET session_replication_role = 'replica'`);
  for (let day = 0; day <= 31; day += 1)
    await admin.query(`SELECT ensure_month(date_trunc('month', now() - $1 * interval '1 day')::date)`, [day]);
  const { rows } = await admin.query<{ held: number }>('SELECT count(*)::int AS held FROM usage_records');
  for (let held = rows[0]?.held ?? 0; held < records; held += ROUND)
    await fillRound(admin, Math.min(ROUND, records - held), payers);
  await admin.query(`SET session_replication_role = 'origin'`);
  await admin.query('VACUUM ANALYZE');
  await admin.query('CHECKPOINT');
}

async function fillRound(admin: Pool, calls: number, payers: readonly Payer[]): Promise<void> {
  const columns = (['account', 'key', 'member', 'model'] as const).map((name) => payers.map((payer) => payer[name]));
  await admin.query('BEGIN');
  // IDs ascend in time within a round, like real ones; the remaining bits of each ID are random.
  await admin.query(
    `CREATE TEMPORARY TABLE call ON COMMIT DROP AS
     SELECT (lpad(to_hex(at_ms), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid AS id,
            at_ms, to_timestamp(at_ms / 1000.0) AS at, account, key_id, member_id, model_id
       FROM (SELECT number, ((extract(epoch FROM now()) - $2 * 86400.0 * (1 - number / $1::numeric)) * 1000)::bigint - 60000 AS at_ms
               FROM generate_series(0, $1::int - 1) AS number) numbered
       JOIN unnest($4::text[], $5::text[], $6::text[], $7::text[]) WITH ORDINALITY
              AS payer (account, key_id, member_id, model_id, place) ON place = 1 + number % $3::int
      ORDER BY number`,
    [calls, DAYS, payers.length, ...columns],
  );
  for (const { text, values = [] } of STATEMENTS) await admin.query(text, values);
  await admin.query('COMMIT');
}

const AT_MONTH = `to_char(at AT TIME ZONE 'UTC', 'YYYY-MM')`;
const NUMBER_OF = (name: string): string => `(SELECT number FROM names WHERE name = ${name})`;
/** Balances by name; each call adds this to each of them. */
const ROWS = `(VALUES ('wallet', -1), ('km:%1$s:%3$s', 1), ('mm:%2$s:%3$s', 1)) AS counted (form, sign)`;

const STATEMENTS: readonly { readonly text: string; readonly values?: unknown[] }[] = [
  { text: `INSERT INTO accounts (account) SELECT DISTINCT account FROM call ON CONFLICT DO NOTHING` },
  { text: `UPDATE accounts SET version = version + 1 WHERE account IN (SELECT account FROM call)` },
  {
    text: `INSERT INTO names (name)
           SELECT unnest(ARRAY[key_id, member_id, model_id]) FROM call
           UNION SELECT unnest(ARRAY[$1, $2, $3, '/v1/chat/completions'])
           ON CONFLICT DO NOTHING`,
    values: [SOURCE, PROVIDER, PRICE.version],
  },
  {
    text: `INSERT INTO call_records (id, rank, content_hash, account_number, key_number, member_number, model_number,
             source_number, endpoint_number, streamed, outcome_code, status, started_ms, first_byte_ms, ended_ms,
             input_tokens, output_tokens, price_version_number, charged_nano_usd, cost_nano_usd, admitted_ms, worst_nano_usd,
             attempt_provider_number, attempt_version_number, attempt_outcome_code, attempt_possibly_paid, corrects)
           SELECT id, 2, substr(sha256(uuid_send(id)), 1, 16), accounts.number, key.number, member.number, model.number,
                  ${NUMBER_OF('$1')}, ${NUMBER_OF(`'/v1/chat/completions'`)}, true, 2, 200, 0, 200, 900,
                  $2, $3, ${NUMBER_OF('$4')}, $5::bigint, $5::bigint, 0, 3 * $5::bigint,
                  ${NUMBER_OF('$6')}, ${NUMBER_OF('$4')}, 1, true, false
             FROM call JOIN accounts USING (account) JOIN names key ON key.name = key_id
             JOIN names member ON member.name = member_id JOIN names model ON model.name = model_id`,
    values: [SOURCE, USAGE.input, USAGE.output, PRICE.version, AMOUNT_NANO_USD, PROVIDER],
  },
  {
    text: `INSERT INTO balances AS kept
           SELECT account, format(form, key_id, member_id, ${AT_MONTH}), sum(sign) * $1::bigint, max(version)
             FROM call JOIN accounts USING (account), ${ROWS} GROUP BY 1, 2
           ON CONFLICT (account, name) DO UPDATE SET value = kept.value + excluded.value, version = excluded.version`,
    values: [AMOUNT_NANO_USD],
  },
  {
    text: `INSERT INTO usage_hours AS kept (account, hour_ms, key_id, member_id, model_id, calls, input_tokens,
                  cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, plan_nano_usd,
                  wallet_nano_usd, wallet_calls)
           SELECT account, at_ms / 3600000 * 3600000, key_id, member_id, model_id, count(*),
                  count(*) * $1::bigint, 0, 0, 0, count(*) * $2::bigint, 0, count(*) * $3::bigint, count(*)
             FROM call GROUP BY 1, 2, 3, 4, 5
           ON CONFLICT (account, hour_ms, key_id, member_id, model_id) DO UPDATE
             SET calls = kept.calls + excluded.calls, input_tokens = kept.input_tokens + excluded.input_tokens,
                 output_tokens = kept.output_tokens + excluded.output_tokens,
                 wallet_nano_usd = kept.wallet_nano_usd + excluded.wallet_nano_usd,
                 wallet_calls = kept.wallet_calls + excluded.wallet_calls`,
    values: [USAGE.input, USAGE.output, AMOUNT_NANO_USD],
  },
  {
    text: `UPDATE chain_start SET earlier_transactions = (SELECT count(*) FROM ledger_transactions)
                                   - (SELECT coalesce(sum(length(members) / 48), 0) FROM chain_blocks)`,
  },
];
