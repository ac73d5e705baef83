-- Types of tools that cost tokens only at this source, in addition to those of its profile.
ALTER TABLE sources ADD COLUMN free_tools jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(free_tools) = 'array');
GRANT UPDATE (free_tools) ON sources TO ${role};
