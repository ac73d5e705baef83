import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';
import { NO_ROUTE } from '../domain/gate-keys.js';
import type { Decider } from './decider.js';
import type { Known, Route } from './known.js';

export interface FoundRoute {
  readonly route: Route;
  /** The owner of keys named it just now: its digest is the key's current one. */
  readonly fresh: boolean;
}

/**
 * Where the digests lead: this process, then Redis, then the owner of keys. Null: to no key. That is remembered in Redis
 * for some seconds, where a route that is written takes its place at once, for all replicas. @throws AdmissionFault `lookup_failed` when it cannot be known
 */
export async function findRoute(
  { ports, known, routing }: Pick<Decider, 'ports' | 'cache' | 'routing'>,
  digests: readonly string[],
): Promise<FoundRoute | null> {
  const route = known.route(digests);
  if (route !== null) return { route, fresh: false };
  return routing.join(digests.join(), () => lookUp(ports, known, digests));
}

async function lookUp(
  { gate, owners }: Pick<Ports, 'limitStore' | 'owners'>,
  known: Known,
  digests: readonly string[],
): Promise<FoundRoute | null> {
  const stored = await gate.routes(digests);
  const remembered = readRoute(known, digests, stored);
  if (remembered !== null) return { route: remembered, fresh: false };
  if (stored.every((text) => text === NO_ROUTE)) return null;
  const found = await owners.find(digests).catch((cause: unknown) => {
    throw new AdmissionFault('lookup_failed', 'accounts did not answer which key it is', { cause });
  });
  if (found === null) {
    await gate.setMisses(digests);
    return null;
  }
  const route = known.keepRoute(found.digest, found.account, found.key);
  await gate.setRoute(found.digest, routeText(found.account, found.key));
  return { route, fresh: true };
}

/** The route that Redis has, without asking the owner. */
export async function storedRoute(
  gate: Ports['limitStore'],
  known: Known,
  digests: readonly string[],
): Promise<Route | null> {
  return readRoute(known, digests, await gate.routes(digests));
}

function readRoute(known: Known, digests: readonly string[], stored: readonly (string | null)[]): Route | null {
  for (const [index, text] of stored.entries()) {
    const [account, key] = text?.split('|') ?? [];
    const digest = digests[index];
    if (account && key && digest) return known.keepRoute(digest, account, key);
  }
  return null;
}

/** A key that its owner does not know is forgotten everywhere. */
export async function forgetRoute(gate: Ports['limitStore'], known: Known, digests: readonly string[]): Promise<void> {
  for (const digest of digests) {
    known.dropRoute(digest);
    await gate.dropRoute(digest);
  }
}

/** What the owner of keys says of a key leads there from now on, in the place of what was remembered of its digest. */
export async function tellRoutes(
  gate: Ports['limitStore'],
  keys: readonly { readonly digest: string; readonly account: string; readonly key: string }[],
): Promise<void> {
  await Promise.all(keys.map(({ digest, account, key }) => gate.setRoute(digest, routeText(account, key))));
}

function routeText(account: string, key: string): string {
  return `${account}|${key}`;
}
