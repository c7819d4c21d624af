/** Waits for `work`, but no longer than so many milliseconds. How it comes out is not asked. */
export async function soon(work: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work.then(nothing, nothing), late]);
  clearTimeout(timer);
}

function nothing(): void {}
