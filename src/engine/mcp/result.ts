import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/sdk/types.js';
import { isRecord } from '../encode.ts';

/** What of a result reaches the model, and with it the client and the thread's checkpoints; in characters of JSON. */
const RESULT_LENGTH = 2 * 1024 * 1024;

/** A part of a result: text, or media in base64. */
export type ResultPart = { type: 'text'; text: string } | { type: 'image' | 'audio'; data: string; mimeType: string };

/** What a call came to. */
export interface McpResult {
  parts: ResultPart[];
  isError: boolean;
  /** What the parts only speak of: structured content and files, for code that knows what to do with them. */
  artifact: unknown[];
  /** Characters of it all, about. */
  size: number;
}

/**
 * Puts a result into the parts every model can be given: texts and links as text, pictures and sounds as they are; of
 * other files the model is told what they are, and their content is in the artifact.
 */
export function readResult({ content, structuredContent, isError = false }: CallToolResult): McpResult {
  const artifact: unknown[] = [];
  const parts = content.map((block) => readBlock(block, artifact));
  if (isRecord(structuredContent)) {
    artifact.push({ type: 'structured_content', data: structuredContent });
    // Servers should send it as text, too; not all do.
    if (!parts.some(({ type }) => type === 'text')) parts.push(text(JSON.stringify(structuredContent)));
  }
  const length = parts.reduce((sum, part) => sum + (part.type === 'text' ? part.text : part.data).length, 0);
  if (length <= RESULT_LENGTH) return { parts, isError, artifact, size: length };
  const what = `The result is too long: ${length} characters, where ${RESULT_LENGTH} are allowed. Ask for less.`;
  return { parts: [text(what)], isError: true, artifact: [], size: what.length };
}

function readBlock(block: ContentBlock, artifact: unknown[]): ResultPart {
  switch (block.type) {
    case 'text':
      return text(block.text);
    case 'image':
    case 'audio':
      return { type: block.type, data: block.data, mimeType: block.mimeType };
    case 'resource_link': {
      const { uri, name, title, description, mimeType } = block;
      artifact.push(block);
      const about = [mimeType, description].filter((word) => word !== undefined).join('; ');
      return text(`[${title ?? name}](${uri})${about === '' ? '' : ` (${about})`}`);
    }
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return text(resource.text);
      const { uri, blob, mimeType = 'application/octet-stream' } = resource;
      const [kind] = mimeType.split('/');
      if (kind === 'image' || kind === 'audio') return { type: kind, data: blob, mimeType };
      artifact.push(block);
      return text(`[The file ${uri}: ${mimeType}, ${Math.floor((blob.length * 3) / 4)} bytes]`);
    }
  }
}

function text(value: string): ResultPart {
  return { type: 'text', text: value };
}
