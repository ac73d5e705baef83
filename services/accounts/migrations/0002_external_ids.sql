-- External IDs: the names of accounts and keys in configuration files (docs/operating.md).

-- exception 0.1.0: constraint: accounts.accounts_external_id_check: its code leaves the column null
-- exception 0.1.0: constraint: api_keys.api_keys_external_id_check: its code leaves the column null
-- exception 0.1.0: unique index: accounts.accounts_external_id: its code leaves the column null
-- exception 0.1.0: unique index: api_keys.api_keys_external_id: its code leaves the column null

ALTER TABLE accounts ADD COLUMN external_id text COLLATE "C"
  CHECK (external_id ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$');
CREATE UNIQUE INDEX accounts_external_id ON accounts (external_id) WHERE external_id IS NOT NULL;

ALTER TABLE api_keys ADD COLUMN external_id text COLLATE "C"
  CHECK (external_id ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$');
CREATE UNIQUE INDEX api_keys_external_id ON api_keys (account, external_id) WHERE external_id IS NOT NULL;

GRANT INSERT (external_id) ON accounts TO ${role};
GRANT INSERT (external_id) ON api_keys TO ${role};
