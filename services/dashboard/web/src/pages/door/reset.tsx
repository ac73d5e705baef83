import { ChoosePassword } from './choose-password.js';

/** Where the link of a reset mail leads. */
export function Component() {
  return (
    <ChoosePassword
      title="Choose a new password"
      about="All sessions of this account end, on every device."
      path="/reset-password"
      done="The new password is set"
    />
  );
}
