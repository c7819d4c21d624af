/** The arithmetic expression a sentence asks for, ready for the calculator; undefined when there is none. */
export function expressionIn(sentence: string): string | undefined {
  const text = sentence.trim().replace(/[?=!.\s]+$/, '');
  // "Calculate ..." is taken at its word, so that the calculator can say what it does not understand.
  const ordered = /^(?:please\s+)?(?:calculate|compute|evaluate|work out)\s+(.+)$/is.exec(text)?.[1];
  if (ordered !== undefined) return inSymbols(ordered);

  const asked = inSymbols(text.replace(/^(?:and\s+)?(?:what(?:'s| is| are)|how much (?:is|are))\s+/i, ''));
  if (ONLY_ARITHMETIC.test(asked) && /\d/.test(asked) && /[-+*/%^(]/.test(asked) && !DATE.test(asked)) return asked;
  return WITHIN_TEXT.exec(asked)?.[0].trim();
}

const FUNCTION = '(?:sqrt|abs|round|floor|ceil|min|max|log|exp|sin|cos|tan)';
const ONLY_ARITHMETIC = new RegExp(`^(?:[\\d\\s.,()+\\-*/%^]|${FUNCTION}\\(|\\b(?:pi|e)\\b)+$`, 'i');
/** Between words only what cannot be a date, a range or a path: `2 * 3`, `2*3`, `7 - 4`. */
const WITHIN_TEXT = /(?<=^|\s)[-(]*\d[\d.]*\)*(?:(?:\s*(?:\*\*|[*^+])\s*|\s+[-/]\s+)[-(]*\d[\d.]*\)*)+(?=$|[\s?!,.])/;
const DATE = /^\d{1,4}([-/])\d{1,2}\1\d{1,4}$/;

const SYMBOLS: [RegExp, string][] = [
  [/(\d),(?=\d{3}\b)/g, '$1'],
  [/(\d(?:[\d.]*)?)\s*(?:%|percent)\s+of\s+/gi, '$1 / 100 * '],
  [/\bsquare root of\s+(\d[\d.]*)/gi, 'sqrt($1)'],
  [/^the\s+(?=sqrt)/i, ''],
  [/\s+(?:raised )?to the power of\s+/gi, ' ** '],
  [/\s+squared\b/gi, ' ** 2'],
  [/\s+cubed\b/gi, ' ** 3'],
  [/\s+plus\s+/gi, ' + '],
  [/\s+minus\s+/gi, ' - '],
  [/\s+(?:times|multiplied by)\s+/gi, ' * '],
  [/\s+divided by\s+/gi, ' / '],
  [/(?<=\d\s*)[x×](?=\s*\d)/gi, '*'],
  [/÷/g, '/'],
  [/−/g, '-'],
];

function inSymbols(text: string): string {
  return SYMBOLS.reduce((current, [pattern, symbol]) => current.replace(pattern, symbol), text).trim();
}
