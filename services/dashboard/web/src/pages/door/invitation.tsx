import { ChoosePassword } from './choose-password.js';

/** Where the link of an invitation leads; it verifies the address too, and its person goes in. */
export function Component() {
  return (
    <ChoosePassword
      title="Join the team"
      about="Choose a password for your account. If you have one already, just sign in: you are a member."
      path="/accept-invitation"
      submit="Set password and sign in"
    />
  );
}
