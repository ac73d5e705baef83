import type { Cleanup } from '../bench-context.js';
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
      /** The NATS program to use, or null for the one that the local start finds. */
      readonly nats: string | null;
    }
  | { readonly kind: 'settle'; readonly answered: number }
  | { readonly kind: 'audit' };

/** A gateway's data without its functions, because it is sent between processes. */
export type GatewayFacts = Omit<GatewayPeer, 'settle' | 'audit'>;

/**
 * Starts the gateway of another commit. Its own code starts servers and services, prepares accounts
 * and reads its books, in a separate process. @throws Error if that commit has no bench or its
 * gateway does not start
 */
export async function startAgainst(
  { commit, directory }: BuiltCommit,
  provider: Provider,
  runDirectory: string,
  accounts: number,
  nats: string | null,
  ending: Cleanup,
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
    // The bench of that commit may not support failed calls, which may leave records.
    audit: () => (failedTotal > 0 ? Promise.resolve() : host.ask({ kind: 'audit' })),
  };
}
