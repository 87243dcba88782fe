// Of several pieces of work only the latest counts: those before it are aborted, and their answers dropped.
export class Latest {
  #controller = new AbortController();

  // Runs work(signal) after so many milliseconds, unless other work comes meanwhile.
  async run(work, wait = 0) {
    this.#controller.abort();
    const { signal } = (this.#controller = new AbortController());
    if (wait) await new Promise(resolve => setTimeout(resolve, wait));
    if (signal.aborted) return;
    try {
      await work(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
