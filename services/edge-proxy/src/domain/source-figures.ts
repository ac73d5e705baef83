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
  /** Of the half before. */
  readonly attemptsBefore: number;
  readonly errorsBefore: number;
  /** Moving average, from an attempt's start to the head of its answer; null: none was answered. */
  readonly firstByteMs: number | null;
}

export const NO_FIGURES: SourceFigures = {
  sinceMs: 0,
  attempts: 0,
  errors: 0,
  attemptsBefore: 0,
  errorsBefore: 0,
  firstByteMs: null,
};

/** The figures with one more attempt. @param firstByteMs null: it was not answered */
export function noteAttempt(
  before: SourceFigures,
  { isError, firstByteMs }: { readonly isError: boolean; readonly firstByteMs: number | null },
  nowMs: number,
): SourceFigures {
  const half = figuresAt(before, nowMs);
  const average = half.firstByteMs ?? firstByteMs;
  return {
    ...half,
    attempts: half.attempts + 1,
    errors: half.errors + Number(isError),
    firstByteMs:
      average === null || firstByteMs === null ? average : average + (firstByteMs - average) * FIRST_BYTE_SHARE,
  };
}

/** The figures as they are then: what is too old no longer counts. */
export function figuresAt(figures: SourceFigures, nowMs: number): SourceFigures {
  const ageMs = nowMs - figures.sinceMs;
  if (ageMs >= 0 && ageMs < FIGURES_HALF_MS) return figures;
  const isNext = ageMs >= 0 && ageMs < 2 * FIGURES_HALF_MS;
  const { attempts, errors, firstByteMs } = figures;
  const before = isNext ? { attemptsBefore: attempts, errorsBefore: errors } : { attemptsBefore: 0, errorsBefore: 0 };
  const sinceMs = isNext ? figures.sinceMs + FIGURES_HALF_MS : nowMs;
  return { sinceMs, attempts: 0, errors: 0, ...before, firstByteMs };
}
