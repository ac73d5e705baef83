-- Requests with IDs of stored objects that the account did not get. Null: as the profile has it.
ALTER TABLE sources ADD COLUMN foreign_ids text CHECK (foreign_ids IN ('refuse', 'forward'));
GRANT UPDATE (foreign_ids) ON sources TO ${role};
