import { pino, stdTimeFunctions, stdSerializers, destination as pinoDestination, type DestinationStream } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** One line of JSON per call. Facts first, then the text; an error goes under the key `err`. */
export interface Logger {
  debug(facts: object, text: string): void;
  info(facts: object, text: string): void;
  warn(facts: object, text: string): void;
  error(facts: object, text: string): void;
  /** A logger that adds `facts` to each of its lines. */
  child(facts: Record<string, unknown>): Logger;
}

export interface LoggerOptions {
  readonly service: string;
  readonly replica: string;
  readonly level: LogLevel;
  /** Where lines go; standard output when absent. */
  readonly destination?: DestinationStream;
}

/** Objects nested deeper are cut, so that one line stays bounded. */
const DEPTH_MAX = 6;
const KEYS_MAX = 100;

/**
 * JSON lines with `time` (RFC 3339), `level` as a word, `service` and `replica`. Written
 * synchronously, so that the last line before an exit is not lost. A `Secret` prints as `[secret]`,
 * and the user part of any URL is taken out.
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
  // A reader of the log that went away must not end running calls.
  output.on('error', () => undefined);
  return output;
}

/**
 * Errors of libraries may quote the address they were given, password included. Linear in the
 * length of the text.
 */
function withoutUrlCredentials(text: string): string {
  return text.includes('://') ? text.replace(/:\/\/[^\s/?#"']*@/g, '://[secret]@') : text;
}
