-- Providers, models, prices and upstream sources.

-- One row. The revision grows with each change; its lock lets one change happen at a time.
CREATE TABLE catalog_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  revision bigint NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 9007199254740991)
);
INSERT INTO catalog_state DEFAULT VALUES;
GRANT SELECT, UPDATE (revision) ON catalog_state TO ${role};

CREATE TABLE providers (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  format text NOT NULL CHECK (format IN ('openai', 'anthropic')),
  created_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE (name, format) ON providers TO ${role};

CREATE TABLE models (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) BETWEEN 3 AND 193),
  display_name text NOT NULL CHECK (length(display_name) BETWEEN 1 AND 200),
  active boolean NOT NULL,
  available boolean NOT NULL,
  kind text NOT NULL CHECK (kind IN ('chat', 'embedding')),
  context_length integer CHECK (context_length > 0),
  max_output_tokens integer CHECK (max_output_tokens > 0),
  bytes_per_token double precision NOT NULL CHECK (bytes_per_token BETWEEN 0.25 AND 16),
  created_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT,
  UPDATE (display_name, active, available, kind, context_length, max_output_tokens, bytes_per_token)
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
  -- Sealed for this id (AES-256-GCM); never in clear.
  sealed_credential text CHECK (sealed_credential LIKE 'v1.%'),
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
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sources_model ON sources (model);
CREATE INDEX sources_provider ON sources (provider);
GRANT SELECT, INSERT,
  UPDATE (model, provider, base_url, upstream_model, endpoints, paths, auth, sealed_credential, headers, betas,
          priority, weight, enabled, stream_usage, cancel_stops_billing, limits)
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
  action text NOT NULL CHECK (action IN ('put_provider', 'put_model', 'put_source', 'reseal_credentials')),
  object_id text COLLATE "C" NOT NULL,
  before jsonb,
  after jsonb,
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX changes_object ON changes (object_id, revision);
GRANT SELECT, INSERT (revision, actor, action, object_id, before, after) ON changes TO ${role};
