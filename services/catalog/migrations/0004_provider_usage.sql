ALTER TABLE sources
  -- What a provider's total_tokens count beyond input and output.
  ADD COLUMN total_extra text NOT NULL DEFAULT 'reasoning' CHECK (total_extra IN ('reasoning', 'output', 'input')),
  -- An empty list of betas stands for what the provider's format has; until now that and an empty list were the same.
  ADD COLUMN betas_default boolean NOT NULL DEFAULT true;
GRANT UPDATE (total_extra, betas_default) ON sources TO ${role};

-- Edges shall hear of it where there is something to hear.
UPDATE catalog_state SET revision = revision + 1 WHERE EXISTS (SELECT FROM sources);
