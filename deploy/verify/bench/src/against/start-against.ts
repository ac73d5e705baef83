import type { Ending } from '../ending.js';
import { GATEWAY_MODELS } from '../gateway/prepare-catalog.js';
import type { GatewayPeer } from '../gateway/start-gateway.js';
import { ChildProgram } from '../machine/child-program.js';
import type { Provider } from '../peers/start-provider.js';
import type { BuiltCommit } from './build-commit.js';

export type HostCommand =
  | {
      readonly kind: 'start';
      /** The compiled checkout. */
      readonly directory: string;
      readonly provider: Pick<Provider, 'port' | 'url'>;
      readonly state: string;
      readonly accounts: number;
      /** The program of its NATS; null: the one that it finds. */
      readonly nats: string | null;
    }
  | { readonly kind: 'settle'; readonly answered: number }
  | { readonly kind: 'audit' };

/** What a gateway is without what it can do: it travels between processes. */
export type GatewayFacts = Omit<GatewayPeer, 'settle' | 'audit'>;

/**
 * The gateway of another commit: its own code starts its servers and services, prepares accounts
 * and reads its books, in a process of its own. @throws Error when that commit has no bench, or its
 * gateway does not start
 */
export async function startAgainst(
  { commit, directory }: BuiltCommit,
  provider: Provider,
  runDirectory: string,
  accounts: number,
  nats: string | null,
  ending: Ending,
  log: (line: string) => void,
): Promise<GatewayPeer> {
  const title = `the gateway at ${commit}`;
  const host = new ChildProgram<HostCommand>(new URL('host-main.js', import.meta.url), title, (line) =>
    log(`${commit}: ${line}`),
  );
  ending.add(title, () => host.leave());
  const { port, url } = provider;
  const start = {
    kind: 'start',
    directory,
    provider: { port, url },
    state: `${runDirectory}/against`,
    accounts,
    nats,
  } as const;
  const facts = await host.ask<GatewayFacts>(start).catch((error: unknown) => {
    throw new Error(`${title} does not start: ${error instanceof Error ? error.message : String(error)}`);
  });
  let failedTotal = 0;
  return {
    ...facts,
    id: 'against',
    title,
    models: { ...facts.models, long: GATEWAY_MODELS.long },
    starter: host.pid,
    settle(answered, failed = 0) {
      failedTotal += failed;
      return host.ask({ kind: 'settle', answered });
    },
    // Its own bench may know of no failed calls, which may leave records behind.
    audit: () => (failedTotal > 0 ? Promise.resolve() : host.ask({ kind: 'audit' })),
  };
}
