/** What is wrong with a template, or with what it was given. The message names no value. */
export class TemplateProblem extends Error {
  override name = 'TemplateProblem';
  /** The variable that has no value, where that is what is wrong. */
  readonly variable: string | undefined;

  constructor(message: string, options: ErrorOptions & { variable?: string | undefined } = {}) {
    super(message, options);
    this.variable = options.variable;
  }
}

/** The parts of the library's errors that tell where and what. */
interface LibraryError extends Error {
  token?: { getPosition(): [row: number, column: number] };
  originalError?: Error & { variableName?: string };
}

/**
 * Does `work` and puts what goes wrong in it into our words, with the place in the template.
 *
 * @throws TemplateProblem.
 */
export function explain<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TemplateProblem) throw error;
    const { token, originalError } = error as LibraryError;
    const inner: NonNullable<LibraryError['originalError']> = originalError ?? (error as Error);
    const [row, column] = token?.getPosition() ?? [1, 1];
    const place = `line ${row}, column ${column}: `;
    if (inner.variableName !== undefined) {
      // A path may be made of values, and those of texts of any length.
      const variable = inner.variableName.slice(0, 100);
      throw new TemplateProblem(`${place}there is no value for "${variable}"`, { variable });
    }
    if (inner instanceof TemplateProblem) throw new TemplateProblem(place + inner.message);
    const known = wording(inner);
    if (known !== undefined) throw new TemplateProblem(place + known);
    // From a value of the author's, such as a getter that throws.
    throw new TemplateProblem(`${place}a value cannot be used here (${inner.name})`, { cause: inner });
  }
}

/** The library's complaints that readers could not make sense of, and all others of it as they are. */
function wording({ name, message }: Error): string | undefined {
  if (name === 'RangeError' && message.includes('call stack')) return 'it is nested too deeply';
  const text = message.replace(/, line:\d+, col:\d+$/, '');
  const tag = /^tag "(.+)" not found$/s.exec(text)?.[1];
  if (tag !== undefined) {
    return /^(?:end|els?e?if|else)/.test(tag)
      ? `{% ${tag} %} does not belong here`
      : `the tag "${tag}" is not known; there are if, for, comment and raw`;
  }
  for (const [start, words] of Object.entries(WORDS)) if (text.startsWith(start)) return words;
  const filter = /^undefined filter: (.+)$/s.exec(text)?.[1];
  if (filter !== undefined) return `the filter "${filter}" is not known`;
  if (/^tag .+ not closed$/s.test(text)) return text;
  return ['AssertionError', 'TokenizationError', 'ParseError'].includes(name) ? text : undefined;
}

const WORDS: Readonly<Record<string, string>> = {
  'expected ":" after filter name': 'what a filter is given follows a colon: {{ names | join: ", " }}',
  'expected "|" before filter': 'after a value only a filter may follow: {{ name | upper }}',
  'invalid value expression: ""': 'a value is expected here',
  'memory alloc limit': 'it makes too much out of its values',
  'template render limit': 'it takes too long to render',
  'parse length limit': 'it is too long',
};
