-- A source may name what is known of its provider. Null in a setting: as that has it.
ALTER TABLE sources
  ALTER COLUMN base_url DROP NOT NULL,
  ALTER COLUMN stream_usage DROP NOT NULL,
  ALTER COLUMN cancel_stops_billing DROP NOT NULL,
  ALTER COLUMN total_extra DROP NOT NULL,
  ADD COLUMN profile text CHECK (length(profile) BETWEEN 1 AND 64),
  ADD COLUMN parameters jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(parameters) = 'object'),
  -- What is changed in requests, by endpoint.
  ADD COLUMN body jsonb CHECK (jsonb_typeof(body) = 'object'),
  -- Of a request for something that has no price. Sources from before sold it at the price of tokens, and go on to.
  ADD COLUMN unpriced text NOT NULL DEFAULT 'forward' CHECK (unpriced IN ('refuse', 'forward'));
ALTER TABLE sources ALTER COLUMN unpriced SET DEFAULT 'refuse';
GRANT UPDATE (profile, parameters, body, unpriced) ON sources TO ${role};
