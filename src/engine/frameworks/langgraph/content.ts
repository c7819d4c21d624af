import type { ContentPart, Message } from '@ag-ui/core';
import { isRecord } from '../../encode.ts';

/** A content block as LangChain's models take it. */
type Block = Record<string, unknown> & { type: string };

type UserContent = Extract<Message, { role: 'user' }>['content'];

/** Turns the content of an AG-UI message into LangChain's: text stays text, parts become content blocks. */
export function toBlocks(content: UserContent): string | Block[] {
  if (typeof content === 'string') return content;
  return content.map(toBlock);
}

function toBlock(part: ContentPart): Block {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { source } = part;
  const mimeType = source.mimeType;
  if (part.type === 'image' && source.type !== 'file') {
    // The one shape every chat model integration of LangChain takes for images.
    const url = source.type === 'url' ? source.value : `data:${source.mimeType};base64,${source.value}`;
    return { type: 'image_url', image_url: { url } };
  }
  const type = part.type === 'audio' || part.type === 'image' ? part.type : 'file';
  const kind = mimeType === undefined ? {} : { mime_type: mimeType };
  switch (source.type) {
    case 'data':
      return { type, source_type: 'base64', ...kind, data: source.value };
    case 'url':
      return { type, source_type: 'url', ...kind, url: source.value };
    default:
      return { type, source_type: 'id', ...kind, id: source.value };
  }
}

/** Turns a LangChain message's content back into AG-UI parts, or plain text when it holds nothing but text. */
export function fromBlocks(content: unknown): string | ContentPart[] {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const parts = content.map(fromBlock).filter((part) => part !== undefined);
  return parts.every((part) => part.type === 'text') ? parts.map((part) => part.text).join('') : parts;
}

/** The text of a LangChain message's content, other parts left out. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  let text = '';
  for (const block of content) {
    if (typeof block === 'string') text += block;
    else if (
      isRecord(block) &&
      (block.type === 'text' || block.type === 'text_delta') &&
      typeof block.text === 'string'
    ) {
      text += block.text;
    }
  }
  return text;
}

function fromBlock(block: unknown): ContentPart | undefined {
  if (typeof block === 'string') return { type: 'text', text: block };
  if (!isRecord(block)) return undefined;
  if (block.type === 'text' && typeof block.text === 'string') return { type: 'text', text: block.text };
  if (block.type === 'image_url') {
    const url = isRecord(block.image_url) ? block.image_url.url : block.image_url;
    return typeof url === 'string' ? { type: 'image', source: sourceOfUrl(url) } : undefined;
  }
  if (typeof block.type !== 'string' || !['image', 'audio', 'video', 'file'].includes(block.type)) return undefined;
  const source = sourceOfBlock(block);
  // LangChain has one kind of block for every file; what kind of file it is, its media type says.
  const kind = block.type === 'file' ? source?.mimeType?.split('/')[0] : block.type;
  const type = kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document';
  return source && ({ type, source } as ContentPart);
}

type Source = Exclude<ContentPart, { type: 'text' }>['source'];

function sourceOfUrl(url: string): Source {
  const data = /^data:([^;,]+);base64,(.*)$/s.exec(url);
  if (data?.[1] === undefined || data[2] === undefined) return { type: 'url', value: url };
  return { type: 'data', value: data[2], mimeType: data[1] };
}

function sourceOfBlock(block: Record<string, unknown>): Source | undefined {
  const mimeType = [block.mime_type, block.mimeType].find((value) => typeof value === 'string');
  const kind = typeof mimeType === 'string' ? { mimeType } : {};
  if (typeof block.data === 'string') {
    return { type: 'data', value: block.data, mimeType: kind.mimeType ?? 'application/octet-stream' };
  }
  if (typeof block.url === 'string') return { type: 'url', value: block.url, ...kind };
  const id = block.id ?? block.fileId;
  return typeof id === 'string' ? { type: 'file', value: id, ...kind } : undefined;
}
