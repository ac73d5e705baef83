/** Length of one half of the figures. Attempts count for one to two halves: 2.5 to 5 min. */
export const FIGURES_HALF_MS = 150_000;
/** Weight of a new time in the moving average of the time to the first byte. */
const FIRST_BYTE_SHARE = 1 / 8;

/** Results of the latest attempts at a source. */
export interface SourceStats {
  /** Start of the current half. */
  readonly sinceMs: number;
  readonly attempts: number;
  /** Attempts that the source failed, without errors that a client caused. */
  readonly errors: number;
  /** Attempts without a share of the source's quotas. */
  readonly overQuota: number;
  /** Figures of the half before. */
  readonly attemptsBefore: number;
  readonly errorsBefore: number;
  readonly overQuotaBefore: number;
  /** Moving average from the start of an attempt to its response head; null without a response. */
  readonly firstByteMs: number | null;
}

export const NO_FIGURES: SourceStats = {
  sinceMs: 0,
  attempts: 0,
  errors: 0,
  overQuota: 0,
  attemptsBefore: 0,
  errorsBefore: 0,
  overQuotaBefore: 0,
  firstByteMs: null,
};

export interface AttemptFigures {
  readonly isError: boolean;
  readonly isOverQuota: boolean;
  /** Null if there was no response. */
  readonly firstByteMs: number | null;
}

/** Returns the figures with one more attempt. */
export function recordAttempt(
  before: SourceStats,
  { isError, isOverQuota, firstByteMs }: AttemptFigures,
  nowMs: number,
): SourceStats {
  const half = toFiguresAt(before, nowMs);
  const average = half.firstByteMs ?? firstByteMs;
  return {
    ...half,
    attempts: half.attempts + 1,
    errors: half.errors + Number(isError),
    overQuota: half.overQuota + Number(isOverQuota),
    firstByteMs:
      average === null || firstByteMs === null ? average : average + (firstByteMs - average) * FIRST_BYTE_SHARE,
  };
}

/**
 * Returns the figures at a time, without halves that are too old. Attempts stay when the clock goes
 * back a little, as it does when it follows a late answer of admission.
 */
export function toFiguresAt(figures: SourceStats, nowMs: number): SourceStats {
  const ageMs = nowMs - figures.sinceMs;
  if (Math.abs(ageMs) < FIGURES_HALF_MS) return figures;
  const isNext = ageMs >= 0 && ageMs < 2 * FIGURES_HALF_MS;
  const { attempts, errors, overQuota, firstByteMs } = isNext
    ? figures
    : { ...NO_FIGURES, firstByteMs: figures.firstByteMs };
  const before = { attemptsBefore: attempts, errorsBefore: errors, overQuotaBefore: overQuota };
  const sinceMs = isNext ? figures.sinceMs + FIGURES_HALF_MS : nowMs;
  return { ...NO_FIGURES, ...before, sinceMs, firstByteMs };
}
