const SESSION_FORM = /^[A-Za-z0-9_-]{43}$/;

/** Whether a cookie's value can be one of ours: others are answered without asking anybody. */
export function isSessionForm(cookie: string): boolean {
  return SESSION_FORM.test(cookie);
}
