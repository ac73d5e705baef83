import type { Resolver, ServerName, ServersOptions } from './server.js';

/** A server program on this machine that answered `--version`. */
export interface Program {
  resolver: Extract<Resolver, 'binary' | 'project'>;
  path: string;
  version: string;
  source: string;
  /** Added to the server's environment only, for example LD_LIBRARY_PATH. */
  env: Record<string, string>;
}

/** The user that a server runs as when it may not run as the current one. */
export interface ServerUser {
  uid: number;
  gid: number;
}

/** How to spawn a prepared server. */
export interface Launch {
  args: string[];
  user: ServerUser | null;
  /** Sent in this order, each followed by a bounded wait; SIGKILL comes after the last. */
  stopSignals: NodeJS.Signals[];
  /** Sent by the kernel when the process that started the server dies. */
  deathSignal: 'QUIT' | 'KILL';
  /**
   * An argument that only this server on this state directory has: it tells the server from a
   * process that got its old pid.
   */
  mark: string;
  /**
   * What the server must say of itself, so that a stranger on the same port is not taken for it.
   * `{pid}` stands for its pid.
   */
  identity: string;
}

/** How a server answered a probe. */
export interface Answer {
  version: string;
  identity: string;
}

/** The programs that a resolver found, and why it found no more. */
export interface Found {
  programs: Program[];
  reasons: string[];
  /** What the first start would fetch; only when fetching was not allowed. */
  fetchable?: string;
}

export interface ContainerPlan {
  image: string;
  port: number;
  environment: Record<string, string>;
  command: string[];
  /** Directory in the container that keeps the data. */
  dataDirectory: string;
  files: { target: string; content: string }[];
}

/** Everything that differs between the three servers. */
export interface ServerKind {
  name: ServerName;
  title: string;
  /** The first that is set counts. */
  urlVariables: string[];
  urlExample: string;
  binaryVariable: string;
  programName: string;
  minimumVersion: string;
  installHint: string;
  /** Directories beside PATH; `*` stands for one path part. */
  usualPlaces: string[];
  parseVersion(text: string): string | null;
  /** Why this program cannot be used although its version fits, or null. */
  refuseProgram(path: string): Promise<string | null>;
  findProject(cacheDirectory: string, options: { fetch: boolean; log(line: string): void }): Promise<Found>;
  url(port: number, options: ServersOptions): string;
  /**
   * Asks a server once; throws when it does not answer within `timeoutMs`, `ProbeRefused` when
   * waiting cannot help. `isOwn`: it was started here, and may have another role than that of one
   * given by URL.
   */
  probe(url: string, timeoutMs: number, isOwn?: boolean): Promise<Answer>;
  /**
   * Makes data directory and configuration; throws `ResolverSkipped` when this program cannot serve
   * this state directory.
   */
  prepare(program: Program, port: number, options: ServersOptions): Promise<Launch>;
  /** Deletes data, not configuration; the server is down. */
  emptyState(options: ServersOptions): Promise<void>;
  container(options: ServersOptions): ContainerPlan;
}

/** This resolver gives no server; the next one is tried. */
export class ResolverSkipped extends Error {
  override readonly name = 'ResolverSkipped';
}

/** The server answered with a refusal that asking again does not change. */
export class ProbeRefused extends Error {
  override readonly name = 'ProbeRefused';
}

/** Compares dotted numbers; a part that is missing counts as 0. */
export function isAtLeast(version: string, minimum: string): boolean {
  const have = version.split('.').map(Number);
  const need = minimum.split('.').map(Number);
  for (const [index, part] of need.entries()) {
    const other = have[index] ?? 0;
    if (other !== part) return other > part;
  }
  return true;
}

export function majorOf(version: string): number {
  return Number(version.split('.')[0]);
}
