import type { BaseMessage } from '@langchain/core/messages';
import { isRecord } from '../../encode.ts';

/** A piece of a model's reasoning: text to show, a signature or sealed text to keep, or both. */
export interface ReasoningPiece {
  text: string;
  encrypted?: string;
}

/**
 * The reasoning in a message or chunk, in the shapes providers use: thinking parts with a signature, redacted
 * thinking, reasoning parts, reasoning summaries, and the separate `reasoning_content` field.
 */
export function reasoningIn(message: BaseMessage): ReasoningPiece[] {
  const pieces: ReasoningPiece[] = [];
  if (Array.isArray(message.content)) {
    for (const part of message.content) {
      const piece = fromPart(part as unknown as Record<string, unknown>);
      if (piece !== undefined) pieces.push(piece);
    }
  }
  const extra = message.additional_kwargs as Record<string, unknown> | undefined;
  if (typeof extra?.reasoning_content === 'string') pieces.push({ text: extra.reasoning_content });
  if (isRecord(extra?.reasoning) && pieces.length === 0) {
    const { summary, encrypted_content: sealed } = extra.reasoning;
    pieces.push({ text: summaryText(summary), ...(typeof sealed === 'string' && { encrypted: sealed }) });
  } else if (typeof extra?.reasoning === 'string' && pieces.length === 0) {
    pieces.push({ text: extra.reasoning });
  }
  return pieces.filter((piece) => piece.text !== '' || piece.encrypted !== undefined);
}

function fromPart(part: Record<string, unknown>): ReasoningPiece | undefined {
  const sealed = part.signature ?? part.thoughtSignature;
  const encrypted = typeof sealed === 'string' && sealed !== '' ? { encrypted: sealed } : {};
  switch (part.type) {
    case 'thinking':
      return { text: text(part.thinking), ...encrypted };
    case 'redacted_thinking':
      return typeof part.data === 'string' ? { text: '', encrypted: part.data } : undefined;
    case 'reasoning':
      return { text: text(part.reasoning) || summaryText(part.summary), ...encrypted };
    case 'reasoning_content': {
      const inner = isRecord(part.reasoningText) ? part.reasoningText : {};
      const signature = typeof inner.signature === 'string' ? { encrypted: inner.signature } : encrypted;
      return { text: text(inner.text), ...signature };
    }
    default:
      return undefined;
  }
}

function summaryText(summary: unknown): string {
  if (!Array.isArray(summary)) return '';
  return summary.map((entry) => (isRecord(entry) ? text(entry.text) : '')).join('');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
