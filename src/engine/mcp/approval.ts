import { isRecord } from '../encode.ts';
import { jsonSchemaFaults } from '../json-schema.ts';
import type { McpTool } from './pool.ts';

/** What a user is asked before a call, and what the answer may be (runtime contract, section 4). */
export interface ApprovalRequest {
  reason: 'tool_call';
  message: string;
  toolCallId?: string;
  server: string;
  tool: string;
  arguments: Record<string, unknown>;
  responseSchema: Record<string, unknown>;
}

/** What the user decided. */
export type Approval =
  | { approved: true; args: Record<string, unknown>; edited: boolean }
  | { approved: false; message: string };

const RESPONSE_SCHEMA = {
  type: 'object',
  properties: {
    approved: { type: 'boolean', description: 'Whether the call may be made.' },
    editedArgs: { type: 'object', description: 'Arguments to make it with, in the place of those shown.' },
    message: { type: 'string', description: 'What to tell the agent when the call may not be made.' },
  },
  required: ['approved'],
};

/** The question whether a call may be made. */
export function approvalRequest(
  { server, name, tool }: Pick<McpTool, 'server' | 'name' | 'tool'>,
  args: Record<string, unknown>,
  toolCallId: string | undefined,
): ApprovalRequest {
  return {
    reason: 'tool_call',
    message: `The tool ${name} of the MCP server ${server} requires approval.`,
    ...(toolCallId !== undefined && { toolCallId }),
    server,
    tool: tool.name,
    arguments: args,
    responseSchema: RESPONSE_SCHEMA,
  };
}

/** Reads an answer; whatever is no clear consent is none. */
export function readApproval(
  answer: unknown,
  { tool }: Pick<McpTool, 'tool'>,
  args: Record<string, unknown>,
): Approval {
  if (answer === true) return { approved: true, args, edited: false };
  const { approved, editedArgs, message } = isRecord(answer) ? answer : {};
  if (approved !== true) {
    const said = typeof message === 'string' && message !== '' ? ` They say: ${message}` : '';
    return { approved: false, message: `The user did not approve this call; it was not made.${said}` };
  }
  if (editedArgs === undefined || editedArgs === null) return { approved: true, args, edited: false };
  if (!isRecord(editedArgs) || !fits(tool.inputSchema, editedArgs)) {
    return { approved: false, message: 'The call was not made: the arguments the user gave do not fit the tool.' };
  }
  return { approved: true, args: editedArgs, edited: true };
}

function fits(schema: object, args: Record<string, unknown>): boolean {
  try {
    return jsonSchemaFaults(schema, args, 'editedArgs') === undefined;
  } catch {
    // A schema the server got wrong; it will say so itself.
    return true;
  }
}
