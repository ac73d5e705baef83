import type { Logger, LogLevel } from '@gateway/service-kit';

export interface LogLine {
  readonly level: Exclude<LogLevel, 'silent'>;
  readonly facts: object;
  readonly text: string;
}

/** A log that stores its lines, so that a test can read them. */
export interface RecordingLog extends Logger {
  readonly lines: readonly LogLine[];
}

/** A log that discards its lines. */
export const silentLog: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};

export function recordingLog(): RecordingLog {
  const lines: LogLine[] = [];
  const at = (level: LogLine['level']) => (facts: object, text: string) => void lines.push({ level, facts, text });
  const log: RecordingLog = {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => log,
  };
  return log;
}
