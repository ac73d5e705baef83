-- Schema of catalog: providers, models, prices, upstream sources and aliases.

-- Tables

-- One row. The revision increases with each change; the lock on the row serializes changes.
CREATE TABLE catalog_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  revision bigint NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 9007199254740991)
);
INSERT INTO catalog_state DEFAULT VALUES;

-- Rows of deleted providers, models, sources and aliases stay: versions refer to them. An object
-- that is created again keeps the time of its first creation.
CREATE TABLE providers (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  format text NOT NULL CHECK (format IN ('openai', 'anthropic')),
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- Authentication and credential for sources of the provider that have none of their own.
  auth jsonb CHECK (jsonb_typeof(auth) = 'object'),
  sealed_credential text CHECK (sealed_credential LIKE 'v2.%')
);

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
  -- Price versions with an ordinal up to this number were written before the last deletion. They
  -- are history and never take effect again.
  versions_after bigint NOT NULL DEFAULT 0
);

-- Null in a setting: the value of the source's profile or of its provider's format applies.
CREATE TABLE sources (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
  model text COLLATE "C" NOT NULL REFERENCES models,
  provider text COLLATE "C" NOT NULL REFERENCES providers,
  base_url text CHECK (base_url ~ '^https?://' AND length(base_url) <= 2048),
  upstream_model text NOT NULL CHECK (length(upstream_model) BETWEEN 1 AND 512),
  endpoints text[] NOT NULL CHECK (cardinality(endpoints) > 0),
  paths jsonb NOT NULL CHECK (jsonb_typeof(paths) = 'object'),
  auth jsonb CHECK (jsonb_typeof(auth) = 'object'),
  -- Encrypted to the public key of the edges, with this id as context. Never in clear text.
  sealed_credential text CHECK (sealed_credential LIKE 'v2.%'),
  headers jsonb NOT NULL CHECK (jsonb_typeof(headers) = 'object'),
  -- "pass" or a list of names.
  betas jsonb NOT NULL CHECK (jsonb_typeof(betas) IN ('string', 'array')),
  priority integer NOT NULL CHECK (priority >= 0),
  weight integer NOT NULL CHECK (weight > 0),
  enabled boolean NOT NULL,
  stream_usage boolean,
  cancel_stops_billing boolean,
  -- Milliseconds by name, null for none.
  limits jsonb NOT NULL CHECK (jsonb_typeof(limits) = 'object'),
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- Same as in models, for cost versions.
  versions_after bigint NOT NULL DEFAULT 0,
  -- Tokens that the provider's total_tokens includes in addition to input and output.
  total_extra text DEFAULT 'reasoning' CHECK (total_extra IN ('reasoning', 'output', 'input')),
  -- True: an empty list of betas means the default of the provider's format.
  betas_default boolean NOT NULL DEFAULT true,
  profile text CHECK (length(profile) BETWEEN 1 AND 64),
  parameters jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(parameters) = 'object'),
  -- Changes to request bodies, by endpoint.
  body jsonb CHECK (jsonb_typeof(body) = 'object'),
  -- What the edge does with a request for something that has no price.
  unpriced text NOT NULL DEFAULT 'refuse' CHECK (unpriced IN ('refuse', 'forward')),
  -- Limits on the requests of all edges together. Null: no limits.
  quota jsonb CHECK (jsonb_typeof(quota) = 'object'),
  -- What the edge does with a request that contains IDs of stored objects of other accounts.
  foreign_ids text CHECK (foreign_ids IN ('refuse', 'forward')),
  -- Types of tools that cost only tokens at this source, in addition to those of its profile.
  free_tools jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(free_tools) = 'array'),
  -- Client headers that are forwarded to the source.
  forward_headers jsonb CHECK (jsonb_typeof(forward_headers) = 'array'),
  -- Upper bounds for the tokens of attachments.
  attachments jsonb CHECK (jsonb_typeof(attachments) = 'object'),
  -- Where responses report the provider's cost.
  reported_cost_at jsonb CHECK (jsonb_typeof(reported_cost_at) = 'object'),
  CONSTRAINT sources_deleted_without_credential CHECK (deleted_at IS NULL OR sealed_credential IS NULL)
);
CREATE INDEX sources_model ON sources (model);
CREATE INDEX sources_provider ON sources (provider);

-- Names that clients may send instead of a model's catalog ID.
CREATE TABLE aliases (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9._:@/-]{1,128}$'),
  model text COLLATE "C" NOT NULL REFERENCES models,
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
CREATE INDEX aliases_model ON aliases (model);

-- Selling prices by model. Append-only, so that each charge can be explained later. If two versions
-- have the same time, the one with the higher ordinal applies.
CREATE TABLE price_versions (
  version text COLLATE "C" PRIMARY KEY CHECK (version ~ '^pv_[0-9a-f]{32}$'),
  ordinal bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  model text COLLATE "C" NOT NULL REFERENCES models,
  effective_from timestamptz NOT NULL,
  -- Nano-USD per 1,000,000 tokens. Null: the model has no price from this time on.
  figures jsonb CHECK (jsonb_typeof(figures) = 'object'),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX price_versions_model ON price_versions (model, effective_from, ordinal);

-- Prices that providers charge, by source. Same form as price_versions.
CREATE TABLE cost_versions (
  version text COLLATE "C" PRIMARY KEY CHECK (version ~ '^cv_[0-9a-f]{32}$'),
  ordinal bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  source text COLLATE "C" NOT NULL REFERENCES sources,
  effective_from timestamptz NOT NULL,
  figures jsonb CHECK (jsonb_typeof(figures) = 'object'),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX cost_versions_source ON cost_versions (source, effective_from, ordinal);

-- Audit log: one row per revision that a person or a program requested. Contains no credentials.
CREATE TABLE changes (
  revision bigint PRIMARY KEY,
  actor text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
  action text NOT NULL CHECK (
    action IN ('put_provider', 'put_model', 'put_source', 'put_alias', 'delete_provider', 'delete_model',
               'delete_source', 'delete_alias', 'propose_prices', 'reseal_credentials')),
  object_id text COLLATE "C" NOT NULL,
  before jsonb,
  after jsonb,
  changed_at timestamptz NOT NULL DEFAULT now(),
  -- Origin of the request. All three are null if the service acted by itself. The network is an
  -- IPv4 address, or the /64 of an IPv6 address. Only operators change the catalog, so nothing is
  -- erased here when an account is closed.
  client text CHECK (length(client) BETWEEN 1 AND 64),
  agent text CHECK (length(agent) BETWEEN 1 AND 200),
  request_id text COLLATE "C" CHECK (length(request_id) BETWEEN 1 AND 64)
);
CREATE INDEX changes_object ON changes (object_id, revision);

-- One row. Only the holder of the lease writes to the catalog bucket. The lease of a holder that
-- died expires.
CREATE TABLE publication_lease (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  holder text,
  held_until timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO publication_lease DEFAULT VALUES;

-- One row: the proposal of the latest comparison of costs with public price lists. The service
-- never applies it.
CREATE TABLE price_proposal (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Hash of the proposal without times and sums. A different hash raises an alert. Null: there was
  -- no comparison yet.
  content_hash text,
  proposal jsonb CHECK (jsonb_typeof(proposal) = 'object'),
  raised_at timestamptz,
  checked_at timestamptz,
  -- The latest scheduled time that was processed; null: none.
  scheduled_for timestamptz,
  CHECK (num_nulls(content_hash, proposal, raised_at, checked_at) IN (0, 4))
);
INSERT INTO price_proposal DEFAULT VALUES;

-- Privileges of the service

GRANT SELECT, UPDATE (revision) ON catalog_state TO ${role};
GRANT SELECT, INSERT, UPDATE (name, format, deleted_at, auth, sealed_credential) ON providers TO ${role};
GRANT SELECT, INSERT,
  UPDATE (display_name, active, available, kind, context_length, max_output_tokens, bytes_per_token, deleted_at,
          versions_after)
  ON models TO ${role};
GRANT SELECT, INSERT,
  UPDATE (model, provider, base_url, upstream_model, endpoints, paths, auth, sealed_credential, headers, betas,
          priority, weight, enabled, stream_usage, cancel_stops_billing, limits, deleted_at, versions_after,
          total_extra, betas_default, profile, parameters, body, unpriced, quota, foreign_ids, free_tools,
          forward_headers, attachments, reported_cost_at)
  ON sources TO ${role};
GRANT SELECT, INSERT, UPDATE (model, deleted_at) ON aliases TO ${role};
GRANT SELECT, INSERT (version, model, effective_from, figures) ON price_versions TO ${role};
GRANT SELECT, INSERT (version, source, effective_from, figures) ON cost_versions TO ${role};
GRANT SELECT,
  INSERT (revision, actor, action, object_id, before, after, client, agent, request_id)
  ON changes TO ${role};
GRANT SELECT, UPDATE (holder, held_until) ON publication_lease TO ${role};
GRANT SELECT, UPDATE (content_hash, proposal, raised_at, checked_at, scheduled_for) ON price_proposal TO ${role};
