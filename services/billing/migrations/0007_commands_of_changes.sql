-- The command that made a change, where a repeated one must change nothing. Webhooks had only that of the last rotation
-- (rotated_by), which the release before goes on to read.
ALTER TABLE changes ADD COLUMN command uuid;
GRANT INSERT (command) ON changes TO ${role};
