import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import type { OfferedTool, PlannedCall } from './offered-tool.ts';
import { planCalls } from './plan.ts';
import { INTRODUCTION, NOTICE, smallTalk } from './small-talk.ts';

/** Rules look at this much of a message; more would only cost time. */
const LONGEST_READ = 2000;

/** What the offline model says next: text, or tool calls. Right after tool results it is always text. */
export function replyTo(messages: BaseMessage[], offered: OfferedTool[]): { text: string; calls: PlannedCall[] } {
  const questions = messages.filter(HumanMessage.isInstance).map((message) => message.text.trim());
  const question = questions.at(-1);
  if (!question) return { text: INTRODUCTION, calls: [] };
  // Said once, so that nobody takes the rules for a language model, and nobody reads it twice.
  const ending = questions.length === 1 ? `\n\n${NOTICE}` : '';

  const results = resultsOfLastTurn(messages);
  if (results.length > 0) return { text: results.map(report).join('\n\n') + ending, calls: [] };

  const calls = planCalls(question.slice(0, LONGEST_READ), offered);
  if (calls.length > 0) return { text: '', calls };

  const talk = smallTalk(question.slice(0, LONGEST_READ), questions.slice(0, -1));
  if (talk !== undefined) return { text: talk.endsWith(NOTICE) ? talk : talk + ending, calls: [] };

  if (offered.some((tool) => tool.name === 'search_knowledge')) {
    return { text: '', calls: [{ name: 'search_knowledge', args: { query: question.slice(0, 300) } }] };
  }
  return { text: `I have no rule for that, and no documents to search.${ending}`, calls: [] };
}

/** The tool results at the end of the conversation; none when the user spoke last. */
function resultsOfLastTurn(messages: BaseMessage[]): { result: ToolMessage; call: string }[] {
  const start = messages.findLastIndex((message) => !ToolMessage.isInstance(message));
  const request = messages[start];
  if (!AIMessage.isInstance(request)) return [];
  return messages
    .slice(start + 1)
    .filter(ToolMessage.isInstance)
    .map((result) => ({
      result,
      call: request.tool_calls?.find((call) => call.id === result.tool_call_id)?.name ?? 'tool',
    }));
}

function report({ result, call }: { result: ToolMessage; call: string }): string {
  const content = result.text.trim();
  if (result.status === 'error') {
    // The prebuilt tool node wraps what was thrown; a reader only needs the reason.
    const reason = content.replace(/^Error: /, '').replace(/\s*Please fix your mistakes\.$/, '');
    return `The tool \`${call}\` failed: ${reason}`;
  }
  switch (call) {
    case 'current_time':
      return `It is ${content}.`;
    case 'search_knowledge':
      return reportPassages(content);
    case 'calculate':
    case 'take_note':
    case 'read_notes':
    case 'clear_notes':
      return content;
    default:
      return content === '' ? `\`${call}\` is done.` : `\`${call}\` answered: ${content.slice(0, 1000)}`;
  }
}

/** Quotes the best passage and names the others. */
function reportPassages(content: string): string {
  const [best, ...others] = content.split(/^## /m).filter((passage) => passage !== '');
  if (best === undefined || !content.startsWith('## ')) {
    return `${content} I only know the documents of this server, the clock, arithmetic and your notes.`;
  }
  const more = others.map((passage) => passage.split('\n', 1)[0]);
  return `**${best.trim().replace('\n', '**\n\n')}${more.length > 0 ? `\n\nSee also: ${more.join('; ')}.` : ''}`;
}
