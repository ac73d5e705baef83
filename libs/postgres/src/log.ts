/** The logger that this package needs; `@gateway/service-kit`'s logger fits. */
export interface Log {
  info(facts: object, text: string): void;
  warn(facts: object, text: string): void;
  error(facts: object, text: string): void;
}
