-- Names that clients may send for a model. Deleted ones stay as rows.
CREATE TABLE aliases (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9._:@/-]{1,128}$'),
  model text COLLATE "C" NOT NULL REFERENCES models,
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
CREATE INDEX aliases_model ON aliases (model);
GRANT SELECT, INSERT, UPDATE (model, deleted_at) ON aliases TO ${role};

ALTER TABLE changes DROP CONSTRAINT changes_action_check;
ALTER TABLE changes ADD CONSTRAINT changes_action_check CHECK (
  action IN ('put_provider', 'put_model', 'put_source', 'put_alias', 'delete_provider', 'delete_model',
             'delete_source', 'delete_alias', 'reseal_credentials'));
