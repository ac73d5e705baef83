-- One row: what the newest comparison of costs with public lists proposes. It is never applied from here.
CREATE TABLE price_proposal (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Of what is proposed, without times and sums: another one raises an alert. Null: nothing was ever compared.
  content_hash text,
  proposal jsonb CHECK (jsonb_typeof(proposal) = 'object'),
  raised_at timestamptz,
  checked_at timestamptz,
  -- The newest time of the schedule that was served; null: none.
  scheduled_for timestamptz,
  CHECK (num_nulls(content_hash, proposal, raised_at, checked_at) IN (0, 4))
);
INSERT INTO price_proposal DEFAULT VALUES;
GRANT SELECT, UPDATE (content_hash, proposal, raised_at, checked_at, scheduled_for) ON price_proposal TO ${role};

ALTER TABLE changes DROP CONSTRAINT changes_action_check;
ALTER TABLE changes ADD CONSTRAINT changes_action_check CHECK (
  action IN ('put_provider', 'put_model', 'put_source', 'put_alias', 'delete_provider', 'delete_model',
             'delete_source', 'delete_alias', 'propose_prices', 'reseal_credentials'));
