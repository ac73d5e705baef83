import type { Resolver, ServerName, ServersOptions } from './server.js';

/** A server program on this machine that responded to `--version`. */
export interface Program {
  resolver: Extract<Resolver, 'binary' | 'project'>;
  path: string;
  version: string;
  source: string;
  /** Added to the server's environment only, for example LD_LIBRARY_PATH. */
  env: Record<string, string>;
}

/** The user of a server that may not run as the current user. */
export interface ServerUser {
  uid: number;
  gid: number;
}

/** The parameters for spawning a prepared server. */
export interface Launch {
  args: string[];
  user: ServerUser | null;
  /** Sent in this order, each followed by a bounded wait. SIGKILL comes after the last. */
  stopSignals: NodeJS.Signals[];
  /** Sent by the kernel when the process that started the server dies. */
  deathSignal: 'QUIT' | 'KILL';
  /** An argument that distinguishes the server from another process with its old pid. */
  mark: string;
  /**
   * The identity that the server must report, so that another server on the same port is
   * recognized. `{pid}` is replaced by its pid.
   */
  identity: string;
}

/** A server's response to a probe. */
export interface ProbeResult {
  version: string;
  identity: string;
}

/** The programs that a resolver found, and the reasons for missing ones. */
export interface ProgramSearch {
  programs: Program[];
  reasons: string[];
}

export interface ContainerPlan {
  image: string;
  port: number;
  environment?: Record<string, string>;
  command: string[];
  /** Directory in the container that keeps the data. */
  dataDirectory: string;
  files?: { target: string; content: string }[];
}

/** The differences between the three servers. */
export interface ServerKind {
  name: ServerName;
  title: string;
  /** The first variable that is set counts. */
  urlVariables: string[];
  urlExample: string;
  binaryVariable: string;
  programName: string;
  minimumVersion: string;
  installHint: string;
  /** Directories in addition to PATH; `*` matches one path part. */
  usualPlaces: string[];
  /** The version is its first group. */
  versionPattern: RegExp;
  /** Returns why this program cannot be used although its version is accepted, or null. */
  refuseProgram?(path: string): Promise<string | null>;
  findProject(cacheDirectory: string, options: { fetch: boolean; log(line: string): void }): Promise<ProgramSearch>;
  url(port: number, options: ServersOptions): string;
  /**
   * Probes a server once. Throws if it does not respond within `timeoutMs`, and `ProbeRefused` if
   * waiting cannot help. `isOwn`: it was started here and may have another role than a server given
   * by URL.
   */
  probe(url: string, timeoutMs: number, isOwn?: boolean): Promise<ProbeResult>;
  /**
   * Creates data directory and configuration. Throws `ResolverSkipped` if this program cannot serve
   * this state directory.
   */
  prepare(program: Program, port: number, options: ServersOptions): Promise<Launch>;
  /** Deletes data but not configuration; the server is not running. */
  emptyState(options: ServersOptions): Promise<void>;
  container(options: ServersOptions): ContainerPlan;
}

/** This resolver provides no server; the next one is tried. */
export class ResolverSkipped extends Error {
  override readonly name = 'ResolverSkipped';
}

/** The server refused the probe, and a retry cannot succeed. */
export class ProbeRefused extends Error {
  override readonly name = 'ProbeRefused';
}

/** No resolver provided this server. The message has the reason of each one and the remedies. */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';

  constructor(kind: ServerKind, reasons: readonly string[]) {
    super(
      [
        `${kind.title} could be neither found nor started:`,
        ...reasons.map((reason) => `  ${reason}`),
        'Do one of these:',
        `  1. give the address of a running server: ${kind.urlVariables[0]}=${kind.urlExample}`,
        `  2. install ${kind.title} ${kind.minimumVersion} or newer (${kind.installHint}) or name it: ${kind.binaryVariable}=/path/to/${kind.programName}`,
        '  3. start a Docker engine that this user may use',
      ].join('\n'),
    );
  }
}

/** Compares dotted numbers. A missing part counts as 0. */
export function isAtLeast(version: string, minimum: string): boolean {
  const have = version.split('.').map(Number);
  for (const [index, part] of minimum.split('.').map(Number).entries()) {
    const other = have[index] ?? 0;
    if (other !== part) return other > part;
  }
  return true;
}

export function majorOf(version: string): number {
  return Number(version.split('.')[0]);
}
