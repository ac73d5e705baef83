/** What this package needs of a logger; `@gateway/service-kit`'s fits. */
export interface Log {
  info(facts: object, text: string): void;
  warn(facts: object, text: string): void;
  error(facts: object, text: string): void;
}
