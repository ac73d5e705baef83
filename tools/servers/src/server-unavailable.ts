import type { ServerKind } from './server-kind.js';
import type { Resolver, ServerName } from './server.js';

export interface ResolverReason {
  resolver: Resolver;
  reason: string;
}

/** No resolver provided this server. The message has the reason of each one and the remedies. */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';
  readonly server: ServerName;
  readonly remedies: string[];

  constructor(kind: ServerKind, reasons: ResolverReason[]) {
    const remedies = remediesFor(kind);
    const lines = [
      `${kind.title} could be neither found nor started:`,
      ...reasons.map(({ resolver, reason }) => `  ${resolver}: ${reason}`),
      'Do one of these:',
      ...remedies.map((remedy, index) => `  ${index + 1}. ${remedy}`),
    ];
    super(lines.join('\n'));
    this.server = kind.name;
    this.remedies = remedies;
  }
}

/** Returns the three remedies, which apply to all reasons. */
export function remediesFor(kind: ServerKind): string[] {
  return [
    `give the address of a running server: ${kind.urlVariables[0]}=${kind.urlExample}`,
    `install ${kind.title} ${kind.minimumVersion} or newer (${kind.installHint}) or name it: ${kind.binaryVariable}=/path/to/${kind.programName}`,
    'start a Docker engine that this user may use',
  ];
}
