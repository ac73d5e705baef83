import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Cleanup } from '../context.js';
import { answerParent } from '../machine/programs.js';
import type { GatewayFacts, HostCommand } from './hosted-gateway.js';
import { withNats } from './nats-monitor.js';
import type { GatewayPeer, startGateway } from './start-gateway.js';

/** Paths of `startGateway` in commits, newest first. Its signature is the same everywhere. */
const STARTERS = ['tests/benchmarks', 'deploy/verify/bench', 'deploy/bench'].map(
  (room) => `${room}/dist/gateway/start-gateway.js`,
);

const ending = new Cleanup();
let gateway: GatewayPeer | undefined;

answerParent<HostCommand>(async (command) => {
  if (command.kind === 'start') return start(command);
  await (command.kind === 'audit' ? gateway?.audit() : gateway?.settle(command.answered));
  return null;
});
process.once('disconnect', () => void ending.run(() => undefined).then(() => process.exit(0)));

async function start({ directory, providerUrl, state, accounts, nats }: HostCommand & { kind: 'start' }) {
  const module = STARTERS.map((starter) => `${directory}/${starter}`).find((file) => existsSync(file));
  if (module === undefined) throw new Error(`the commit has none of the files ${STARTERS.join(', ')}`);
  const theirs = (await import(pathToFileURL(module).href)) as { readonly startGateway: typeof startGateway };
  const log = (line: string) => void process.stdout.write(`           ${line}\n`);
  gateway = await withNats(nats, () => theirs.startGateway({ url: providerUrl }, state, accounts, ending, log));
  const { settle: _settle, audit: _audit, ...facts } = gateway;
  return { ...facts, version: `${facts.version}, Node ${process.version}` } satisfies GatewayFacts;
}
