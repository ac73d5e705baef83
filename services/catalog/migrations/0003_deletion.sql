-- Deleted objects stay as rows: versions refer to them, and what is made again keeps the time of its first creation.
ALTER TABLE providers ADD COLUMN deleted_at timestamptz;
GRANT UPDATE (deleted_at) ON providers TO ${role};

-- Versions with an ordinal up to `versions_after` were written before the last deletion: they are history and never
-- come into force again.
ALTER TABLE models
  ADD COLUMN deleted_at timestamptz,
  ADD COLUMN versions_after bigint NOT NULL DEFAULT 0;
GRANT UPDATE (deleted_at, versions_after) ON models TO ${role};

ALTER TABLE sources
  ADD COLUMN deleted_at timestamptz,
  ADD COLUMN versions_after bigint NOT NULL DEFAULT 0,
  ADD CONSTRAINT sources_deleted_without_credential CHECK (deleted_at IS NULL OR sealed_credential IS NULL);
GRANT UPDATE (deleted_at, versions_after) ON sources TO ${role};

ALTER TABLE changes
  DROP CONSTRAINT changes_action_check,
  ADD CONSTRAINT changes_action_check CHECK (
    action IN ('put_provider', 'put_model', 'put_source', 'delete_provider', 'delete_model', 'delete_source',
               'reseal_credentials'));
