// Loaded before a service of the local start: the wall clock of a replica goes wrong by what
// E2E_CLOCK_SKEWS says, a JSON object of milliseconds by replica name. Monotonic time is left
// alone, as it is where a machine's clock is wrong.
const skews = JSON.parse(process.env.E2E_CLOCK_SKEWS ?? '{}');
const skewMs = skews[process.env.GATEWAY_REPLICA] ?? 0;

if (skewMs !== 0) {
  const { now } = Date;
  const TrueDate = Date;
  globalThis.Date = class Date extends TrueDate {
    constructor(...parts) {
      if (parts.length === 0) super(now() + skewMs);
      else super(...parts);
    }

    static now() {
      return now() + skewMs;
    }
  };
}
