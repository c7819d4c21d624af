import type { ToolMessage } from '@langchain/core/messages';
import type { StructuredToolInterface, ToolRunnableConfig } from '@langchain/core/tools';
import { EventType } from '../../events.ts';
import { approvalRequest, readApproval } from '../../mcp/approval.ts';
import type { McpShare, McpTool } from '../../mcp/pool.ts';
import { type McpResult, type ResultPart, readResult } from '../../mcp/result.ts';
import { completeSchema } from '../../mcp/tool-schema.ts';
import { currentRunScope } from '../../run-scope.ts';

/** What the tools need of the agent's own copy of LangGraph, which is only known once the agent's module is loaded. */
export interface GraphPort {
  interrupt?: (value: unknown) => unknown;
}

type Args = Record<string, unknown>;

/** The tools of the configured MCP servers as LangChain's. */
export async function createMcpTools(share: McpShare, graph: GraphPort): Promise<StructuredToolInterface[]> {
  const [{ loadMcpTools }, { DynamicStructuredTool }, { ToolMessage: Message }] = await Promise.all([
    import('@langchain/mcp-adapters'),
    import('@langchain/core/tools'),
    import('@langchain/core/messages'),
  ]);
  // The adapters make schemas that models take of those that servers have. They cannot ask for approval, though, since
  // they catch what an interrupt throws, and their calls end with the connection they were made for.
  const described = share.tools.map(({ name, tool }) => ({
    ...tool,
    name,
    inputSchema: completeSchema(tool.inputSchema),
  }));
  const adapted = await loadMcpTools('', { listTools: async () => ({ tools: described }) } as never, {
    throwOnLoadError: false,
  });
  const schemas = new Map(adapted.map(({ name, schema }) => [name, schema]));
  return share.tools.map((entry) => {
    const { name, server, tool } = entry;
    // What the adapters make nothing of, a model may yet.
    const schema = schemas.get(name) ?? completeSchema(tool.inputSchema);
    return new DynamicStructuredTool({
      name,
      description: tool.description ?? tool.title ?? '',
      schema,
      responseFormat: 'content_and_artifact',
      metadata: { mcpServer: server, mcpTool: tool.name, annotations: tool.annotations ?? {} },
      func: async (args: Args, _manager: unknown, config?: ToolRunnableConfig): Promise<[unknown, unknown]> => {
        const toolCallId = config?.toolCall?.id;
        const result = await callTool(entry, args, { share, graph, config, toolCallId });
        const content = toContent(result.parts);
        if (!result.isError) return [content, result.artifact];
        // Thrown, it would end the run of an agent whose tool node expects nothing of the kind; the model is to be told.
        if (toolCallId === undefined) throw new Error(textOf(result.parts));
        const fields = { content, name, tool_call_id: toolCallId, status: 'error' as const, artifact: result.artifact };
        return [new Message(fields as ConstructorParameters<typeof ToolMessage>[0]), undefined];
      },
    }) as unknown as StructuredToolInterface;
  });
}

async function callTool(
  entry: McpTool,
  args: Args,
  way: { share: McpShare; graph: GraphPort; config: ToolRunnableConfig | undefined; toolCallId: string | undefined },
): Promise<McpResult> {
  const { share, graph, config, toolCallId } = way;
  // Every time, also when the call was made already: LangGraph tells a node's questions by their order.
  const approval = entry.needsApproval
    ? readApproval(ask(entry, args, graph, toolCallId), entry, args)
    : { approved: true as const, args, edited: false };
  if (!approval.approved) return failed(approval.message);
  const make = async (): Promise<McpResult> => {
    const result = await makeCall(entry, approval.args, config?.signal);
    if (!approval.edited) return result;
    const note: ResultPart = {
      type: 'text',
      text: `(The user changed the arguments to ${JSON.stringify(approval.args)}.)`,
    };
    return { ...result, parts: [note, ...result.parts] };
  };
  const { thread_id: threadId, checkpoint_ns: step } = (config?.configurable ?? {}) as Record<string, unknown>;
  try {
    if (typeof threadId !== 'string' || typeof step !== 'string' || toolCallId === undefined) return await make();
    return await share.calls.once(threadId, `${step} ${toolCallId}`, make);
  } catch (error) {
    config?.signal?.throwIfAborted();
    const why = error instanceof Error ? error.message : 'unknown error';
    return failed(`The tool ${entry.name} of the MCP server ${entry.server} could not be called: ${why}`);
  }
}

/** @throws what LangGraph stops the node with, until the user has answered. */
function ask(entry: McpTool, args: Args, { interrupt }: GraphPort, toolCallId: string | undefined): unknown {
  if (interrupt === undefined) return { message: 'Nobody can be asked while the agent is being loaded.' };
  try {
    return interrupt(approvalRequest(entry, args, toolCallId));
  } catch (error) {
    const { name } = error as { name?: string };
    if (name === 'GraphInterrupt' || name === 'NodeInterrupt') throw error;
    // No graph, or one that keeps nothing: it could not go on after a question.
    return { message: 'Nobody can be asked: the agent keeps no conversation to come back to.' };
  }
}

async function makeCall({ server, tool, connection }: McpTool, args: Args, signal?: AbortSignal): Promise<McpResult> {
  const run = currentRunScope();
  const about = { server, tool: tool.name };
  const tell = (name: string, value: object): void => run?.emit({ type: EventType.CUSTOM, name, value });
  const result = await connection.call(tool.name, args, {
    signal: signal === undefined ? new AbortController().signal : AbortSignal.any([signal]),
    onProgress: (progress) => tell('mcp_progress', { ...about, ...progress }),
    onElicited: (request) => tell('mcp_elicitation', { ...about, ...request, action: 'cancel' }),
  });
  return readResult(result);
}

function failed(text: string): McpResult {
  return { parts: [{ type: 'text', text }], isError: true, artifact: [], size: text.length };
}

/** Content of a tool message: plain text where there is nothing else. */
function toContent(parts: readonly ResultPart[]): string | object[] {
  if (parts.every(({ type }) => type === 'text')) return textOf(parts);
  return parts.map((part) => {
    if (part.type === 'text') return part;
    const { type, data, mimeType } = part;
    if (type === 'image') return { type: 'image_url', image_url: { url: `data:${mimeType};base64,${data}` } };
    return { type, source_type: 'base64', mime_type: mimeType, data };
  });
}

function textOf(parts: readonly ResultPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}
