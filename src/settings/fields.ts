import { z } from 'zod';

/** `true` or `false`. */
export const flag = z.stringbool({
  truthy: ['true', '1', 'yes', 'on'],
  falsy: ['false', '0', 'no', 'off'],
  error: 'must be true or false',
});

/** A whole number within bounds. @param unit of what, for the message. */
export function wholeNumber(min: number, max: number, unit?: string) {
  return z
    .string()
    .refine((text) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `must be a whole number ${unit === undefined ? '' : `of ${unit} `}from ${min} to ${max}`,
    })
    .transform(Number);
}

/** Comma-separated entries in lower case, each of which must match. */
export function list(entry: RegExp, fault: string) {
  return z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim().toLowerCase())
        .filter((part) => part !== ''),
    )
    .refine((entries) => entries.every((part) => entry.test(part)), fault);
}
