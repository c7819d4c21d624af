import { onTestFinished } from 'vitest';

/** A place agent code waits at until the test lets it go on. */
export interface Gate {
  /** Name by which agent code waits: `await globalThis.testGates.pass(name)`. */
  readonly name: string;
  /** How many are or were at the gate. */
  readonly arrived: number;
  /** Lets everybody through, now and later. */
  open(): void;
}

/** The gates of this process, as agent code sees them. */
class Gates {
  readonly #gates = new Map<string, { arrived: number; opened: Promise<void> }>();

  add(name: string): Gate {
    let open = (): void => undefined;
    const entry = {
      arrived: 0,
      opened: new Promise<void>((resolve) => {
        open = resolve;
      }),
    };
    this.#gates.set(name, entry);
    return {
      name,
      open,
      get arrived() {
        return entry.arrived;
      },
    };
  }

  remove(name: string): void {
    this.#gates.delete(name);
  }

  /** Waits at a gate; passes at once where there is none of that name. */
  async pass(name: string): Promise<void> {
    const entry = this.#gates.get(name);
    if (entry === undefined) return;
    entry.arrived += 1;
    await entry.opened;
  }
}

declare global {
  var testGates: Gates;
}
globalThis.testGates = new Gates();

let count = 0;

/** Makes a closed gate. It opens by itself when the test ends, so that nothing hangs on it. */
export function createGate(): Gate {
  count += 1;
  const gate = globalThis.testGates.add(`gate-${count}`);
  onTestFinished(() => {
    gate.open();
    globalThis.testGates.remove(gate.name);
  });
  return gate;
}

/** An agent that says which version it is, then waits at the gate its message names, then answers `label: message`. */
export function gatedAgent(label: string): string {
  return `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
import { emitCustom } from 'agent-engine-server/agent';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('work', async (state) => {
    const text = String(state.messages.at(-1).content);
    emitCustom('working', '${label}');
    await globalThis.testGates.pass(text);
    return { messages: [new AIMessage('${label}: ' + text)] };
  })
  .addEdge(START, 'work')
  .addEdge('work', END);
`;
}

/** Waits until `check` gives something true, looking again and again; fails after the deadline. */
export async function until<T>(check: () => T | Promise<T>, what = 'the condition', deadlineMs = 10_000): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (performance.now() > end) throw new Error(`${what} did not come true within ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
