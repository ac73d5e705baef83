import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { withNats } from '../counts/nats-monitor.js';
import { Cleanup } from '../bench-context.js';
import type { GatewayPeer, startGateway } from '../gateway/start-gateway.js';
import { answerParent } from '../machine/child-program.js';
import type { Provider } from '../peers/start-provider.js';
import type { GatewayFacts, HostCommand } from './start-against.js';

/** Paths of `startGateway` in commits, newest first. Its signature is the same everywhere. */
const STARTERS = ['tests/benchmarks', 'deploy/verify/bench', 'deploy/bench'].map(
  (room) => `${room}/dist/gateway/start-gateway.js`,
);

const ending = new Cleanup();
const log = (line: string) => void process.send?.({ log: line });
let gateway: GatewayPeer | undefined;

answerParent<HostCommand>(async (command) => {
  if (command.kind === 'start') return start(command);
  await (command.kind === 'audit' ? gateway?.audit() : gateway?.settle(command.answered));
  return null;
});
process.once('disconnect', () => void ending.run(() => undefined).then(() => process.exit(0)));

async function start(command: HostCommand & { kind: 'start' }): Promise<GatewayFacts> {
  const module = STARTERS.map((starter) => `${command.directory}/${starter}`).find((file) => existsSync(file));
  if (module === undefined) throw new Error(`the commit has none of the files ${STARTERS.join(', ')}`);
  const theirs = (await import(pathToFileURL(module).href)) as { readonly startGateway: typeof startGateway };
  const { provider, state, accounts, nats } = command;
  gateway = await withNats(nats === null ? null : { program: nats }, () =>
    theirs.startGateway(provider as Provider, state, accounts, ending, log),
  );
  const { settle: _settle, audit: _audit, ...facts } = gateway;
  return facts;
}
