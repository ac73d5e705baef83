-- The most tokens of attachments, and where responses report their cost. Null: as its profile has it.
ALTER TABLE sources
  ADD COLUMN attachments jsonb CHECK (jsonb_typeof(attachments) = 'object'),
  ADD COLUMN reported_cost_at jsonb CHECK (jsonb_typeof(reported_cost_at) = 'object');
GRANT UPDATE (attachments, reported_cost_at) ON sources TO ${role};
