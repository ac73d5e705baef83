// `npm run dead-letters -- list [--all] | show HASH | replay HASH --actor NAME`: events that could
// not become records. `replay` settles an event again after the cause of its refusal was fixed. The
// outbox of a running billing process sends the result to admission.
import { parseArgs } from 'node:util';
import type { StoredDeadLetter } from '../dead-letters/store.js';
import { parseJson, readEvents } from '../usage/read/read-deliveries.js';
import { replayDeadLetter } from '../dead-letters/replay-dead-letter.js';
import { runCommand } from './run-command.js';

const EXIT_DEAD_LETTERS_LEFT = 1;
const EXIT_UNKNOWN = 3;
const EXIT_USAGE = 64;
const HASH = /^[0-9a-f]{64}$/;

const { values, positionals } = parseArgs({
  options: { all: { type: 'boolean', default: false }, actor: { type: 'string' } },
  allowPositionals: true,
});
const [verb, hash = ''] = positionals;

if (verb === 'list') {
  await runCommand(async ({ deadLetters }) => {
    for await (const row of deadLetters.list(values.all)) console.log(formatLine(row));
    return 0;
  });
} else if (verb === 'show' && HASH.test(hash)) {
  await runCommand(async ({ deadLetters }) => {
    const row = await deadLetters.find(hash);
    if (row === null) return unknown();
    console.log(`${formatLine(row)}\n${textOf(row)}`);
    return 0;
  });
} else if (verb === 'replay' && HASH.test(hash) && values.actor !== undefined) {
  const { actor } = values;
  await runCommand(async ({ deadLetters }) => {
    const outcomes = await replayDeadLetter(deadLetters, hash, actor);
    if (outcomes === null) return unknown();
    console.log(outcomes.join(', '));
    return outcomes.includes('dead_letter') ? EXIT_DEAD_LETTERS_LEFT : 0;
  });
} else {
  console.error('usage: dead-letters list [--all] | show HASH | replay HASH --actor NAME');
  process.exitCode = EXIT_USAGE;
}

function unknown(): number {
  console.error('no dead letter has this hash');
  return EXIT_UNKNOWN;
}

/** Returns the event with the names of its fields, or the original bytes if it is unreadable. */
function textOf({ event, shard, sequence }: StoredDeadLetter): string {
  const { received } = readEvents([parseJson(event)], { subject: shard, sequence });
  return received[0] === undefined ? event.toString('utf8') : JSON.stringify(received[0].event);
}

function formatLine(row: StoredDeadLetter): string {
  const replayed = row.replays === 0 ? '' : `; replayed ${row.replays} times: ${row.lastOutcomes?.join(', ')}`;
  const fields = [row.contentHash, row.recordedAt.toISOString(), row.requestId ?? '-', row.account ?? '-', row.reason];
  return `${fields.join('  ')}  ${row.detail}${replayed}`;
}
