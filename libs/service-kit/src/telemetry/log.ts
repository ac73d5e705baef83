import { pino, stdTimeFunctions, stdSerializers, destination as pinoDestination, type DestinationStream } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Writes one line of JSON per call: fields, then the text. An error has the key `err`. */
export interface Logger {
  debug(facts: object, text: string): void;
  info(facts: object, text: string): void;
  warn(facts: object, text: string): void;
  error(facts: object, text: string): void;
  /** Returns a logger that adds `facts` to each of its lines. */
  child(facts: Record<string, unknown>): Logger;
}

export interface LoggerOptions {
  readonly service: string;
  readonly replica: string;
  readonly level: LogLevel;
  /** Destination of the lines. Default: standard output. */
  readonly destination?: DestinationStream;
}

/** Objects nested deeper are cut, so that the length of a line is bounded. */
const DEPTH_MAX = 6;
const KEYS_MAX = 100;

/**
 * Creates a logger for JSON lines with `time` (RFC 3339), `level` as a word, `service` and
 * `replica`. Writes synchronously, so that the last line before an exit is not lost. Prints a
 * `Secret` as `[secret]` and removes the user part of all URLs.
 */
export function createLogger({ service, replica, level, destination }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: { service, replica },
      timestamp: stdTimeFunctions.isoTime,
      messageKey: 'text',
      errorKey: 'err',
      depthLimit: DEPTH_MAX,
      edgeLimit: KEYS_MAX,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: stdSerializers.errWithCause },
      hooks: { streamWrite: withoutUrlCredentials },
    },
    destination ?? standardOutput(),
  );
}

function standardOutput(): DestinationStream {
  const output = pinoDestination({ dest: 1, sync: true });
  // Ignores a closed log reader, which must not end running requests.
  output.on('error', () => undefined);
  return output;
}

/** Removes credentials of URLs that libraries' errors quote. Linear in the text's length. */
function withoutUrlCredentials(text: string): string {
  return text.includes('://') ? text.replace(/:\/\/[^\s/?#"']*@/g, '://[secret]@') : text;
}
