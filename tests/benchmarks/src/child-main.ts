import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Cleanup } from './context.js';
import type { GatewayFacts, HostCommand } from './gateway/host-gateway.js';
import type { HostedGateway, startGateway } from './gateway/start-gateway.js';
import type { LoadJob } from './load/load.js';
import { runLoad } from './load/run-load.js';
import { answerParent } from './machine/programs.js';

/** Paths of `startGateway` in commits, newest first. Its signature is the same everywhere. */
const STARTERS = ['tests/benchmarks', 'deploy/verify/bench', 'deploy/bench'].map(
  (room) => `${room}/dist/gateway/start-gateway.js`,
);
/** The starters of earlier commits prepare accounts, which are not called. */
const ACCOUNTS_UNUSED = 1;

const ending = new Cleanup();
let gateway: HostedGateway | undefined;

/** A separate process: the load, or the starter of one gateway. */
answerParent<LoadJob | HostCommand>(async (command) => {
  if (!('kind' in command)) return runLoad(command);
  if (command.kind === 'start') return start(command);
  await (command.kind === 'audit' ? gateway?.audit() : gateway?.settle(command.answered, command.failed));
  return null;
});
process.once('disconnect', () => void ending.run(() => undefined).then(() => process.exit(0)));

async function start({ directory, providerUrl, state, nats, env }: HostCommand & { kind: 'start' }) {
  // The local start of every commit reads this variable.
  if (nats !== null) process.env['GATEWAY_NATS_BINARY'] = nats;
  const module = STARTERS.map((starter) => `${directory}/${starter}`).find((file) => existsSync(file));
  if (module === undefined) throw new Error(`the commit has none of the files ${STARTERS.join(', ')}`);
  const theirs = (await import(pathToFileURL(module).href)) as { readonly startGateway: typeof startGateway };
  const log = (line: string) => void process.stdout.write(`           ${line}\n`);
  gateway = await theirs.startGateway({ url: providerUrl }, state, ACCOUNTS_UNUSED, ending, log, env);
  const { version, port, processes, except } = gateway;
  return { version: `${version}, Node ${process.version}`, port, processes, except } satisfies GatewayFacts;
}
