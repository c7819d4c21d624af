/**
 * Your agent: a model that may call tools until it has an answer. Save a change while the server runs, and the next
 * message goes to the new agent; conversations under way finish on the old one.
 *
 * @module
 */
import { AIMessage, type BaseMessage, SystemMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { END, type LangGraphRunnableConfig, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { initChatModel } from 'langchain/chat_models/universal';
import { z } from 'zod';

const INSTRUCTIONS = 'You are a helpful assistant. Answer briefly. Use your tools for what you cannot know.';

/** A tool: the description tells the model when to call it, the schema with what. */
const currentTime = tool(({ timeZone }) => new Date().toLocaleString('en-GB', { timeZone, timeZoneName: 'short' }), {
  name: 'current_time',
  description: 'The current date and time in a time zone.',
  schema: z.object({ timeZone: z.string().describe('IANA name such as Europe/Paris') }),
});

const tools = [currentTime];

async function agent({ messages }: typeof MessagesAnnotation.State, config: LangGraphRunnableConfig) {
  const name = modelName();
  if (name === undefined) return { messages: [offlineReply(messages)] };
  const model = await initChatModel(name, isLocal(name) ? { apiKey: 'none' } : {});
  const reply = await model.bindTools(tools).invoke([new SystemMessage(INSTRUCTIONS), ...messages], config);
  return { messages: [reply] };
}

/** The model as "provider:name"; undefined when no key is set. `.env.example` says what can be set. */
function modelName(): string | undefined {
  const { AGENT_MODEL, OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY, GOOGLE_API_KEY } = process.env;
  if (AGENT_MODEL) return AGENT_MODEL === 'offline' ? undefined : AGENT_MODEL;
  if (OPENAI_API_KEY || OPENAI_BASE_URL) return 'openai:gpt-5-mini';
  if (ANTHROPIC_API_KEY) return 'anthropic:claude-haiku-4-5';
  if (GOOGLE_API_KEY) return 'google-genai:gemini-2.5-flash';
  return undefined;
}

/** Ollama, vLLM and the like ask for no key, but the client library insists on one. */
function isLocal(name: string): boolean {
  return name.startsWith('openai:') && !!process.env.OPENAI_BASE_URL && !process.env.OPENAI_API_KEY;
}

/** Keeps the project alive without a key, and does not pretend to be a model. */
function offlineReply(messages: BaseMessage[]): AIMessage {
  const asked = messages.filter((message) => message.type === 'human');
  return new AIMessage(
    `You said: "${asked.at(-1)?.text ?? ''}" (message ${asked.length} of this conversation). ` +
      'I am not a language model yet: this reply is fixed text from agent.ts. ' +
      'Run npm install, put OPENAI_API_KEY into a file .env, and start the server again.',
  );
}

/** The server compiles the graph with the checkpointer it is configured with. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', agent)
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'agent')
  .addConditionalEdges('agent', toolsCondition, ['tools', END])
  .addEdge('tools', 'agent');
