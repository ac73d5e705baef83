import { PasswordInput, TextInput } from '@mantine/core';

/** The API's bounds, repeated because pages must not import code of the contracts. */
export const PASSWORD_CHARS_MIN = 10;
const PASSWORD_CHARS_MAX = 200;

interface NewPasswordProps {
  readonly label?: string;
  readonly name?: string;
  readonly value: string;
  readonly error?: string;
  readonly onChange: (value: string) => void;
}

export function NewPassword({ label = 'Password', name = 'password', value, error, onChange }: NewPasswordProps) {
  return (
    <PasswordInput
      label={label}
      name={name}
      description={`Use ${PASSWORD_CHARS_MIN} or more characters. A short phrase works well.`}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="new-password"
      required
      minLength={PASSWORD_CHARS_MIN}
      maxLength={PASSWORD_CHARS_MAX}
      error={error}
    />
  );
}

interface EmailInputProps {
  readonly value: string;
  readonly error?: string | undefined;
  readonly onChange: (value: string) => void;
}

/** The email address of a person. */
export function EmailInput({ value, error, onChange }: EmailInputProps) {
  return (
    <TextInput
      label="Email address"
      name="email"
      type="email"
      autoComplete="username"
      required
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
    />
  );
}
