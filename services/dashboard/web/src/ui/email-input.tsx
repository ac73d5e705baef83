import { TextInput } from '@mantine/core';

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
