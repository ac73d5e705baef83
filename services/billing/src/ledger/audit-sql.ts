/** A query that returns one kind of difference: subject, expected, found. */
export interface AuditCheck {
  readonly name: string;
  readonly sql: string;
}

/**
 * Computes the usage balances from the records and the wallets from the entries. Names are looked
 * up after the aggregation, once for each sum.
 */
const BALANCES = `
  SELECT account, CASE grouping(key_number, member_number) WHEN 1 THEN 'km:' ELSE 'mm:' END
           || (SELECT name FROM names WHERE number = coalesce(key_number, member_number)) || ':' || month AS name, sum(charged_nano_usd) AS amount
    FROM usage_records GROUP BY account, month, GROUPING SETS ((key_number), (member_number))
  UNION ALL
  SELECT account, format('w:%s:%s:%s', split_part(counted, '/', 1), split_part(counted, '/', 2),
           CASE split_part(counted, '/', 1) WHEN 'session_5h' THEN session_start_ms::text
                                            WHEN 'weekly' THEN week_start_ms::text ELSE subscription_period END),
         CASE split_part(counted, '/', 2) WHEN 'usd' THEN plan_nano_usd ELSE 1 END
    FROM usage_records, unnest(windows) AS counted
   WHERE outcome_code = 2 AND (split_part(counted, '/', 1) <> 'session_5h' OR session_start_ms IS NOT NULL)
  UNION ALL
  SELECT account, format('al:%s:%s:%s', allotment, model_id, subscription_period),
         CASE allotment WHEN 'usd' THEN plan_nano_usd ELSE 1 END
    FROM usage_records WHERE outcome_code = 2 AND allotment IS NOT NULL
  UNION ALL SELECT substr(ledger_account, 8), 'wallet', amount_nano_usd
              FROM ledger_entries WHERE ledger_account LIKE 'wallet:%'`;

/**
 * Computes the wallet's part of a charge: the plan pays up to its bound, then the wallet up to its
 * hold, then the plan again (docs/behaviour.md#who-pays).
 */
const WALLET_PART = `(WITH above AS (SELECT charged_nano_usd - least(charged_nano_usd, greatest(plan_max_nano_usd, 0)) AS plan)
    SELECT CASE WHEN wallet_max_nano_usd IS NULL THEN above.plan
                ELSE least(above.plan, greatest(wallet_max_nano_usd, 0)) END FROM above)`;

/** The start of the hour in an ID, epoch milliseconds. */
const HOUR_OF_ID = `('x0000' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(64)::bigint / 3600000 * 3600000`;
const HOUR_SUMS = `format('%s calls, tokens %s %s %s %s %s, plan %s, wallet %s', count(*), coalesce(sum(input_tokens), 0),
    coalesce(sum(cached_input_tokens), 0), coalesce(sum(cache_write_tokens), 0), coalesce(sum(cache_write_1h_tokens), 0),
    coalesce(sum(output_tokens), 0), sum(plan_nano_usd), sum(wallet_nano_usd))`;

export const AUDIT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'trial balance',
    sql: `SELECT 'all entries' AS subject, '0' AS expected, sum(amount_nano_usd)::text AS found
            FROM ledger_entries HAVING sum(amount_nano_usd) <> 0`,
  },
  {
    name: 'transaction',
    sql: `SELECT id::text AS subject, 'a head and two entries or more that sum to 0' AS expected,
                 format('%s and %s entries, the last %s, that sum to %s',
                        CASE WHEN head.kind IS NULL THEN 'no head' ELSE 'a head' END,
                        coalesce(whole.entries, 0), coalesce(whole.last, 0), coalesce(whole.total, 0)) AS found
            FROM command_transactions head
            FULL JOIN (SELECT transaction_id AS id, count(*) AS entries, max(ordinal) AS last,
                              sum(amount_nano_usd) AS total FROM command_entries GROUP BY 1) whole USING (id)
           WHERE head.kind IS NULL OR whole.entries IS NULL OR whole.entries < 2 OR whole.entries <> whole.last
              OR whole.total <> 0`,
  },
  {
    name: 'record',
    sql: `SELECT id::text AS subject, format('plan %s, wallet %s', charged_nano_usd - part, part) AS expected,
                 format('plan %s, wallet %s', plan_nano_usd, wallet_nano_usd) AS found
            FROM (SELECT *, ${WALLET_PART} AS part FROM usage_records) record
           WHERE wallet_nano_usd <> part`,
  },
  {
    name: 'rank',
    sql: `SELECT id::text AS subject,
                 CASE WHEN lower.id IS NULL THEN 'no lower rank, and nothing corrected'
                      ELSE 'a correction of a call of the same account' END AS expected,
                 format('rank %s of account %s, corrects: %s', higher.rank, higher.account_number, higher.corrects) AS found
            FROM call_records higher
            LEFT JOIN (SELECT id, account_number FROM call_records WHERE rank = 1) lower USING (id)
           WHERE higher.rank = 2
             AND (higher.corrects <> (lower.id IS NOT NULL) OR lower.account_number <> higher.account_number)`,
  },
  {
    name: 'wallet entry',
    sql: `WITH posted AS (SELECT head.id, head.kind, account, sum(entry.amount_nano_usd) AS amount
                            FROM command_transactions head JOIN accounts ON number = account_number
                            LEFT JOIN command_entries entry ON entry.transaction_id = head.id
                                                           AND entry.ledger_account = 'wallet:' || account
                           GROUP BY 1, 2, 3)
          SELECT coalesce(id, entry.transaction_id)::text AS subject,
                 format('%s of %s for %s', posted.kind, posted.amount, posted.account) AS expected,
                 format('%s of %s for %s', entry.kind, entry.amount_nano_usd, entry.account) AS found
            FROM posted FULL JOIN wallet_entries entry ON entry.transaction_id = posted.id
           WHERE posted.amount IS DISTINCT FROM entry.amount_nano_usd OR posted.kind IS DISTINCT FROM entry.kind
              OR posted.account IS DISTINCT FROM entry.account`,
  },
  {
    name: 'balance',
    sql: `WITH rebuilt AS (SELECT account, name, sum(amount) AS value FROM (${BALANCES}) amounts GROUP BY 1, 2)
          SELECT format('%s %s', account, name) AS subject, coalesce(rebuilt.value, 0)::text AS expected,
                 coalesce(kept.value, 0)::text AS found
            FROM rebuilt FULL JOIN balances kept USING (account, name)
           WHERE coalesce(rebuilt.value, 0) <> coalesce(kept.value, 0)`,
  },
  {
    name: 'hour of use',
    sql: `WITH summed AS (SELECT account, hour_ms, key_number, member_number, model_number, ${HOUR_SUMS} AS sums,
                                 count(*) FILTER (WHERE wallet_nano_usd > 0) AS wallet_calls FROM (
                            SELECT *, ${HOUR_OF_ID} AS hour_ms FROM usage_records WHERE outcome_code = 2) record
                           GROUP BY 1, 2, 3, 4, 5),
               rebuilt AS (SELECT account, hour_ms, key.name AS key_id, member.name AS member_id, model.name AS model_id, sums,
                                  wallet_calls
                             FROM summed JOIN names key ON key.number = key_number
                             JOIN names member ON member.number = member_number
                             JOIN names model ON model.number = model_number),
               kept AS (SELECT account, hour_ms, key_id, member_id, model_id,
                               format('%s calls, tokens %s %s %s %s %s, plan %s, wallet %s', calls, input_tokens,
                                      cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens,
                                      plan_nano_usd, wallet_nano_usd) AS sums,
                               wallet_calls
                          FROM usage_hours)
          SELECT concat_ws(' ', account, hour_ms, key_id, member_id, model_id) AS subject,
                 coalesce(rebuilt.sums || format(', of %s calls', rebuilt.wallet_calls), 'no row') AS expected,
                 coalesce(kept.sums || format(', of %s calls', kept.wallet_calls), 'no row') AS found
            FROM rebuilt FULL JOIN kept USING (account, hour_ms, key_id, member_id, model_id)
           WHERE rebuilt.sums IS DISTINCT FROM kept.sums OR rebuilt.wallet_calls <> kept.wallet_calls`,
  },
  {
    name: 'version',
    sql: `SELECT format('%s %s', account, name) AS subject, format('at most %s', known.version) AS expected,
                 changed.version::text AS found
            FROM balances changed JOIN accounts known USING (account) WHERE changed.version > known.version`,
  },
  {
    name: 'alert',
    sql: `WITH rebuilt AS (SELECT account, name, sum(amount) AS value FROM (${BALANCES}) amounts GROUP BY 1, 2)
          SELECT format('%s %s:%s at %s percent', alert.account, subject, period, threshold) AS subject,
                 format('a use of %s or more', used_value) AS expected, coalesce(rebuilt.value, 0)::text AS found
            FROM alerts alert
            LEFT JOIN rebuilt ON rebuilt.account = alert.account AND rebuilt.name = alert.subject || ':' || alert.period
           WHERE coalesce(rebuilt.value, 0) < used_value`,
  },
  {
    name: 'chained transactions',
    sql: `SELECT 'ledger transactions' AS subject, (chained + earlier_transactions)::text AS expected, posted::text AS found
            FROM chain_start, (SELECT count(*) AS posted FROM ledger_transactions) head,
                 (SELECT coalesce(sum(length(members) / 48), 0) AS chained FROM chain_blocks) block
           WHERE chained + earlier_transactions <> posted`,
  },
  {
    name: 'unchained transaction',
    sql: `WITH chained AS (
            SELECT encode(substr(members, 1 + 48 * at, 16), 'hex')::uuid AS id
              FROM chain_blocks, generate_series(0, length(members) / 48 - 1) AS at
          )
          SELECT head.id::text AS subject, 'a place in its chain' AS expected,
                 format('%s of %s at %s in no chain', kind, account, posted_at) AS found
            FROM ledger_transactions head
           WHERE (SELECT count(*) FROM chain_start WHERE earlier_transactions = 0) = 1
             AND NOT EXISTS (SELECT FROM chained WHERE chained.id = head.id)`,
  },
];
