/**
 * Checks at each dispatch that the calls of an account cost at most its funds. Amounts in nano-USD.
 */
export class Spending {
  readonly #funds = new Map<string, number>();
  readonly #exposed = new Map<string, number>();
  readonly violations: string[] = [];

  fund(account: string, amount: number): void {
    this.#funds.set(account, amount);
  }

  /** Adds a call that may cost `worst`. */
  dispatch(account: string, id: string, worst: number): void {
    const exposed = this.#add(account, worst);
    const funds = this.#funds.get(account) ?? 0;
    if (exposed > funds) this.violations.push(`${account}: ${exposed} of ${funds} with ${id}`);
  }

  /** Ends a call with the cost `amount`. */
  end(account: string, worst: number, amount: number): void {
    this.#add(account, amount - worst);
  }

  /** Returns the spent amount plus the worst case of running calls. */
  exposed(account: string): number {
    return this.#exposed.get(account) ?? 0;
  }

  #add(account: string, amount: number): number {
    const exposed = this.exposed(account) + amount;
    this.#exposed.set(account, exposed);
    return exposed;
  }
}
