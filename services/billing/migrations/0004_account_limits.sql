-- Limits of one account that stand in place of its plan's or the defaults; null: not overridden.
CREATE TABLE account_limits (
  account text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  requests_per_minute integer CHECK (requests_per_minute > 0),
  concurrency integer CHECK (concurrency > 0),
  active_keys_max integer CHECK (active_keys_max > 0),
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE ON account_limits TO ${role};
