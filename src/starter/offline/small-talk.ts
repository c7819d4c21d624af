/** Ends the first answer of a conversation. */
export const NOTICE =
  '(This is the offline demonstration model: simple rules, no language model. To talk to a real one, set ' +
  '`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GOOGLE_API_KEY` or `AGENT_MODEL` and restart.)';

/** Who is speaking and what it can do. */
export const INTRODUCTION = `Hello! I am the starter agent of agent-engine-server. You can ask me:

- **What time is it in Tokyo and in New York?** (two tool calls at once)
- **What is 12 * 7?** (arithmetic)
- **Remember to water the plants**, then **clear my notes** (shared state, and a question to you first)
- **How do I write my own agent?** (a search of the documents)

${NOTICE}`;

/** Answers what needs no tool; undefined when it is none of that. `earlier` is what the user said before. */
export function smallTalk(question: string, earlier: string[]): string | undefined {
  for (const [pattern, answer] of RULES) {
    const match = pattern.exec(question);
    if (match) return answer(match, earlier);
  }
  return undefined;
}

const NAME = /\b(?:my name is|call me)\s+([\p{L}\p{M}'-]+(?: \p{Lu}[\p{L}\p{M}'-]+)?)/iu;

const RULES: [RegExp, (match: RegExpExecArray, earlier: string[]) => string][] = [
  [
    /^(?:hi|hello|hey|hallo|hola|bonjour|ciao|good (?:morning|afternoon|evening)|greetings)(?: (?:there|agent|everyone))?[\s!.,]*$/i,
    () => INTRODUCTION,
  ],
  [/\b(?:who|what) are you\b|\bwhat can (?:you|i) (?:do|ask)\b|^(?:help|start|\?)\W*$/i, () => INTRODUCTION],
  [
    /\bwhat (?:did|have) i (?:just |previously )*(?:ask|say|said|write|written|wrote)|\bmy (?:last|previous) (?:question|message)\b/i,
    (_, earlier) => {
      const last = earlier.at(-1);
      return last === undefined ? 'Nothing yet: this is your first message.' : `You said: "${last}"`;
    },
  ],
  [
    /\bwhat(?:'s| is) my name\b|\bwho am i\b/i,
    (_, earlier) => {
      const name = earlier.map((text) => NAME.exec(text)?.[1]).findLast((found) => found !== undefined);
      return name === undefined ? 'You have not told me your name.' : `Your name is ${name}.`;
    },
  ],
  [NAME, (match) => `Nice to meet you, ${match[1]}.`],
  [/^(?:thanks|thank you|thx|great|ok|okay|cool|nice)\b.{0,20}$/i, () => 'You are welcome.'],
  [/^(?:bye|goodbye|see you|good night)\b.{0,20}$/i, () => 'Goodbye! This conversation is kept; come back any time.'],
];
