/** Runs one async task at a time, in the order of the calls. */
export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();

  /** Runs `task` when every earlier one has ended, whether it failed or not; resolves or rejects as `task` does. */
  runWith<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(task);
    this.#tail = turn.catch(() => undefined);
    return turn;
  }
}
