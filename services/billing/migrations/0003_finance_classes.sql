-- What finance reads of a call, with its class, its uses of tools and its kinds of tokens. The view before keeps its form.
CREATE VIEW finance.usage_records_v2 AS
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
       coalesce((token_kinds ->> 'imageOutput')::bigint, 0) AS image_output_tokens
  FROM ${schema}.usage_records;
GRANT SELECT ON finance.usage_records_v2 TO ${finance};
