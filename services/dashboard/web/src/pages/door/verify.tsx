import { ChoosePassword } from './choose-password.js';
import { SendAgain } from './send-again.js';

/** Where the link of a verification mail leads: the first password is set, and its person goes in. */
export function Component() {
  return (
    <ChoosePassword
      title="Verify your e-mail address"
      about="Choose the password of your account. The address is verified with it."
      path="/verify-email"
      submit="Verify and sign in"
      spent={<SendAgain />}
    />
  );
}
