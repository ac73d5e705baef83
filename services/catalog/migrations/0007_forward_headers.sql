-- Headers of clients that go on to the source. Null: as its profile has it.
ALTER TABLE sources ADD COLUMN forward_headers jsonb CHECK (jsonb_typeof(forward_headers) = 'array');
GRANT UPDATE (forward_headers) ON sources TO ${role};
