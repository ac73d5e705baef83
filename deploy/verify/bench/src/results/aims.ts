/** Upper bounds of a value: a first step and the aim. */
export interface Aims {
  readonly firstStep: number;
  readonly aim: number;
}

/** Returns whether a value has reached the aim, only the first step, or neither. */
export function reached(measured: number, { firstStep, aim }: Aims): 'aim' | 'first step' | 'no' {
  if (measured <= aim) return 'aim';
  return measured <= firstStep ? 'first step' : 'no';
}
