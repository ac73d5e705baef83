// `npm run audit`: replays the ledger from zero and prints each difference. The exit code is 1 if
// there is a difference. Repairs nothing, and records the run.
import { auditLedger } from '../ledger/audit.js';
import { runCommand } from './run-command.js';

await runCommand(async ({ reader, record }) => {
  const begunMs = performance.now();
  const { differences, blocks, transactions } = await reader.snapshot((ledger) =>
    auditLedger(ledger, {
      begin: (check) => console.error(`${check} …`),
      difference: ({ check, subject, expected, found }) =>
        console.log(`${check}: ${subject}: expected ${expected}; found ${found}`),
    }),
  );
  const seconds = ((performance.now() - begunMs) / 1_000).toFixed(1);
  const figures = `${differences} differences; ${transactions} ledger transactions in ${blocks} blocks were checked (${seconds} s)`;
  console.log(figures);
  await record({ job: 'audit', outcome: differences === 0 ? 'succeeded' : 'failed', figures });
  return differences === 0 ? 0 : 1;
});
