-- The samplings of an answer that has several, so that each can be rated by its own tier again, and the names of what was
-- served without a price. Both are null in nearly all records.
ALTER TABLE call_records
  -- A list for each sampling: input, cached input, cache writes, cache writes for an hour, output; then, where there are
  -- other tokens than text, audio input, image input, audio output, image output.
  ADD COLUMN samplings jsonb,
  ADD COLUMN unpriced jsonb;

-- cache_write_tokens has those for five minutes.
ALTER TABLE usage_hours ADD COLUMN cache_write_1h_tokens bigint NOT NULL DEFAULT 0;
GRANT UPDATE (cache_write_1h_tokens) ON usage_hours TO ${role};

CREATE OR REPLACE VIEW usage_record_ranks AS
SELECT record.id, record.rank, record.content_hash,
       accounts.account,
       (SELECT name FROM names WHERE number = record.key_number) AS key_id,
       (SELECT name FROM names WHERE number = record.member_number) AS member_id,
       (SELECT name FROM names WHERE number = record.model_number) AS model_id,
       (SELECT name FROM names WHERE number = record.source_number) AS source_id,
       (SELECT name FROM names WHERE number = record.endpoint_number) AS endpoint,
       record.streamed,
       (ARRAY['expired', 'settled', 'voided'])[record.outcome_code] AS outcome,
       (ARRAY['reported', 'estimated', 'none'])[coalesce(record.evidence_code, 1)] AS evidence,
       record.status,
       timestamptz 'epoch' + coalesce(exact[2], id_ms(id) + started_ms) * interval '1 millisecond' AS started_at,
       timestamptz 'epoch' + CASE WHEN exact IS NULL THEN id_ms(id) + started_ms + first_byte_ms ELSE exact[3] END
         * interval '1 millisecond' AS first_byte_at,
       timestamptz 'epoch' + coalesce(exact[4], id_ms(id) + started_ms + ended_ms) * interval '1 millisecond' AS ended_at,
       CASE WHEN exact IS NULL THEN input_tokens ELSE exact[7] END AS input_tokens,
       CASE WHEN exact IS NOT NULL THEN exact[8] WHEN input_tokens IS NOT NULL THEN coalesce(cached_input_tokens, 0) END
         AS cached_input_tokens,
       CASE WHEN exact IS NOT NULL THEN exact[9] WHEN input_tokens IS NOT NULL THEN coalesce(cache_write_tokens, 0) END
         AS cache_write_tokens,
       CASE WHEN exact IS NOT NULL THEN exact[10] WHEN input_tokens IS NOT NULL THEN coalesce(cache_write_1h_tokens, 0) END
         AS cache_write_1h_tokens,
       CASE WHEN exact IS NOT NULL THEN exact[11] WHEN input_tokens IS NOT NULL THEN coalesce(output_tokens, 0) END
         AS output_tokens,
       (SELECT name FROM names WHERE number = record.price_version_number) AS price_version,
       record.charged_nano_usd,
       coalesce(record.plan_nano_usd, 0) AS plan_nano_usd,
       record.charged_nano_usd - coalesce(record.plan_nano_usd, 0) AS wallet_nano_usd,
       record.cost_nano_usd,
       timestamptz 'epoch' + coalesce(exact[1], id_ms(id) + admitted_ms) * interval '1 millisecond' AS admitted_at,
       record.worst_nano_usd,
       coalesce(record.plan_max_nano_usd, 0) AS plan_max_nano_usd,
       record.wallet_max_nano_usd,
       coalesce(record.month,
                to_char((timestamptz 'epoch' + id_ms(id) * interval '1 millisecond') AT TIME ZONE 'UTC', 'YYYY-MM'))
         AS month,
       CASE WHEN exact IS NULL THEN id_ms(id) + session_ms ELSE exact[5] END AS session_start_ms,
       CASE WHEN exact IS NULL THEN id_ms(id) + week_ms ELSE exact[6] END AS week_start_ms,
       (SELECT name FROM names WHERE number = record.subscription_number) AS subscription_period,
       CASE WHEN window_codes IS NULL THEN ARRAY[]::text[] ELSE ARRAY(
         SELECT (ARRAY['session_5h/usd', 'session_5h/requests', 'weekly/usd', 'weekly/requests', 'monthly/usd',
                       'monthly/requests'])[window_codes >> 3 * place & 7]
           FROM generate_series(0, 5) AS place WHERE window_codes >> 3 * place > 0 ORDER BY place) END AS windows,
       (ARRAY['usd', 'requests'])[record.allotment_code] AS allotment,
       CASE WHEN record.attempts IS NOT NULL THEN record.attempts
            WHEN attempt_outcome_code IS NULL THEN '[]'
            ELSE jsonb_build_array(jsonb_build_object(
              'source', (SELECT name FROM names WHERE number = record.source_number),
              'provider', (SELECT name FROM names WHERE number = attempt_provider_number),
              'outcome', (ARRAY['completed', 'rejected', 'unreachable', 'timed_out', 'broken', 'abandoned'])[attempt_outcome_code],
              'status', record.status,
              'possiblyPaid', attempt_possibly_paid,
              'usage', CASE
                WHEN exact IS NOT NULL AND exact[7] IS NOT NULL THEN jsonb_build_object(
                  'input', exact[7], 'cachedInput', exact[8], 'cacheWrite', exact[9], 'cacheWrite1h', exact[10],
                  'output', exact[11])
                WHEN input_tokens IS NOT NULL THEN jsonb_build_object(
                  'input', input_tokens, 'cachedInput', coalesce(cached_input_tokens, 0),
                  'cacheWrite', coalesce(cache_write_tokens, 0), 'cacheWrite1h', coalesce(cache_write_1h_tokens, 0),
                  'output', coalesce(output_tokens, 0)) END,
              'costVersion', (SELECT name FROM names WHERE number = attempt_version_number),
              'costNanoUsd', cost_nano_usd)) END AS attempts,
       record.recorded_at,
       record.account_number, record.key_number, record.member_number, record.model_number, record.outcome_code,
       (ARRAY['priority', 'flex', 'fast'])[record.class_code] AS price_class, record.units, record.token_kinds,
       record.samplings, record.unpriced
  FROM call_records record LEFT JOIN accounts ON accounts.number = record.account_number;

CREATE OR REPLACE VIEW usage_records AS
SELECT * FROM usage_record_ranks record
 WHERE rank = 2 OR (SELECT true FROM call_records higher WHERE higher.id = record.id AND higher.rank = 2) IS NULL;

-- What finance reads of a call, with its samplings and what of it has no price. The view before keeps its form.
CREATE VIEW finance.usage_records_v3 AS
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
       recorded_at,
       coalesce(price_class, 'standard') AS price_class, coalesce(units, '{}') AS units,
       coalesce((token_kinds ->> 'audioInput')::bigint, 0) AS audio_input_tokens,
       coalesce((token_kinds ->> 'imageInput')::bigint, 0) AS image_input_tokens,
       coalesce((token_kinds ->> 'audioOutput')::bigint, 0) AS audio_output_tokens,
       coalesce((token_kinds ->> 'imageOutput')::bigint, 0) AS image_output_tokens,
       samplings, unpriced
  FROM ${schema}.usage_records;
GRANT SELECT ON finance.usage_records_v3 TO ${finance};
