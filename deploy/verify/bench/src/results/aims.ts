/** What a figure is wanted to be at most: first the step, then the aim. */
export interface Aims {
  readonly firstStep: number;
  readonly aim: number;
}

/** Whether a figure is where it is wanted, or only at the first step to it. */
export function reached(measured: number, { firstStep, aim }: Aims): 'aim' | 'first step' | 'no' {
  if (measured <= aim) return 'aim';
  return measured <= firstStep ? 'first step' : 'no';
}
