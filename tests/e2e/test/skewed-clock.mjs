// Loaded before a service of the local start. Shifts the wall clock of a replica by the value in
// E2E_CLOCK_SKEWS, a JSON object of milliseconds by replica name. Monotonic time does not change,
// as on a machine with a wrong clock.
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
