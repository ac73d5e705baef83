-- Refunds find what they relate to, accounts close, and finance reads.

CREATE INDEX wallet_entries_relates_to ON wallet_entries (relates_to) WHERE relates_to IS NOT NULL;

-- Final: no credit and no subscription any more. The ledger of the account stays, and late calls still settle.
ALTER TABLE accounts ADD COLUMN closed_at timestamptz;
GRANT UPDATE (closed_at) ON accounts TO ${role};

-- What finance reads: views with a version in their name. A view is never changed in what it says; a new form is a new
-- view beside it. Views read with the rights of their owner, so no table has to be granted.
CREATE SCHEMA finance;
GRANT USAGE ON SCHEMA finance TO ${finance};

-- The time inside an id: calls and wallet entries belong to the month of their ids, whenever they were posted.
CREATE FUNCTION finance.time_of(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT
  RETURN timestamptz 'epoch'
    + ('x0000' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(64)::bigint * interval '1 millisecond';
CREATE FUNCTION finance.month_of(id uuid) RETURNS text LANGUAGE sql STABLE STRICT
  RETURN to_char(finance.time_of(id) AT TIME ZONE 'UTC', 'YYYY-MM');
-- Exact: a division would round.
CREATE FUNCTION finance.usd(nano numeric) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT
  RETURN (nano * 0.000000001)::numeric(28, 9);

CREATE VIEW finance.usage_records_v1 AS
SELECT id AS request_id, account AS account_id, key_id, member_id, model_id, source_id, endpoint, streamed, outcome, evidence,
       status, finance.month_of(id) AS month, finance.time_of(id) AS called_at, started_at, first_byte_at, ended_at,
       input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, price_version,
       finance.usd(charged_nano_usd) AS charged_usd, finance.usd(plan_nano_usd) AS plan_usd,
       finance.usd(wallet_nano_usd) AS wallet_usd, finance.usd(cost_nano_usd) AS cost_usd, subscription_period,
       (SELECT coalesce(jsonb_agg(jsonb_build_object(
                 'source_id', one -> 'source', 'provider_id', one -> 'provider', 'outcome', one -> 'outcome',
                 'status', one -> 'status', 'possibly_paid', one -> 'possiblyPaid', 'cost_version', one -> 'costVersion',
                 'cost_usd', finance.usd((one ->> 'costNanoUsd')::numeric)::text) ORDER BY place), '[]')
          FROM jsonb_array_elements(attempts) WITH ORDINALITY AS attempt (one, place)) AS attempts,
       recorded_at
  FROM ${schema}.usage_records;

CREATE VIEW finance.ledger_transactions_v1 AS
SELECT head.id AS transaction_id, head.kind, head.account AS account_id, head.request_id, head.corrects,
       finance.month_of(head.id) AS month, head.posted_at, entry.reference, entry.reason, entry.relates_to, entry.actor
  FROM ${schema}.ledger_transactions head LEFT JOIN ${schema}.wallet_entries entry ON entry.transaction_id = head.id;

CREATE VIEW finance.ledger_entries_v1 AS
SELECT entry.transaction_id, entry.ordinal, head.kind, head.account AS account_id, finance.month_of(head.id) AS month,
       entry.ledger_account, finance.usd(entry.amount_nano_usd) AS amount_usd, head.posted_at
  FROM ${schema}.ledger_entries entry JOIN ${schema}.ledger_transactions head ON head.id = entry.transaction_id;

CREATE VIEW finance.wallet_balances_v1 AS
SELECT wallet.account AS account_id, finance.usd(wallet.value) AS balance_usd, account.closed_at
  FROM ${schema}.standing_rows wallet JOIN ${schema}.accounts account ON account.account = wallet.account
 WHERE wallet.name = 'wallet';

-- One row for each account and month in which something moved; opening and movements give closing.
CREATE VIEW finance.statements_v1 AS
WITH moved AS (
  SELECT head.account, finance.month_of(head.id) AS month,
         sum(entry.amount_nano_usd) FILTER (WHERE head.kind = 'credit') AS credits,
         sum(entry.amount_nano_usd) FILTER (WHERE head.kind = 'refund') AS refunds,
         sum(entry.amount_nano_usd) FILTER (WHERE head.kind = 'chargeback') AS chargebacks,
         sum(entry.amount_nano_usd) FILTER (WHERE head.kind = 'adjustment') AS adjustments,
         sum(entry.amount_nano_usd) FILTER (WHERE head.kind IN ('usage', 'usage_correction')) AS usage,
         sum(entry.amount_nano_usd) AS total
    FROM ${schema}.ledger_transactions head JOIN ${schema}.ledger_entries entry ON entry.transaction_id = head.id
   WHERE entry.ledger_account = 'wallet:' || head.account
   GROUP BY 1, 2
), used AS (
  SELECT account, finance.month_of(id) AS month, count(*) AS calls, sum(charged_nano_usd) AS charged,
         sum(plan_nano_usd) AS plan, sum(wallet_nano_usd) AS wallet
    FROM ${schema}.usage_records WHERE outcome = 'settled' GROUP BY 1, 2
), both_of AS (
  SELECT account, month, credits, refunds, chargebacks, adjustments, usage, coalesce(total, 0) AS total,
         coalesce(calls, 0) AS calls, charged, plan, wallet,
         sum(coalesce(total, 0)) OVER (PARTITION BY account ORDER BY month) AS closing
    FROM moved FULL JOIN used USING (account, month)
)
SELECT account AS account_id, month, finance.usd(closing - total) AS opening_usd,
       finance.usd(coalesce(credits, 0)) AS credits_usd, finance.usd(coalesce(refunds, 0)) AS refunds_usd,
       finance.usd(coalesce(chargebacks, 0)) AS chargebacks_usd, finance.usd(coalesce(adjustments, 0)) AS adjustments_usd,
       finance.usd(coalesce(usage, 0)) AS usage_usd, finance.usd(closing) AS closing_usd, calls,
       finance.usd(coalesce(charged, 0)) AS charged_usd, finance.usd(coalesce(plan, 0)) AS plan_usd,
       finance.usd(coalesce(wallet, 0)) AS wallet_usd
  FROM both_of;

-- What each key, member and model used in a month.
CREATE VIEW finance.statement_lines_v1 AS
SELECT account AS account_id, finance.month_of(id) AS month,
       CASE grouping(key_id, member_id, model_id) WHEN 3 THEN 'key' WHEN 5 THEN 'member' ELSE 'model' END AS line_of,
       coalesce(key_id, member_id, model_id) AS line_id, count(*) AS calls, finance.usd(sum(charged_nano_usd)) AS charged_usd,
       finance.usd(sum(plan_nano_usd)) AS plan_usd, finance.usd(sum(wallet_nano_usd)) AS wallet_usd
  FROM ${schema}.usage_records WHERE outcome = 'settled'
 GROUP BY account, finance.month_of(id), GROUPING SETS ((key_id), (member_id), (model_id));

-- All ledger accounts by class; their sum is zero.
CREATE VIEW finance.trial_balance_v1 AS
SELECT CASE WHEN ledger_account LIKE 'wallet:%' THEN 'wallet' WHEN ledger_account LIKE 'plan:%' THEN 'plan'
            ELSE ledger_account END AS ledger_account,
       finance.usd(sum(amount_nano_usd)) AS amount_usd
  FROM ${schema}.ledger_entries GROUP BY 1;

GRANT SELECT ON ALL TABLES IN SCHEMA finance TO ${finance};
