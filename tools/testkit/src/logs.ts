export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly facts: object;
  readonly text: string;
}

interface TestLog {
  debug(facts: object, text: string): void;
  info(facts: object, text: string): void;
  warn(facts: object, text: string): void;
  error(facts: object, text: string): void;
  child(): TestLog;
}

/** A log that stores its lines, so that a test can read them. */
export interface RecordingLog extends TestLog {
  readonly lines: readonly LogLine[];
}

/** A log that discards its lines. */
export const silentLog: TestLog = {
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
