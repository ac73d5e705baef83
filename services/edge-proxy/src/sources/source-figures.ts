/** Attempts count in the figures for one to two of these: 2.5 to 5 min. */
export const FIGURES_HALF_MS = 150_000;
/** Of a new time to the first byte in the moving average. */
const FIRST_BYTE_SHARE = 1 / 8;

/** How the latest attempts at a source went. */
export interface SourceFigures {
  /** When the present half began. */
  readonly sinceMs: number;
  readonly attempts: number;
  /** Attempts that the source failed: what a client caused is none. */
  readonly errors: number;
  /** Attempts for which the edge held no share of the source's quotas. */
  readonly overQuota: number;
  /** Of the half before. */
  readonly attemptsBefore: number;
  readonly errorsBefore: number;
  readonly overQuotaBefore: number;
  /** Moving average, from an attempt's start to the head of its answer; null: none was answered. */
  readonly firstByteMs: number | null;
}

export const NO_FIGURES: SourceFigures = {
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
  /** Null: it was not answered. */
  readonly firstByteMs: number | null;
}

/** The figures with one more attempt. */
export function noteAttempt(
  before: SourceFigures,
  { isError, isOverQuota, firstByteMs }: AttemptFigures,
  nowMs: number,
): SourceFigures {
  const half = figuresAt(before, nowMs);
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

/** The figures as they are then: what is too old no longer counts. */
export function figuresAt(figures: SourceFigures, nowMs: number): SourceFigures {
  const ageMs = nowMs - figures.sinceMs;
  if (ageMs >= 0 && ageMs < FIGURES_HALF_MS) return figures;
  const isNext = ageMs >= 0 && ageMs < 2 * FIGURES_HALF_MS;
  const { attempts, errors, overQuota, firstByteMs } = isNext
    ? figures
    : { ...NO_FIGURES, firstByteMs: figures.firstByteMs };
  const before = { attemptsBefore: attempts, errorsBefore: errors, overQuotaBefore: overQuota };
  const sinceMs = isNext ? figures.sinceMs + FIGURES_HALF_MS : nowMs;
  return { ...NO_FIGURES, ...before, sinceMs, firstByteMs };
}
