/** A tool the model may call: name, purpose and the JSON Schema of its arguments. */
export interface OfferedTool {
  name: string;
  description?: string | undefined;
  parameters?: unknown;
}

/** A tool call the rules decided on. */
export interface PlannedCall {
  name: string;
  args: Record<string, unknown>;
}
