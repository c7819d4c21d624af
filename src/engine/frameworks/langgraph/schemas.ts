import { toJsonSchema } from '@langchain/core/utils/json_schema';
import { RunFailure } from '../../agent.ts';
import { isRecord } from '../../encode.ts';
import type { RunAgentInput } from '../../events.ts';
import { jsonSchemaFaults } from '../../json-schema.ts';
import { textOf } from './content.ts';
import type { CompiledGraph } from './shapes.ts';

type JsonSchema = Record<string, unknown>;

/** What a graph takes and gives, read once when it is built. */
export interface GraphSchemas {
  /** State keys a run's input may set. */
  inputKeys: ReadonlySet<string>;
  /** State keys the client may see, besides `messages` and `tools`. */
  outputKeys: readonly string[];
  /** Whether the state holds a conversation. */
  hasMessages: boolean;
  /** JSON Schema of the input, when the graph takes data instead of chat. */
  structuredInput: JsonSchema | null;
  /** JSON Schema of the output, when it is more than the conversation. */
  structuredOutput: JsonSchema | null;
}

/** The parts of a StateGraph that tell its schemas; there is no public way to ask for them. */
interface BuilderSchemas {
  _schemaDefinitions?: Map<unknown, Record<string, unknown>>;
  _inputDefinition?: unknown;
  _outputDefinition?: unknown;
  _schemaRuntimeDefinition?: unknown;
  _inputRuntimeDefinition?: unknown;
  _outputRuntimeDefinition?: unknown;
}

/** Reads a graph's schemas. One that cannot be read counts as chat in, text out (runtime contract, section 8). */
export function readSchemas(graph: CompiledGraph): GraphSchemas {
  const channels = Object.keys(graph.channels as object).filter(isStateKey);
  const builder = (graph as { builder?: BuilderSchemas }).builder;
  const inputKeys = keysOf(builder, builder?._inputDefinition) ?? channels;
  const outputs = ([] as unknown[]).concat(graph.outputChannels).filter((key) => typeof key === 'string');
  const hasMessages = channels.includes('messages');
  const inputSchema = schemaOf(builder?._inputRuntimeDefinition) ?? objectOf(inputKeys);
  const outputSchema = schemaOf(builder?._outputRuntimeDefinition) ?? objectOf(outputs);
  return {
    inputKeys: new Set(inputKeys),
    outputKeys: outputs.filter(isStateKey),
    hasMessages,
    structuredInput: takesChat(inputKeys, inputSchema) ? null : inputSchema,
    structuredOutput:
      sameKeys(inputKeys, outputs) || (outputs.length === 1 && hasMessages && outputs[0] === 'messages')
        ? null
        : outputSchema,
  };
}

/**
 * The data of a structured agent's run: the last message's text, which must be JSON that fits the schema.
 *
 * @throws RunFailure `VALIDATION_ERROR` when it is not.
 */
export function structuredInput(input: RunAgentInput, schema: JsonSchema): Record<string, unknown> {
  const last = input.messages.at(-1);
  let data: unknown;
  try {
    data = JSON.parse(textOf(last !== undefined && 'content' in last ? last.content : ''));
  } catch {
    throw new RunFailure('VALIDATION_ERROR', 'This agent takes structured input: the last message must be JSON text.');
  }
  const faults = jsonSchemaFaults(schema, data, 'input');
  if (faults !== undefined || !isRecord(data)) {
    throw new RunFailure('VALIDATION_ERROR', `The last message does not fit the agent's input schema: ${faults}.`);
  }
  return data;
}

function isStateKey(key: string): boolean {
  return !key.startsWith('__') && !key.includes(':');
}

function keysOf(builder: BuilderSchemas | undefined, definition: unknown): string[] | undefined {
  const channels = builder?._schemaDefinitions?.get(definition);
  return channels && Object.keys(channels).filter(isStateKey);
}

/** JSON Schema of a zod object or a state schema; undefined for annotations, which have no types at run time. */
function schemaOf(definition: unknown): JsonSchema | undefined {
  try {
    if (isRecord(definition) && typeof definition.getInputJsonSchema === 'function') {
      return definition.getInputJsonSchema() as JsonSchema;
    }
    if (typeof definition !== 'object' || definition === null) return undefined;
    // As input: what has a default need not be given.
    return toJsonSchema(definition as Parameters<typeof toJsonSchema>[0], { io: 'input' }) as JsonSchema;
  } catch {
    return undefined;
  }
}

function objectOf(keys: readonly string[]): JsonSchema {
  return { type: 'object', properties: Object.fromEntries(keys.map((key) => [key, {}])) };
}

/** Chat when messages are part of the input and nothing else is demanded. */
function takesChat(keys: readonly string[], schema: JsonSchema): boolean {
  if (!keys.includes('messages')) return keys.length === 0;
  const required = Array.isArray(schema.required) ? schema.required : [];
  return required.every((key) => key === 'messages');
}

function sameKeys(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((key) => right.includes(key));
}
