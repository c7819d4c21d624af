import { expressionIn } from './arithmetic.ts';
import type { OfferedTool, PlannedCall } from './offered-tool.ts';
import { argumentsFor, isAbout } from './other-tools.ts';
import { placesIn } from './places.ts';

type Rule = (text: string) => PlannedCall[];

/**
 * The tool calls a message asks for, one or several. Empty when no rule applies; a search is only planned for a
 * question that stands next to something else ("What is 2+2, and how do I write an agent?").
 */
export function planCalls(message: string, offered: OfferedTool[]): PlannedCall[] {
  const names = new Set(offered.map((tool) => tool.name));
  const others = offered.filter((tool) => !OWN_TOOLS.has(tool.name));
  const rules: Rule[] = [...RULES, (text) => others.filter((tool) => isAbout(tool, text)).map(callOf(text))];
  const calls = groups(message, rules).flatMap(({ rule, whole, start }) => {
    const planned = rule(whole);
    return planned.length > 0 ? planned : rule(start);
  });
  const usable = calls.filter((call) => names.has(call.name));
  return usable.every((call) => call.name === SEARCH) ? [] : usable;
}

const SEARCH = 'search_knowledge';
const OWN_TOOLS = new Set(['current_time', 'calculate', 'take_note', 'read_notes', 'clear_notes', SEARCH]);

/** In order: what counts as a note is not looked at for times and sums. */
const RULES: Rule[] = [
  (text) => {
    const note = NOTE.exec(text)?.[1]?.trim();
    return note ? [{ name: 'take_note', args: { text: note } }] : [];
  },
  (text) => (/\b(?:clear|delete|remove|erase|forget|drop)\b.*\bnotes?\b/i.test(text) ? [call('clear_notes')] : []),
  (text) =>
    /\b(?:what|which|show|list|read|see)\b.*\bnotes\b|^(?:my )?notes$/i.test(text) ? [call('read_notes')] : [],
  (text) =>
    TIME.test(text) ? placesIn(text).map((timeZone) => call('current_time', timeZone ? { timeZone } : {})) : [],
  (text) => {
    const expression = expressionIn(text);
    return expression === undefined ? [] : [call('calculate', { expression })];
  },
];

const NOTE =
  /^(?:(?:please|can you|could you)\s+)*(?:(?:take|make|add|write|save|keep)\s+(?:down\s+)?(?:a\s+|this\s+)?note|note|remember|don't forget)(?:\s+(?:down|that|to|of))*[\s:,]+(?!what\b|who\b|when\b|me\s*$)(.+)$/is;

const TIME =
  /\bwhat(?:'s| is)?(?: the)?(?: current| local| exact)? (?:time|date|day)\b|\b(?:current|local) (?:time|date)\b|\btime is it\b|\btoday's date\b|^(?:(?:the|tell me the) )?(?:time|date|clock)(?: (?:now|in|at|please)\b|$)/i;

const QUESTION = /^(?:how|what|why|where|when|which|who|can|does|is|are|explain|tell me|search)\b/i;

function call(name: string, args: Record<string, unknown> = {}): PlannedCall {
  return { name, args };
}

function callOf(text: string) {
  return (tool: OfferedTool) => call(tool.name, argumentsFor(tool, text));
}

interface Group {
  rule: Rule;
  /** The clause the rule applied to. */
  start: string;
  /** That clause and those after it that belong to nothing else: "remember milk | and | eggs". */
  whole: string;
}

/** Cuts a message into clauses and puts together those that one rule should see as a whole. */
function groups(message: string, rules: Rule[]): Group[] {
  const found: Group[] = [];
  for (const { joint, clause } of clausesOf(message)) {
    const rule =
      rules.find((candidate) => candidate(clause).length > 0) ?? (QUESTION.test(clause) ? search : undefined);
    const last = found.at(-1);
    if (rule !== undefined) found.push({ rule, start: clause, whole: clause });
    else if (last !== undefined) last.whole += joint + clause;
  }
  return found;
}

function search(text: string): PlannedCall[] {
  return [call(SEARCH, { query: text.slice(0, 300) })];
}

const GREETING = /^(?:hi|hello|hey)(?: there)?[\s,!.]+(?=\S)/i;
/** Sentence ends and "and", outside of double quotes. */
const JOINT =
  /([?!;.,\n]*\s+(?:and then|and also|and|then|also)\s+|[?!;\n]+\s*|\.(?:\s+|$))(?=(?:[^"]*"[^"]*")*[^"]*$)/i;

function clausesOf(message: string): { joint: string; clause: string }[] {
  const parts = message.trim().replace(GREETING, '').split(JOINT);
  return parts.flatMap((part, index) => {
    const clause = index % 2 === 0 ? part.trim() : '';
    return clause === '' ? [] : [{ joint: parts[index - 1] ?? '', clause }];
  });
}
