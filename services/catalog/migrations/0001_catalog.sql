-- Providers, models, prices and upstream sources.

-- One row. The revision grows with each change; its lock lets one change happen at a time.
CREATE TABLE catalog_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  revision bigint NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 9007199254740991)
);
INSERT INTO catalog_state DEFAULT VALUES;
GRANT SELECT, UPDATE (revision) ON catalog_state TO ${role};

-- Deleted objects stay as rows: versions refer to them, and what is made again keeps the time of its first creation.
CREATE TABLE providers (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  format text NOT NULL CHECK (format IN ('openai', 'anthropic')),
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
GRANT SELECT, INSERT, UPDATE (name, format, deleted_at) ON providers TO ${role};

CREATE TABLE models (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) BETWEEN 3 AND 193),
  display_name text NOT NULL CHECK (length(display_name) BETWEEN 1 AND 200),
  active boolean NOT NULL,
  available boolean NOT NULL,
  kind text NOT NULL CHECK (kind IN ('chat', 'embedding')),
  context_length integer CHECK (context_length > 0),
  max_output_tokens integer CHECK (max_output_tokens > 0),
  bytes_per_token double precision NOT NULL CHECK (bytes_per_token BETWEEN 0.25 AND 16),
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- Versions with an ordinal up to this were written before the last deletion: they are history and never come into
  -- force again.
  versions_after bigint NOT NULL DEFAULT 0
);
GRANT SELECT, INSERT,
  UPDATE (display_name, active, available, kind, context_length, max_output_tokens, bytes_per_token, deleted_at,
          versions_after)
  ON models TO ${role};

CREATE TABLE sources (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
  model text COLLATE "C" NOT NULL REFERENCES models,
  provider text COLLATE "C" NOT NULL REFERENCES providers,
  base_url text NOT NULL CHECK (base_url ~ '^https?://' AND length(base_url) <= 2048),
  upstream_model text NOT NULL CHECK (length(upstream_model) BETWEEN 1 AND 512),
  endpoints text[] NOT NULL CHECK (cardinality(endpoints) > 0),
  paths jsonb NOT NULL CHECK (jsonb_typeof(paths) = 'object'),
  -- Null: as the provider's format has it.
  auth jsonb CHECK (jsonb_typeof(auth) = 'object'),
  -- Sealed for this id to the edges' public key, never in clear.
  sealed_credential text CHECK (sealed_credential LIKE 'v2.%'),
  headers jsonb NOT NULL CHECK (jsonb_typeof(headers) = 'object'),
  -- "pass" or a list of names.
  betas jsonb NOT NULL CHECK (jsonb_typeof(betas) IN ('string', 'array')),
  priority integer NOT NULL CHECK (priority >= 0),
  weight integer NOT NULL CHECK (weight > 0),
  enabled boolean NOT NULL,
  stream_usage boolean NOT NULL,
  cancel_stops_billing boolean NOT NULL,
  -- Milliseconds by name, null for none.
  limits jsonb NOT NULL CHECK (jsonb_typeof(limits) = 'object'),
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- As of models.
  versions_after bigint NOT NULL DEFAULT 0,
  -- What a provider's total_tokens count beyond input and output.
  total_extra text NOT NULL DEFAULT 'reasoning' CHECK (total_extra IN ('reasoning', 'output', 'input')),
  -- True: an empty list of betas stands for what the provider's format has.
  betas_default boolean NOT NULL DEFAULT true,
  CONSTRAINT sources_deleted_without_credential CHECK (deleted_at IS NULL OR sealed_credential IS NULL)
);
CREATE INDEX sources_model ON sources (model);
CREATE INDEX sources_provider ON sources (provider);
GRANT SELECT, INSERT,
  UPDATE (model, provider, base_url, upstream_model, endpoints, paths, auth, sealed_credential, headers, betas,
          priority, weight, enabled, stream_usage, cancel_stops_billing, limits, deleted_at, versions_after,
          total_extra, betas_default)
  ON sources TO ${role};

-- Append-only: what a call was charged can be explained for ever. Of two with one time, the later written counts.
CREATE TABLE price_versions (
  version text COLLATE "C" PRIMARY KEY CHECK (version ~ '^pv_[0-9a-f]{32}$'),
  ordinal bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  model text COLLATE "C" NOT NULL REFERENCES models,
  effective_from timestamptz NOT NULL,
  -- Nano-USD per 1,000,000 tokens; null: unpriced from then on.
  figures jsonb CHECK (jsonb_typeof(figures) = 'object'),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX price_versions_model ON price_versions (model, effective_from, ordinal);
GRANT SELECT, INSERT (version, model, effective_from, figures) ON price_versions TO ${role};

-- What providers charge, by source.
CREATE TABLE cost_versions (
  version text COLLATE "C" PRIMARY KEY CHECK (version ~ '^cv_[0-9a-f]{32}$'),
  ordinal bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  source text COLLATE "C" NOT NULL REFERENCES sources,
  effective_from timestamptz NOT NULL,
  figures jsonb CHECK (jsonb_typeof(figures) = 'object'),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX cost_versions_source ON cost_versions (source, effective_from, ordinal);
GRANT SELECT, INSERT (version, source, effective_from, figures) ON cost_versions TO ${role};

-- Who changed what: one row per revision that a person or program asked for. Holds no credential.
CREATE TABLE changes (
  revision bigint PRIMARY KEY,
  actor text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
  action text NOT NULL CHECK (
    action IN ('put_provider', 'put_model', 'put_source', 'delete_provider', 'delete_model', 'delete_source',
               'reseal_credentials')),
  object_id text COLLATE "C" NOT NULL,
  before jsonb,
  after jsonb,
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX changes_object ON changes (object_id, revision);
GRANT SELECT, INSERT (revision, actor, action, object_id, before, after) ON changes TO ${role};

-- One row. Whoever holds it may touch the bucket; a holder that died loses it in time.
CREATE TABLE publication_lease (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  holder text,
  held_until timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO publication_lease DEFAULT VALUES;
GRANT SELECT, UPDATE (holder, held_until) ON publication_lease TO ${role};
