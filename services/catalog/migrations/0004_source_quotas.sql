-- What a source may be sent by all edges together. Null: it has no quotas.
ALTER TABLE sources ADD COLUMN quota jsonb CHECK (jsonb_typeof(quota) = 'object');
GRANT UPDATE (quota) ON sources TO ${role};
